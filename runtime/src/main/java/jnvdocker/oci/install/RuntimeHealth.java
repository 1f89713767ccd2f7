package jnvdocker.oci.install;

import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/**
 * Whether a runtime of ours that was laid out works.
 *
 * @param real the runtime that it becomes; empty when it does not know, and for CDI's hook
 * @param standard whether containers get it that name no runtime, by the engine's configuration
 * @param wrong its fault and the remedy; empty when there is none
 */
public record RuntimeHealth(
        Registration registration, Optional<Path> real, boolean standard, Optional<Refusal> wrong) {

    /**
     * @param socket of this daemon
     * @param engine the answer of the engine; empty for one that is not queried, or does not answer
     * @param since when that engine started
     */
    public static RuntimeHealth of(
            Registration registration,
            Path socket,
            Optional<EngineRuntimes> engine,
            Optional<Instant> since) {
        Optional<RuntimeProgram.Settings> stored = RuntimeProgram.read(registration.program());
        Optional<Path> real =
                stored.filter(_ -> registration.engine() != EngineKind.CDI)
                        .map(RuntimeProgram.Settings::real);
        try {
            Optional<EngineSettings.Found> found = found(registration);
            return new RuntimeHealth(
                    registration,
                    real,
                    found.map(EngineSettings.Found::standard).orElse(false),
                    wrong(registration, stored, found, socket)
                            .or(() -> engine.flatMap(now -> notLoaded(registration, found, now)))
                            .or(() -> since.flatMap(start -> notRestarted(registration, start))));
        } catch (RefusedException e) {
            return new RuntimeHealth(registration, real, false, Optional.of(e.refusal()));
        } catch (IOException e) {
            return new RuntimeHealth(registration, real, false, Optional.of(FileErrors.refusal(e)));
        }
    }

    /** Whether a configuration has a program of the runtime's name. */
    public static boolean isNamed(Registration registration) throws IOException, RefusedException {
        return found(registration).isPresent();
    }

    /** Whether a configuration has our program, by the runtime's name. */
    public static boolean hasOurs(Registration registration) throws IOException, RefusedException {
        return found(registration)
                .filter(its -> its.program().equals(registration.program()))
                .isPresent();
    }

    /** The program that has the name. */
    static Optional<EngineSettings.Found> found(Registration registration)
            throws IOException, RefusedException {
        Path config = registration.config();
        return registration
                .engine()
                .settings()
                .find(SettingsFile.read(config), config, registration.name());
    }

    private static Optional<Refusal> wrong(
            Registration registration,
            Optional<RuntimeProgram.Settings> stored,
            Optional<EngineSettings.Found> found,
            Path socket) {
        String again =
                "run 'jnvdocker runtime install --engine "
                        + registration.engine().word()
                        + "' again, as before";
        if (stored.isEmpty()) {
            return Optional.of(
                    new Refusal(registration.program() + " is missing or was changed", again));
        }
        if (!stored.get().socket().equals(socket)) {
            return Optional.of(
                    new Refusal(
                            registration.program()
                                    + " connects to another daemon, at "
                                    + stored.get().socket(),
                            again));
        }
        if (!Files.isExecutable(stored.get().real())) {
            return Optional.of(
                    new Refusal(
                            "the real runtime " + stored.get().real() + " does not exist", again));
        }
        if (!found.map(EngineSettings.Found::program).equals(Optional.of(registration.program()))) {
            return Optional.of(
                    new Refusal(
                            "%s has no runtime '%s' of jnvdocker's"
                                    .formatted(registration.config(), registration.name()),
                            again + ", or 'jnvdocker runtime uninstall'"));
        }
        return registration
                .hook()
                .filter(link -> !HookLink.leadsTo(registration.program(), link))
                .map(link ->
                        new Refusal(
                                link
                                        + " is no link to "
                                        + registration.program()
                                        + " any more, so docker may take no --gpus, or have"
                                        + " another program give GPUs",
                                again));
    }

    /** Docker searches for the program of {@code --gpus} when it starts, and never again. */
    private static Optional<Refusal> notRestarted(Registration registration, Instant start) {
        return registration
                .hook()
                .filter(link -> HookLink.isYounger(link, start))
                .map(link ->
                        new Refusal(
                                "docker takes no --gpus until it is restarted: it started before "
                                        + link
                                        + " was there",
                                "systemctl restart docker, when convenient"));
    }

    private static Optional<Refusal> notLoaded(
            Registration registration, Optional<EngineSettings.Found> found, EngineRuntimes now) {
        boolean standard = now.standard().equals(registration.name());
        if (registration.program().toString().equals(now.paths().get(registration.name()))
                && standard == found.map(EngineSettings.Found::standard).orElse(false)) {
            return Optional.empty();
        }
        return Optional.of(
                new Refusal(
                        "the engine has not reloaded "
                                + registration.config()
                                + " since it changed",
                        registration.engine().reload().orElse("start it again")));
    }
}
