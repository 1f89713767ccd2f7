package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;

/**
 * A launcher folder as {@code jnvdocker mesos install} lays it out: our two programs, the former
 * told where things are, and links to all other helpers.
 */
public record LauncherFolder(Path folder) {
    private static final byte[] MARK =
            Arrays.copyOf("jnvdocker-mesos-settings-1".getBytes(StandardCharsets.US_ASCII), 32);
    private static final int PATH_LENGTH = 4096;
    private static final int SOCKET_LENGTH = 108;

    /** With the programs of the tree that the build made. */
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

    /** Lays out our mesos-containerizer with these paths, whatever bytes they are. */
    public void settle(Path program, byte[] helper, byte[] prestart, byte[] socket)
            throws IOException {
        byte[] all = Files.readAllBytes(program);
        int at = indexOf(all, 0);
        if (at < 0 || indexOf(all, at + 1) >= 0) {
            throw new AssertionError(program + " has not one place for its settings");
        }
        at += MARK.length;
        System.arraycopy(Arrays.copyOf(helper, PATH_LENGTH), 0, all, at, PATH_LENGTH);
        at += PATH_LENGTH;
        System.arraycopy(Arrays.copyOf(prestart, PATH_LENGTH), 0, all, at, PATH_LENGTH);
        at += PATH_LENGTH;
        System.arraycopy(Arrays.copyOf(socket, SOCKET_LENGTH), 0, all, at, SOCKET_LENGTH);
        Files.deleteIfExists(containerizer());
        Files.write(containerizer(), all);
        containerizer().toFile().setExecutable(true);
    }

    private static byte[] bytes(Path path) {
        return path.toString().getBytes(StandardCharsets.UTF_8);
    }

    private static int indexOf(byte[] all, int from) {
        for (int at = from; at <= all.length - MARK.length; at++) {
            if (all[at] == MARK[0] && Arrays.equals(all, at, at + MARK.length, MARK, 0, 32)) {
                return at;
            }
        }
        return -1;
    }
}
