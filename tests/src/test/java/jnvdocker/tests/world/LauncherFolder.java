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
public record LauncherFolder(Path folder) {
    /** Uses the programs of the built tree. */
    public static LauncherFolder install(Path folder, Path libexec, Path socket) {
        return install(folder, libexec, socket, Project.tree().resolve("lib/mesos"));
    }

    public static LauncherFolder install(Path folder, Path libexec, Path socket, Path programs) {
        LauncherFolder launcher = new LauncherFolder(folder);
        try {
            Files.createDirectories(folder);
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
                    Path link = folder.resolve(helper.getFileName());
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
        return folder.resolve("mesos-containerizer");
    }

    public Path prestart() {
        return folder.resolve("jnvdocker-prestart");
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
