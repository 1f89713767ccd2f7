package jnvdocker.process;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A hierarchy of cgroups (see cgroups(7)).
 *
 * @param controller its controller in version 1; version 2 has only one hierarchy
 */
record CgroupHierarchy(Mount mount, String controller) {
    private static final String DIRECTORY = "/sys/fs/cgroup";
    private static final String DEVICES = "devices";

    /**
     * Returns the hierarchy that distinguishes containers: in version 1 that of the devices
     * controller, since every engine sets that up for a container with devices. Empty if none is
     * mounted. A machine with both versions leaves devices to version 1.
     */
    static Optional<CgroupHierarchy> among(MountTable table) {
        return mounted(table, DEVICES)
                .filter(hierarchy -> hierarchy.isOfController() || hierarchy.isUnified())
                .min(Comparator.comparing(CgroupHierarchy::isUnified));
    }

    /** Returns all hierarchies, of both versions. */
    static List<CgroupHierarchy> all(MountTable table) {
        return mounted(table, DEVICES)
                .filter(hierarchy ->
                        hierarchy.isUnified() || hierarchy.mount().type().equals("cgroup"))
                .toList();
    }

    /** Returns a controller's hierarchy in version 1. */
    static Optional<CgroupHierarchy> of(String controller, MountTable table) {
        return mounted(table, controller).filter(CgroupHierarchy::isOfController).findFirst();
    }

    private static Stream<CgroupHierarchy> mounted(MountTable table, String controller) {
        return table.mounts().stream()
                .filter(mount ->
                        mount.point().equals(DIRECTORY) || isBelow(mount.point(), DIRECTORY))
                .map(mount -> new CgroupHierarchy(mount, controller));
    }

    /**
     * Returns the directory of a container.
     *
     * @param processCgroups {@code /proc/<pid>/cgroup} (see cgroups(7)) of a process in it
     * @return empty when the process is in a cgroup of another name, or outside of the mounted part
     */
    Optional<String> directory(String processCgroups, String containerId) {
        return Stream.of(processCgroups.split("\n"))
                .map(line -> line.split(":", 3))
                .filter(this::isOurs)
                .flatMap(line -> belowRoot(line[2]).stream())
                .flatMap(path -> ofContainer(path, containerId).stream())
                .map(path -> mount.point() + path)
                .findFirst();
    }

    /**
     * Returns the directory of a process; empty when that is outside of the mounted part.
     *
     * @param processCgroups {@code /proc/<pid>/cgroup}
     */
    Optional<String> directory(String processCgroups) {
        return Stream.of(processCgroups.split("\n"))
                .map(line -> line.split(":", 3))
                .filter(this::isOurs)
                .flatMap(line -> belowRoot(line[2]).stream())
                .filter(path -> !path.contains("/.."))
                .map(path -> mount.point() + path)
                .findFirst();
    }

    /**
     * Returns the part of a directory's path that it shares with its counterparts in other
     * hierarchies, if it is in this one.
     */
    Optional<String> path(String directory) {
        return isBelow(directory, mount.point())
                ? Optional.of(directory.substring(mount.point().length()))
                : Optional.empty();
    }

    private boolean isOfController() {
        return mount.type().equals("cgroup") && mount.fileSystemOptions().contains(controller);
    }

    private boolean isUnified() {
        return mount.type().equals("cgroup2");
    }

    /** A line is {@code 9:devices:/path}, or {@code 0::/path} in the unified hierarchy. */
    private boolean isOurs(String[] line) {
        return line.length == 3
                && (isUnified()
                        ? line[0].equals("0")
                        : List.of(line[1].split(",")).contains(controller));
    }

    /** Returns the path below the mount's root: possibly not all of a hierarchy is mounted. */
    private Optional<String> belowRoot(String path) {
        if (mount.root().equals("/")) {
            return Optional.of(path);
        }
        return isBelow(path, mount.root())
                ? Optional.of(path.substring(mount.root().length()))
                : Optional.empty();
    }

    /** Returns the path up to the first name that contains the container's id. */
    private static Optional<String> ofContainer(String path, String containerId) {
        StringBuilder directory = new StringBuilder();
        for (String name : path.substring(1).split("/")) {
            // The kernel's notation for a path outside of a cgroup namespace.
            if (name.equals("..")) {
                return Optional.empty();
            }
            directory.append('/').append(name);
            if (!containerId.isEmpty() && name.contains(containerId)) {
                return Optional.of(directory.toString());
            }
        }
        return Optional.empty();
    }

    private static boolean isBelow(String path, String directory) {
        return path.startsWith(directory + "/");
    }
}
