package jnvdocker.command.gpu.view;

import jnvdocker.lease.Origin;

import java.util.Optional;

/**
 * The purpose for which GPUs are held or waited for, as keys of {@code --json}: at most one of them
 * is set.
 *
 * @param pod {@code namespace/name}; its uid as long as the kubelet has reported no name
 */
public record Purpose(
        Optional<String> image,
        Optional<String> command,
        Optional<String> task,
        Optional<String> pod) {

    public static Purpose of(Origin origin) {
        return switch (origin) {
            case Origin.EngineContainer container -> ofImage(container.image());
            case Origin.OciContainer(String _, Optional<String> image) -> ofImage(image);
            case Origin.HostProcess(String program) ->
                    new Purpose(
                            Optional.empty(),
                            Optional.of(program),
                            Optional.empty(),
                            Optional.empty());
            case Origin.MesosTask(String name) ->
                    new Purpose(
                            Optional.empty(),
                            Optional.empty(),
                            Optional.of(name),
                            Optional.empty());
            case Origin.Pod pod ->
                    new Purpose(
                            Optional.empty(),
                            Optional.empty(),
                            Optional.empty(),
                            Optional.of(pod.title()).filter(_ -> !pod.equals(Origin.Pod.UNKNOWN)));
        };
    }

    private static Purpose ofImage(Optional<String> image) {
        return new Purpose(image, Optional.empty(), Optional.empty(), Optional.empty());
    }
}
