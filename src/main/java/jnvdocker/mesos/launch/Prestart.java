package jnvdocker.mesos.launch;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;
import jnvdocker.posix.Posix;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Renders edits as the words for {@code jnvdocker-prestart}, which carries them out in the
 * container's mount namespace, before anything of the container runs. {@code
 * native/mesos/jnvdocker-prestart.c} has the same words.
 */
public final class Prestart {
    private static final String NAME = "jnvdocker-prestart";

    private Prestart() {}

    /**
     * The words that make the program report to the task's user why the task cannot start, and
     * fail.
     */
    public static List<String> refuse(String reason) {
        return List.of(NAME, "refuse", reason);
    }

    /**
     * @param rootfs the container's root on the host; empty for the host's own, to which nothing is
     *     added
     * @param directories of the volumes that are mounted, by their names
     * @param cgroups directories in which the devices are allowed, one that holds another before it
     * @throws IOException when the attributes of a device node cannot be read
     */
    public static List<String> apply(
            ContainerEdits edits,
            Optional<String> rootfs,
            Map<String, Path> directories,
            List<String> cgroups)
            throws IOException {
        List<String> words = new ArrayList<>(List.of(NAME, "apply"));
        if (rootfs.isPresent()) {
            words.addAll(List.of("rootfs", rootfs.get()));
            for (VolumeMount mount : edits.mounts()) {
                String source = directories.get(mount.volume()).toString();
                words.addAll(List.of("mount", source, mount.target()));
            }
        }
        cgroups.forEach(cgroup -> words.addAll(List.of("cgroup", cgroup)));
        for (DeviceNode node : edits.devices()) {
            words.addAll(device(node));
        }
        return List.copyOf(words);
    }

    /** With the kernel's own numbers: its majors differ from boot to boot. */
    private static List<String> device(DeviceNode node) throws IOException {
        long device = (long) Files.getAttribute(node.hostPath(), "unix:rdev");
        return List.of(
                "device",
                node.name(),
                String.valueOf(Posix.major(device)),
                String.valueOf(Posix.minor(device)));
    }
}
