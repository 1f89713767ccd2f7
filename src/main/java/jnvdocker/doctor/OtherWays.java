package jnvdocker.doctor;

import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.oci.install.ForeignRuntimes;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Predicate;

/** The ways by which containers get GPUs without us, and how to close each. */
final class OtherWays {
    private final ForeignRuntimes foreign;
    private final Predicate<String> guarded;

    /**
     * @param guarded tests whether a runtime's program is ours
     */
    OtherWays(ForeignRuntimes foreign, Predicate<String> guarded) {
        this.foreign = foreign;
        this.guarded = guarded;
    }

    /**
     * @param docker the runtimes that docker has; empty when it does not answer
     * @param ours our CDI file with NVIDIA's names; empty if it is not installed
     */
    void findings(Optional<EngineRuntimes> docker, Optional<Path> ours, Findings found)
            throws IOException {
        if (docker.isPresent()) {
            addDockers(docker.get(), found);
            addHook(docker.get(), found);
        }
        for (ForeignRuntimes.Named named : foreign.named()) {
            if (isPastUs(named.program())) {
                runtime(
                        named.engine().word(),
                        named.name(),
                        named.program(),
                        "take it out of %s, and run 'jnvdocker runtime install --engine %s'"
                                .formatted(named.file(), named.engine().word()),
                        found);
            }
        }
        for (Path file : foreign.nvidiasHooks()) {
            found.hint(
                    file + " has podman and CRI-O give containers GPUs without jnvdocker",
                    "remove NVIDIA's hook, and run 'jnvdocker runtime install --engine podman'");
        }
        List<Path> directories = foreign.cdiDirectories();
        for (Path file : foreign.nvidiasCdiFiles()) {
            if (ours.isPresent()) {
                besideOurs(file, ours.get(), directories, found);
                continue;
            }
            found.hint(
                    file
                            + " lets '--device "
                            + RuntimeInstaller.NVIDIAS_CDI_KIND
                            + "=…' give containers GPUs without jnvdocker, but for"
                            + " those of its runtime",
                    "replace it by jnvdocker's, of the same names: rm "
                            + file
                            + " && jnvdocker runtime install --engine cdi");
        }
    }

    /**
     * Engines take the file in the later directory, and neither of two in one directory: our
     * devices do not work then.
     */
    private static void besideOurs(Path file, Path ours, List<Path> directories, Findings found) {
        int order = directories.indexOf(file.getParent()) - directories.indexOf(ours.getParent());
        String result =
                order == 0
                        ? "so engines refuse these names"
                        : order > 0
                                ? "and engines take the former, which gives containers GPUs without"
                                        + " jnvdocker"
                                : "and engines take the latter";
        String what =
                "%s and %s both offer '--device %s=…', %s"
                        .formatted(file, ours, RuntimeInstaller.NVIDIAS_CDI_KIND, result);
        String remedy =
                "remove NVIDIA's: systemctl disable --now nvidia-cdi-refresh.path"
                        + " nvidia-cdi-refresh.service; rm "
                        + file;
        if (order == 0) {
            found.wrong(what, remedy);
        } else {
            found.hint(what, remedy);
        }
    }

    private boolean isPastUs(String program) {
        return foreign.isNvidias(program) && !guarded.test(program);
    }

    private void addDockers(EngineRuntimes runtimes, Findings found) {
        for (String name : new TreeSet<>(runtimes.paths().keySet())) {
            String program = runtimes.paths().get(name);
            if (isPastUs(program)) {
                runtime(
                        "docker",
                        name,
                        program,
                        "take it out of docker's daemon.json, and run 'jnvdocker runtime install'",
                        found);
            }
        }
    }

    private static void runtime(
            String engine, String name, String program, String remedy, Findings found) {
        found.hint(
                "%s's runtime '%s' (%s) gives containers GPUs without jnvdocker"
                        .formatted(engine, Quote.shown(name), Quote.shown(program)),
                remedy);
    }

    /** Containers of our runtime do not run it. */
    private void addHook(EngineRuntimes runtimes, Findings found) throws IOException {
        boolean ours = guarded.test(runtimes.paths().getOrDefault(runtimes.standard(), ""));
        foreign.hook()
                .filter(_ -> !ours)
                .ifPresent(hook ->
                        found.hint(
                                hook
                                        + " lets 'docker run --gpus' give containers of"
                                        + " docker's default runtime GPUs without"
                                        + " jnvdocker",
                                "run 'jnvdocker runtime install --default', or remove"
                                        + " NVIDIA's container toolkit"));
    }
}
