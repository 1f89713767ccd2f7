package jnvdocker.archive;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/** A directory of an image, as an engine sends it: a tar that anybody may have made. */
public final class FolderArchive {
    private static final long MOST_BYTES = 2L << 30;
    private static final int MOST_FILES = 256;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,200}");

    private FolderArchive() {}

    /**
     * Unpacks the files that are in the directory itself.
     *
     * @param wanted tells by its name whether a file's bytes are wanted; another is made empty
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
                    Files.copy(tar, file);
                } else {
                    Files.createFile(file);
                }
            }
        }
    }
}
