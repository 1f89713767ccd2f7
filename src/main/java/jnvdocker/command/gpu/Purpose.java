package jnvdocker.command.gpu;

import jnvdocker.lease.Origin;

import java.util.Optional;

/**
 * The purpose for which GPUs are held or waited for, as keys of {@code --json}: at most one of them
 * is set.
 */
record Purpose(Optional<String> image, Optional<String> command, Optional<String> task) {

    /** No purpose is known. */
    static final Purpose UNKNOWN =
            new Purpose(Optional.empty(), Optional.empty(), Optional.empty());

    static Purpose of(Origin origin) {
        return switch (origin) {
            case Origin.DockerContainer container ->
                    new Purpose(container.image(), Optional.empty(), Optional.empty());
            case Origin.OciContainer(String _, Optional<String> image) ->
                    new Purpose(image, Optional.empty(), Optional.empty());
            case Origin.HostProcess(String program) ->
                    new Purpose(Optional.empty(), Optional.of(program), Optional.empty());
            case Origin.MesosTask(String name) ->
                    new Purpose(Optional.empty(), Optional.empty(), Optional.of(name));
        };
    }
}
