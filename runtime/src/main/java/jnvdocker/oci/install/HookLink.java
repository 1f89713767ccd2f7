package jnvdocker.oci.install;

import jnvdocker.posix.WholeFile;
import jnvdocker.program.TrustedFolder;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
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

    private HookLink() {}

    /** NVIDIA's, where dockerd would find it. */
    static Optional<Path> nvidias(Path folder) {
        return nvidias(Stream.concat(Stream.of(folder), RealRuntime.FOLDERS.stream()).toList());
    }

    /** NVIDIA's in the first of these directories that has one. */
    static Optional<Path> nvidias(List<Path> folders) {
        return folders.stream()
                .map(each -> each.resolve(NAME))
                .filter(each -> Files.exists(each, LinkOption.NOFOLLOW_LINKS))
                .filter(each -> !isOurs(each))
                .findFirst();
    }

    static void make(Path folder, Path program) throws IOException, RefusedException {
        TrustedFolder.check(folder);
        Files.createDirectories(folder);
        WholeFile.link(folder.resolve(NAME), program);
    }

    /** Whether dockerd finds that program there. */
    static boolean leadsTo(Path program, Path link) {
        try {
            return Files.isSymbolicLink(link) && Files.isSameFile(link, program);
        } catch (IOException e) {
            return false;
        }
    }

    /** Removes it, unless it is somebody else's by now. */
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
