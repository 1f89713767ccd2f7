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
        return new Purpose(
                origin.image(),
                origin.hostProgram(),
                origin.task(),
                origin.pod().filter(it -> !it.equals(Origin.Pod.UNKNOWN)).map(Origin::title));
    }
}
