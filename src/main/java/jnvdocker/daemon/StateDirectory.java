package jnvdocker.daemon;

import jnvdocker.command.job.Jobs;
import jnvdocker.config.StartException;
import jnvdocker.posix.DirectoryLock;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * The state directory, which belongs to one daemon and is writable by root alone. It records the
 * holder of each GPU, and has libraries that containers load.
 */
final class StateDirectory implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofMillis(500);
    private static final String ANOTHER = "set JNVDOCKER_STATE_DIR to another directory";

    /** Volumes are mounted from it for users; a user that may list it could also lock it. */
    private static final int MODE = 0711;

    private static final int OTHERS_WRITE = 0022;

    private static final List<String> DIRECTORIES =
            List.of(ClaimFiles.DIRECTORY, Jobs.DIRECTORY, DriverVolumeStore.DIRECTORY);

    private final DirectoryLock lock;

    private StateDirectory(DirectoryLock lock) {
        this.lock = lock;
    }

    /**
     * Makes the directory where there is none, and this daemon the only one of it for as long as it
     * lives.
     *
     * @throws StartException when another daemon has it, or others than root may change it
     */
    static StateDirectory take(Path directory) throws IOException {
        try {
            Files.createDirectories(directory);
            TrustedDirectory.check(directory);
            Posix.chmod(directory, MODE);
            refuseForeign(directory.toRealPath());
        } catch (StartException e) {
            throw e;
        } catch (RefusedException e) {
            throw new StartException(e.refusal(), e);
        } catch (IOException e) {
            throw new StartException(
                    "cannot use the state directory: " + FileErrors.describe(e),
                    "fix that, or " + ANOTHER,
                    e);
        }
        return new StateDirectory(
                DirectoryLock.take(directory, PATIENCE).orElseThrow(() -> another(directory)));
    }

    private static StartException another(Path directory) {
        return new StartException(
                "another jnvdockerd" + pid(directory) + " uses " + directory,
                "stop it first, or " + ANOTHER);
    }

    private static String pid(Path directory) {
        try {
            OptionalInt pid = DirectoryLock.holder(directory);
            return pid.isPresent() ? " (pid " + pid.getAsInt() + ")" : "";
        } catch (IOException e) {
            return "";
        }
    }

    /** A copy that was restored, or was given to a user, may have been changed by others. */
    private static void refuseForeign(Path directory) throws IOException {
        for (String name : DIRECTORIES) {
            Path its = directory.resolve(name);
            if (Files.exists(its, LinkOption.NOFOLLOW_LINKS) && !Files.isDirectory(its)) {
                throw new StartException(
                        its + " is not a directory", "move it away; a directory is made");
            }
        }
        Path claims = directory.resolve(ClaimFiles.DIRECTORY);
        Files.walkFileTree(
                directory,
                new SimpleFileVisitor<>() {
                    @Override
                    public FileVisitResult preVisitDirectory(Path path, BasicFileAttributes its)
                            throws IOException {
                        refuseForeign(directory, path);
                        // Containers may have been given what is in those.
                        return claims.equals(path.getParent())
                                ? FileVisitResult.SKIP_SUBTREE
                                : FileVisitResult.CONTINUE;
                    }

                    @Override
                    public FileVisitResult visitFile(Path path, BasicFileAttributes its)
                            throws IOException {
                        if (directory.equals(path.getParent()) && !its.isSymbolicLink()) {
                            refuseForeign(directory, path);
                        }
                        return FileVisitResult.CONTINUE;
                    }
                });
    }

    private static void refuseForeign(Path directory, Path path) throws IOException {
        Map<String, Object> its =
                Files.readAttributes(path, "unix:uid,mode", LinkOption.NOFOLLOW_LINKS);
        int uid = (int) its.get("uid");
        boolean others = ((int) its.get("mode") & OTHERS_WRITE) != 0;
        if (others || !Posix.isRootOrSelf(uid)) {
            throw new StartException(
                    path
                            + (others
                                    ? " may be written by users other than root"
                                    : " belongs to uid " + Integer.toUnsignedString(uid))
                            + ", who could have changed who holds which GPU",
                    "check its content, then run: chown -R root: %s && chmod -R go-w %s"
                            .formatted(directory, directory));
        }
    }

    @Override
    public void close() {
        lock.close();
    }
}
