package jnvdocker.daemon;

import jnvdocker.posix.DiskRoom;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.WholeFile;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The classes of this start, for the next one, which {@code bin/jnvdockerd} has Java map. Java can
 * write such an archive by itself as it ends, but then also one of the few classes of a start that
 * was refused, and where it cannot write, it makes the end a failure.
 */
final class ClassArchive {
    private static final Logger LOG = LoggerFactory.getLogger(ClassArchive.class);

    /** More than an archive takes; without it, Java would end the process in the middle. */
    private static final long ROOM = 64 << 20;

    private ClassArchive() {}

    /**
     * Writes the archive that {@code bin/jnvdockerd} has found missing; half a second during which
     * no other thread runs. Without it, the next start takes longer, and nothing else.
     *
     * @param file its path; empty when none is missing
     */
    static void write(String file) {
        if (file.isEmpty()) {
            return;
        }
        Path archive = Path.of(file);
        Path part = Path.of(file + "." + ProcessHandle.current().pid());
        try {
            if (DiskRoom.of(archive.getParent()).bytes() < ROOM) {
                LOG.debug("no room for {}", archive);
                return;
            }
            Files.createFile(part);
            dump(part);
            WholeFile.complete(part, archive);
        } catch (IOException e) {
            LOG.debug("cannot write {}: {}", archive, FileErrors.describe(e));
        }
    }

    /** Writes the archive as {@code jcmd VM.cds dynamic_dump} does. */
    private static void dump(Path file) throws IOException {
        try {
            Method dump =
                    Class.forName("jdk.internal.misc.CDS")
                            .getDeclaredMethod("dumpDynamicArchive", String.class);
            dump.setAccessible(true);
            dump.invoke(null, file.toString());
        } catch (ReflectiveOperationException e) {
            throw new IOException(e);
        }
    }
}
