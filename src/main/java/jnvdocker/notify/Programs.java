package jnvdocker.notify;

import jnvdocker.posix.FileErrors;
import jnvdocker.process.ShortProcess;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.FailedException;
import jnvdocker.words.RefusedException;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The programs in an administrator's directories. They run as root, so no other user may write to
 * them.
 */
final class Programs {
    private static final Duration LIMIT = Duration.ofSeconds(10);
    private static final int OTHERS_WRITE = 0022;

    /** The names that run-parts allows: copies of editors and packages have others. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-]+");

    private Programs() {}

    /** The programs of a directory, in the order of their names; none when it is not there. */
    static List<Path> in(Path directory) throws IOException {
        List<Path> programs = new ArrayList<>();
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.sorted().toList()) {
                if (NAME.matcher(file.getFileName().toString()).matches()
                        && Files.isRegularFile(file)
                        && Files.isExecutable(file)) {
                    programs.add(file);
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        }
        return programs;
    }

    private static void check(Path program) throws RefusedException, IOException {
        Path real = program.toRealPath();
        TrustedDirectory.check(program.getParent());
        TrustedDirectory.check(real.getParent());
        int mode = (Integer) Files.getAttribute(real, "unix:mode");
        if ((Integer) Files.getAttribute(real, "unix:uid") != 0 || (mode & OTHERS_WRITE) != 0) {
            throw new RefusedException(
                    "users other than root can write to " + program + ", which would run as root",
                    "chown root it, and chmod go-w it");
        }
    }

    /**
     * Runs a program.
     *
     * @param input the file that is its standard input
     * @throws RefusedException when another user can write to it or to its directory
     * @throws IOException when it fails, or does not end in time
     */
    static void run(Path program, File input) throws RefusedException, IOException {
        check(program);
        ProcessBuilder builder = new ProcessBuilder(program.toString());
        Map<String, String> environment = builder.environment();
        environment.clear();
        environment.put("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        builder.directory(new File("/"));
        try {
            ShortProcess.Result result = ShortProcess.run(builder, input, LIMIT);
            if (result.exitCode() != 0) {
                throw new IOException(
                        "exit code " + result.exitCode() + ": " + result.output().strip());
            }
        } catch (IOException e) {
            throw new FailedException(
                    program + " failed: " + FileErrors.describe(e),
                    "run it by hand with an event on its standard input",
                    e);
        }
    }
}
