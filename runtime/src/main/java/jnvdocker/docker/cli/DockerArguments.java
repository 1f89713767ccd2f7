package jnvdocker.docker.cli;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;

import java.util.ArrayList;
import java.util.List;

/** Renders edits as options of {@code docker run}; the one place where that is done. */
public final class DockerArguments {
    private DockerArguments() {}

    /** Each option is one argument, so that no value can become an option of its own. */
    public static List<String> of(ContainerEdits edits) {
        List<String> arguments = new ArrayList<>();
        for (DeviceNode node : edits.devices()) {
            // Without m: creating the node again is not needed, and would bypass the lease.
            arguments.add("--device=" + node.hostPath() + ":" + node.name() + ":rw");
        }
        for (VolumeMount mount : edits.mounts()) {
            arguments.add("--mount=" + mount(mount));
        }
        edits.environment().forEach((name, value) -> arguments.add("--env=" + name + "=" + value));
        edits.labels().forEach((name, value) -> arguments.add("--label=" + name + "=" + value));
        return List.copyOf(arguments);
    }

    /**
     * Uses {@code --mount}, not {@code --volume-driver}, which would take the user's own volumes
     * too. Without {@code volume-nocopy} an image that has the directory makes docker mount the
     * volume at create already.
     */
    private static String mount(VolumeMount mount) {
        StringBuilder text = new StringBuilder();
        text.append("type=volume,src=").append(mount.volume());
        text.append(",dst=").append(mount.target());
        text.append(",volume-driver=").append(mount.driver());
        text.append(",readonly,volume-nocopy");
        return text.toString();
    }
}
