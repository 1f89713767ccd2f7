package jnvdocker.command.runtime;

import jnvdocker.oci.refuse.RefusedProcess;
import jnvdocker.oci.spec.DockerContainer;
import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * Decides what becomes of a container that is refused its GPUs. A refused create is final to a
 * restart policy: if no user has typed the start and reads the reason, the container runs a program
 * that prints it and fails, so that the policy tries again.
 */
final class RefusedCreation {
    private final BooleanSupplier busyRetries;
    private final BooleanSupplier engineHasStarted;
    private final Path program;

    /**
     * @param busyRetries whether the policy is to try again
     * @param engineHasStarted whether the engine has: while it starts, its containers do so by
     *     themselves
     * @param program that prints the reason, in a directory of its own
     */
    RefusedCreation(BooleanSupplier busyRetries, BooleanSupplier engineHasStarted, Path program) {
        this.busyRetries = busyRetries;
        this.engineHasStarted = engineHasStarted;
        this.program = program;
    }

    /**
     * Refuses the start, or answers with the container to run instead. Whatever the reason: what a
     * user or an administrator can remove may pass without them.
     *
     * @param config the container's own {@code config.json}
     * @throws RefusedException when that is no container's
     */
    void answer(CreateCall call, String config, String why) throws RefusedException, IOException {
        Optional<String> instead = instead(config, call.docker(), why);
        if (instead.isPresent()) {
            call.client().print(instead.get());
            call.client().exit(ExitCode.OK);
        } else {
            call.client().refuseContainer(why);
        }
    }

    Optional<String> instead(String config, Optional<DockerContainer> docker, String why)
            throws RefusedException {
        boolean again =
                busyRetries.getAsBoolean()
                        && docker.filter(it -> it.hasPolicy() && startsByItself(it)).isPresent();
        return again
                ? Optional.of(RefusedProcess.of(config, program, "jnvdocker: " + why))
                : Optional.empty();
    }

    private boolean startsByItself(DockerContainer container) {
        return container.restarting() || !engineHasStarted.getAsBoolean();
    }
}
