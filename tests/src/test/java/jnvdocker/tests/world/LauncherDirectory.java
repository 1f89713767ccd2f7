package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * A launcher directory as {@code jnvdocker mesos install} lays it out: our two programs, of which
 * mesos-containerizer contains the paths it needs, and links to all other helpers.
 */
public record LauncherDirectory(Path directory) {
    /** Uses the programs of the built tree. */
    public static LauncherDirectory install(Path directory, Path libexec, Path socket) {
        return install(directory, libexec, socket, Project.tree().resolve("lib/mesos"));
    }

    public static LauncherDirectory install(
            Path directory, Path libexec, Path socket, Path programs) {
        LauncherDirectory launcher = new LauncherDirectory(directory);
        try {
            Files.createDirectories(directory);
            Files.copy(
                    programs.resolve("jnvdocker-prestart"),
                    launcher.prestart(),
                    StandardCopyOption.COPY_ATTRIBUTES);
            launcher.settle(
                    programs.resolve("mesos-containerizer"),
                    bytes(libexec.resolve("mesos-containerizer")),
                    bytes(launcher.prestart()),
                    bytes(socket));
            try (var helpers = Files.list(libexec)) {
                for (Path helper : helpers.toList()) {
                    Path link = directory.resolve(helper.getFileName());
                    if (!Files.exists(link)) {
                        Files.createSymbolicLink(link, helper);
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return launcher;
    }

    public Path containerizer() {
        return directory.resolve("mesos-containerizer");
    }

    public Path prestart() {
        return directory.resolve("jnvdocker-prestart");
    }

    /** Lays out our mesos-containerizer with these paths, which may contain any bytes. */
    public void settle(Path program, byte[] helper, byte[] prestart, byte[] socket)
            throws IOException {
        new SettledProgram("jnvdocker-mesos-settings-1")
                .path(helper)
                .path(prestart)
                .socket(socket)
                .write(program, containerizer());
    }

    private static byte[] bytes(Path path) {
        return path.toString().getBytes(StandardCharsets.UTF_8);
    }
}
