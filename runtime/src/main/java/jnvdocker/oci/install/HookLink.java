package jnvdocker.oci.install;

import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedDirectory;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A program of this name in its PATH is what dockerd takes for the word that {@code --gpus} may be
 * used. It is ours where NVIDIA's is absent; containers of our runtime never get to run it, and it
 * refuses all others.
 */
final class HookLink {
    static final String NAME = "nvidia-container-runtime-hook";

    private static final Duration PRECISION = Duration.ofSeconds(1);

    private HookLink() {}

    /** NVIDIA's, in that directory or where dockerd searches by itself. */
    static Optional<Path> nvidias(Path directory) {
        return Stream.concat(Stream.of(directory), RealRuntime.DIRECTORIES.stream())
                .flatMap(each -> in(each).stream())
                .filter(each -> !isOurs(each))
                .findFirst();
    }

    /** The one that is found first in these directories, if it is not ours. */
    static Optional<Path> foreign(List<Path> directories) {
        return directories.stream()
                .flatMap(each -> in(each).stream())
                .findFirst()
                .filter(each -> !isOurs(each));
    }

    private static Optional<Path> in(Path directory) {
        return Optional.of(directory.resolve(NAME))
                .filter(each -> Files.exists(each, LinkOption.NOFOLLOW_LINKS));
    }

    static void make(Path directory, Path program) throws IOException, RefusedException {
        TrustedDirectory.check(directory);
        Files.createDirectories(directory);
        WholeFile.link(directory.resolve(NAME), program);
    }

    /** Whether dockerd finds that program there. */
    static boolean leadsTo(Path program, Path link) {
        try {
            return Files.isSymbolicLink(link) && Files.isSameFile(link, program);
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether a program that started at that time, to a second, has not found the link yet. */
    static boolean isYounger(Path link, Instant start) {
        try {
            FileTime made = Files.getLastModifiedTime(link, LinkOption.NOFOLLOW_LINKS);
            return made.toInstant().isAfter(start.plus(PRECISION));
        } catch (IOException e) {
            return false;
        }
    }

    /** Removes the link, unless it has been replaced. */
    static void remove(Path link) throws IOException {
        if (isOurs(link)) {
            Files.deleteIfExists(link);
        }
    }

    /** The target of a link of ours may be gone. */
    private static boolean isOurs(Path hook) {
        try {
            return Files.isSymbolicLink(hook)
                    && Files.readSymbolicLink(hook).endsWith(RuntimeProgram.NAME)
                    && (!Files.exists(hook) || RuntimeProgram.isOursAt(hook.toString()));
        } catch (IOException e) {
            return false;
        }
    }
}
