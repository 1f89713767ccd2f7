package jnvdocker.program;

import jnvdocker.posix.Posix;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Puts a program into its place whole: others may run it at any time. */
public final class ProgramFile {
    private static final int MODE = 0755;

    private ProgramFile() {}

    /** Puts root's program into a folder, in the place of what has its name. */
    public static void put(Path folder, String name, byte[] program) throws IOException {
        Path fresh = folder.resolve(fresh(name));
        Files.deleteIfExists(fresh);
        try (FileChannel file =
                FileChannel.open(fresh, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            for (ByteBuffer rest = ByteBuffer.wrap(program); rest.hasRemaining(); ) {
                file.write(rest);
            }
            file.force(true);
        }
        Posix.chown(fresh, 0, 0);
        Posix.chmod(fresh, MODE);
        rename(fresh, folder, name);
    }

    /** Puts a link into a folder, in the place of what has its name, unless it is there. */
    public static void link(Path folder, String name, Path target) throws IOException {
        Path link = folder.resolve(name);
        if (Files.isSymbolicLink(link) && Files.readSymbolicLink(link).equals(target)) {
            return;
        }
        Path fresh = folder.resolve(fresh(name));
        Files.deleteIfExists(fresh);
        Files.createSymbolicLink(fresh, target);
        rename(fresh, folder, name);
    }

    /** What it is called until it is whole; one that was killed on the way may leave it. */
    public static String fresh(String name) {
        return "." + name + ".new";
    }

    private static void rename(Path fresh, Path folder, String name) throws IOException {
        Files.move(
                fresh,
                folder.resolve(name),
                StandardCopyOption.REPLACE_EXISTING,
                StandardCopyOption.ATOMIC_MOVE);
        try (FileChannel directory = FileChannel.open(folder, StandardOpenOption.READ)) {
            directory.force(true);
        }
    }
}
