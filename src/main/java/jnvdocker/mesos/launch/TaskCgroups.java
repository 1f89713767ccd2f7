package jnvdocker.mesos.launch;

import jnvdocker.posix.ProcessId;
import jnvdocker.process.CgroupControllers;
import jnvdocker.process.Processes;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The cgroups of version 1 that an agent has made for a container before it launches it: {@code
 * <root>/ID}, and {@code <root>/ID/mesos/NESTED} for one that is nested.
 *
 * @param freezer the container's own directory, which every container has
 * @param devices the directories that decide which devices it may use, outer ones first: that of
 *     the outermost container and, if nested containers have their own, all from there to the
 *     innermost
 */
public record TaskCgroups(String freezer, List<String> devices) {
    private static final String FREEZER = "freezer";
    private static final String DEVICES = "devices";
    private static final String NESTED = "/mesos/";

    public TaskCgroups {
        devices = List.copyOf(devices);
    }

    /**
     * @param launched the process with which the agent has started the container; it is in the
     *     freezer cgroup by then, but perhaps not yet in the others
     * @param owner the container itself, or one in which it is nested
     * @throws RefusedException when nothing would keep a task from using the GPUs of others
     */
    public static TaskCgroups of(
            ProcessId launched,
            RuntimeDirectory directory,
            RuntimeDirectory owner,
            Processes processes)
            throws RefusedException, IOException {
        CgroupControllers controllers = CgroupControllers.mounted();
        String own = String.join(NESTED, directory.ids());
        Optional<String> freezer =
                processes.cgroupOf(launched, FREEZER).filter(it -> it.endsWith("/" + own));
        if (freezer.isEmpty()) {
            throw new RefusedException(
                    "the Mesos container "
                            + directory.id()
                            + " has no freezer cgroup of version 1, so jnvdocker could not detect"
                            + " when it ends",
                    "start the agent with --launcher=linux, on a host with cgroups of version 1"
                            + " (systemd.unified_cgroup_hierarchy=0)");
        }
        String root = freezer.get().substring(0, freezer.get().length() - own.length());
        return new TaskCgroups(
                root + String.join(NESTED, owner.ids()), devices(root, directory, controllers));
    }

    private static List<String> devices(
            String root, RuntimeDirectory directory, CgroupControllers controllers)
            throws RefusedException {
        String outermost = "/" + directory.ids().getFirst();
        List<String> found = new ArrayList<>();
        // A cgroup allows no more than its parents do, even a parent that is only a directory.
        Path next = innermost(root, directory, controllers).orElse(null);
        while (next != null && (found.isEmpty() || !found.getFirst().endsWith(outermost))) {
            found.addFirst(next.toString());
            next = next.getParent();
        }
        if (found.isEmpty() || !found.getFirst().endsWith(outermost)) {
            throw new RefusedException(
                    "the Mesos container "
                            + directory.id()
                            + " has no devices cgroup, so it could use the GPUs of others",
                    "start the agent with cgroups/devices in its --isolation");
        }
        return found;
    }

    /** The devices cgroup of the container, or of the next one around it that has one. */
    private static Optional<Path> innermost(
            String root, RuntimeDirectory directory, CgroupControllers controllers) {
        Optional<Path> found = Optional.empty();
        for (int depth = directory.ids().size(); depth > 0 && found.isEmpty(); depth--) {
            String path = root + String.join(NESTED, directory.ids().subList(0, depth));
            found =
                    controllers
                            .counterpart(path, FREEZER, DEVICES)
                            .map(Path::of)
                            .filter(Files::isDirectory);
        }
        return found;
    }

    /** The devices cgroup of the outermost container. */
    public String outermostDevices() {
        return devices.getFirst();
    }
}
