package jnvdocker.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

/** Directories of images, whose content is untrusted. */
class DirectoryArchiveTest {
    private static final byte[] BYTES = {1, 2, 3};

    @TempDir Path directory;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes);

    private void add(String name) throws IOException {
        add(name, BYTES);
    }

    private void add(String name, byte[] content) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, true);
        entry.setSize(content.length);
        tar.putArchiveEntry(entry);
        tar.write(content);
        tar.closeArchiveEntry();
    }

    private void addEmpty(String name, byte type) throws IOException {
        TarArchiveEntry entry = new TarArchiveEntry(name, type, true);
        entry.setLinkName("/etc/shadow");
        tar.putArchiveEntry(entry);
        tar.closeArchiveEntry();
    }

    private List<String> unpacked() throws IOException {
        tar.close();
        DirectoryArchive.unpack(
                new ByteArrayInputStream(bytes.toByteArray()),
                name -> name.startsWith("libcuda.so."),
                directory);
        try (var files = Files.list(directory)) {
            return List.copyOf(
                    new TreeSet<>(files.map(file -> file.getFileName().toString()).toList()));
        }
    }

    @Test
    void filesOfTheDirectoryItselfAreUnpacked() throws IOException {
        addEmpty("./", TarConstants.LF_DIR);
        add("./libcuda.so.550.54.15");
        add("libother.so.1");
        addEmpty("./libcuda.so.1", TarConstants.LF_SYMLINK);
        addEmpty("./deeper/", TarConstants.LF_DIR);
        add("./deeper/libcuda.so.1.2");
        add("../libcuda.so.9.9");
        add("/libcuda.so.8.8");
        add("..");
        assertEquals(List.of("libcuda.so.1", "libcuda.so.550.54.15", "libother.so.1"), unpacked());
        assertEquals(BYTES.length, Files.size(directory.resolve("libcuda.so.550.54.15")));
        assertEquals(0, Files.size(directory.resolve("libother.so.1")));
        assertEquals(false, Files.isSymbolicLink(directory.resolve("libcuda.so.1")));
    }

    /** A library of CUDA's has some 90 MB. */
    @Test
    void longFileHasItsStartAndItsEndAlone() throws IOException {
        byte[] content = new byte[5 << 20];
        Arrays.fill(content, (byte) 1);
        content[content.length - 1] = 2;
        add("libcuda.so.550.54.15", content);
        unpacked();
        byte[] seen = Files.readAllBytes(directory.resolve("libcuda.so.550.54.15"));
        int end = 1 << 20;
        Arrays.fill(content, end, content.length - end, (byte) 0);
        assertArrayEquals(content, seen);
    }

    @Test
    void tooManyFilesAreRefused() throws IOException {
        for (int i = 0; i < 300; i++) {
            add("lib" + i);
        }
        assertThrows(IOException.class, this::unpacked);
    }

    @Test
    void programIsPackedAsOneFile() throws IOException {
        byte[] image = DirectoryArchive.of("libcuda.so.1", BYTES);
        DirectoryArchive.unpack(new ByteArrayInputStream(image), _ -> true, directory);
        assertArrayEquals(BYTES, Files.readAllBytes(directory.resolve("libcuda.so.1")));
    }
}
