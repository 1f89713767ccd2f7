package jnvdocker.oci.install;

import java.nio.file.Path;
import java.util.Optional;

/**
 * Our runtime as it was laid out for an engine.
 *
 * @param config the engine's configuration, which names it
 * @param name that containers are given with {@code --runtime}
 * @param directory in which it lies
 * @param hook the link by which dockerd takes it for NVIDIA's hook, where there is one
 */
public record Registration(
        EngineKind engine, Path config, String name, Path directory, Optional<Path> hook) {
    /** Where it lies. */
    public Path program() {
        return directory.resolve(RuntimeProgram.NAME);
    }
}
