package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Our OCI runtime, as {@code jnvdocker runtime install} lays it out for a lab's engine. */
public final class RuntimeInstallation implements AutoCloseable {
    private final Path directory = Directories.make("oci");
    private final Lab lab;

    private RuntimeInstallation(Lab lab) {
        this.lab = lab;
    }

    /**
     * Lays it out by its name alone, or with {@code --default}, and restarts the engine with it.
     */
    public static RuntimeInstallation of(Lab lab, Object... options) {
        RuntimeInstallation installation = new RuntimeInstallation(lab);
        List<Object> all = new ArrayList<>(List.of(options));
        if (!all.contains("--default")) {
            all.add("--no-default");
        }
        installation.install(all.toArray()).ok();
        lab.engine().path(installation.hooks());
        lab.engine().restart();
        return installation;
    }

    /** An installation that is not laid out yet. */
    public static RuntimeInstallation planned(Lab lab) {
        return new RuntimeInstallation(lab);
    }

    /** Lays it out, without reloading the engine's configuration. */
    public Command.Result install(Object... options) {
        List<Object> words =
                new ArrayList<>(
                        List.of(
                                "runtime",
                                "install",
                                "--config",
                                config(),
                                "--runtime-dir",
                                program().getParent(),
                                "--hook-dir",
                                hooks()));
        words.addAll(Arrays.asList(options));
        return lab.jnvdocker(words.toArray());
    }

    /** The engine's daemon.json. */
    public Path config() {
        return lab.engine().plugins().resolveSibling("etc/daemon.json");
    }

    public Path program() {
        return directory.resolve("runtime/nvidia-container-runtime");
    }

    /** A directory in dockerd's PATH. */
    public Path hooks() {
        return directory.resolve("hooks");
    }

    @Override
    public void close() {
        Directories.remove(directory);
    }
}
