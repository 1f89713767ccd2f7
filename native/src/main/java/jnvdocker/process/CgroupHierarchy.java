package jnvdocker.process;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A hierarchy of cgroups (see cgroups(7)).
 *
 * @param controller whose hierarchy it is in version 1; in version 2 there is only one
 */
record CgroupHierarchy(Mount mount, String controller) {
    private static final String FOLDER = "/sys/fs/cgroup";
    private static final String DEVICES = "devices";

    /**
     * The one in which containers are told apart: in version 1 the devices controller's, since
     * every engine sets that up for a container with devices. Empty where none is mounted. A
     * machine that has both versions leaves devices to the first.
     */
    static Optional<CgroupHierarchy> among(MountTable table) {
        return mounted(table, DEVICES)
                .filter(hierarchy -> hierarchy.isOfController() || hierarchy.isUnified())
                .min(Comparator.comparing(CgroupHierarchy::isUnified));
    }

    /** A controller's in version 1. */
    static Optional<CgroupHierarchy> of(String controller, MountTable table) {
        return mounted(table, controller).filter(CgroupHierarchy::isOfController).findFirst();
    }

    private static Stream<CgroupHierarchy> mounted(MountTable table, String controller) {
        return table.mounts().stream()
                .filter(mount -> mount.point().equals(FOLDER) || isBelow(mount.point(), FOLDER))
                .map(mount -> new CgroupHierarchy(mount, controller));
    }

    /**
     * The folder of a container.
     *
     * @param processCgroups {@code /proc/<pid>/cgroup} (see cgroups(7)) of a process that is in it
     * @return empty when the process is in a cgroup of another name, or in one that is not below
     *     what is mounted
     */
    Optional<String> folder(String processCgroups, String containerId) {
        return Stream.of(processCgroups.split("\n"))
                .map(line -> line.split(":", 3))
                .filter(this::isOurs)
                .flatMap(line -> belowRoot(line[2]).stream())
                .flatMap(path -> ofContainer(path, containerId).stream())
                .map(path -> mount.point() + path)
                .findFirst();
    }

    /**
     * The folder of a process; empty when it is in one that is not below what is mounted.
     *
     * @param processCgroups {@code /proc/<pid>/cgroup}
     */
    Optional<String> folder(String processCgroups) {
        return Stream.of(processCgroups.split("\n"))
                .map(line -> line.split(":", 3))
                .filter(this::isOurs)
                .flatMap(line -> belowRoot(line[2]).stream())
                .filter(path -> !path.contains("/.."))
                .map(path -> mount.point() + path)
                .findFirst();
    }

    /**
     * The part of a folder's path that its namesakes in other hierarchies share, if it is in it.
     */
    Optional<String> path(String folder) {
        return isBelow(folder, mount.point())
                ? Optional.of(folder.substring(mount.point().length()))
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

    /** Not all of a hierarchy may be mounted. */
    private Optional<String> belowRoot(String path) {
        if (mount.root().equals("/")) {
            return Optional.of(path);
        }
        return isBelow(path, mount.root())
                ? Optional.of(path.substring(mount.root().length()))
                : Optional.empty();
    }

    /** The path up to the first name with the container's id in it. */
    private static Optional<String> ofContainer(String path, String containerId) {
        StringBuilder folder = new StringBuilder();
        for (String name : path.substring(1).split("/")) {
            // How the kernel shows what lies outside of a cgroup namespace.
            if (name.equals("..")) {
                return Optional.empty();
            }
            folder.append('/').append(name);
            if (!containerId.isEmpty() && name.contains(containerId)) {
                return Optional.of(folder.toString());
            }
        }
        return Optional.empty();
    }

    private static boolean isBelow(String path, String folder) {
        return path.startsWith(folder + "/");
    }
}
