package jnvdocker.command.start;

import jnvdocker.command.caller.UserEngine;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineRuntimes;

import java.io.IOException;
import java.util.Optional;
import java.util.function.Predicate;

/** Chooses one of an engine's runtimes for a container. */
final class EngineRuntime {
    private final DockerEngine engine;
    private final Predicate<String> guarded;

    /**
     * @param guarded whether a runtime's program is ours, which gives containers their GPUs
     */
    EngineRuntime(DockerEngine engine, Predicate<String> guarded) {
        this.engine = engine;
        this.guarded = guarded;
    }

    /**
     * Returns the name of our runtime, which a container gets unless its user chooses another one;
     * empty if the engine does not have it, or is not the daemon's.
     */
    Optional<String> ours(RunCommand run, UserEngine where) throws IOException {
        if (!(where instanceof UserEngine.Ours)) {
            return Optional.empty();
        }
        EngineRuntimes runtimes = engine.runtimes();
        if (run.runtime().isPresent()) {
            return run.runtime().filter(name -> isOurs(name, runtimes));
        }
        return Optional.of(runtimes.standard())
                .filter(name -> isOurs(name, runtimes))
                .or(() ->
                        runtimes.paths().keySet().stream()
                                .filter(name -> isOurs(name, runtimes))
                                .sorted()
                                .findFirst());
    }

    private boolean isOurs(String name, EngineRuntimes runtimes) {
        return guarded.test(runtimes.paths().getOrDefault(name, ""));
    }

    /**
     * Whether it is runc or crun, which add no GPUs of their own accord. For an unknown engine,
     * assumes the worst.
     */
    boolean isPlain(RunCommand run, UserEngine where) throws IOException {
        return where instanceof UserEngine.Ours
                && engine.runtimes().isPlain(run.runtime().orElse(""));
    }
}
