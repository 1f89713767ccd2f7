package jnvdocker.archive;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** A directory of an image as a tar: as an engine sends it; its content is untrusted. */
public final class DirectoryArchive {
    private static final long MOST_BYTES = 2L << 30;
    private static final int MOST_FILES = 256;

    /**
     * Bytes read from a library's start, and from its end; the tables that are parsed lie there.
     */
    private static final int ENDS = 1 << 20;

    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,200}");

    private static final int EXECUTABLE = 0755;

    private DirectoryArchive() {}

    /** Packs a program into the root of an image that has nothing else. */
    public static byte[] of(String name, byte[] program) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes)) {
            TarArchiveEntry entry = new TarArchiveEntry(name);
            entry.setMode(EXECUTABLE);
            entry.setSize(program.length);
            tar.putArchiveEntry(entry);
            tar.write(program);
            tar.closeArchiveEntry();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /**
     * Unpacks the files that are in the directory itself. Of a long file only the start and the end
     * are written; a hole is between them, which takes no place on the disk.
     *
     * @param wanted whether the bytes of a file with this name are wanted; any other file is made
     *     empty
     * @param to an empty directory
     */
    public static void unpack(InputStream archive, Predicate<String> wanted, Path to)
            throws IOException {
        int files = 0;
        Metered metered = new Metered(archive);
        metered.allow(MOST_BYTES, "more than " + MOST_BYTES + " bytes");
        try (TarArchiveInputStream tar = new TarArchiveInputStream(metered)) {
            for (TarArchiveEntry entry = tar.getNextEntry();
                    entry != null;
                    entry = tar.getNextEntry()) {
                String name = entry.getName().replaceFirst("^(\\./)+", "");
                if (!NAME.matcher(name).matches() || entry.isDirectory()) {
                    continue;
                }
                files++;
                if (files > MOST_FILES) {
                    throw new IOException("more than " + MOST_FILES + " files");
                }
                Path file = to.resolve(name);
                if (entry.isFile() && !entry.isSparse() && wanted.test(name)) {
                    copyEnds(tar, entry.getSize(), file);
                } else {
                    Files.createFile(file);
                }
            }
        }
    }

    private static void copyEnds(InputStream in, long size, Path file) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW)) {
            OutputStream out = Channels.newOutputStream(channel);
            out.write(in.readNBytes(ENDS));
            long tail = Math.max(channel.position(), size - ENDS);
            in.skipNBytes(tail - channel.position());
            channel.position(tail);
            in.transferTo(out);
        }
    }
}
