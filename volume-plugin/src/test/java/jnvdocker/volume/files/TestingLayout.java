package jnvdocker.volume.files;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A host as text, a line for each file:
 *
 * <pre>
 * /PATH -> TARGET                  a link; OUTSIDE in its target is the directory beside the host's root
 * /PATH directory
 * /PATH ARCHITECTURE [SONAME] ...  a library or program
 * /PATH size=BYTES ...             a file of zeros
 * NAME => /PATH                    what the loader cache says, as ldconfig -p prints it
 * /PATH ...                        does something to a file that an earlier line made
 * </pre>
 *
 * where ... is {@code mode=OCTAL}, {@code cut=LENGTH} or {@code at=OFFSET:HEX}, bytes to write
 * there.
 */
final class TestingLayout {
    private static final Pattern LINE = Pattern.compile("(\\S+)\\s+(->|=>|)\\s*(.+)");

    private final Path root;
    private final TestingHost host;

    private TestingLayout(Path root) throws IOException {
        this.root = root;
        this.host = TestingHost.empty(root);
    }

    static TestingHost make(Path root, List<String> lines) throws IOException {
        TestingLayout layout = new TestingLayout(root);
        for (String line : lines) {
            layout.add(line);
        }
        return layout.host;
    }

    /**
     * A place that links in the host must not lead to. Files are put there as {@code /../outside}.
     */
    static String outside(Path root) {
        return root.resolveSibling("outside").toString();
    }

    private void add(String line) throws IOException {
        Matcher words = LINE.matcher(line);
        if (!words.matches()) {
            throw new IllegalArgumentException(line);
        }
        String path = words.group(1);
        String what = words.group(3);
        switch (words.group(2)) {
            case "->" -> host.link(path, what.replace("OUTSIDE", outside(root)));
            case "=>" -> host.cached(path, what);
            default -> file(path, List.of(what.split(" +")));
        }
    }

    private void file(String path, List<String> words) throws IOException {
        Path file = host.path(path);
        if (words.equals(List.of("directory"))) {
            Files.createDirectories(file);
            return;
        }
        TestingElf elf = null;
        for (String word : words) {
            if (word.startsWith("lib")) {
                elf.soname(word);
            } else if (!word.contains("=")) {
                elf = architecture(word);
            }
        }
        if (elf != null) {
            elf.write(file);
        }
        for (String word : words) {
            change(file, word);
        }
    }

    private static TestingElf architecture(String word) {
        TestingElf elf = TestingElf.library();
        return switch (word) {
            case "x86-64" -> elf;
            case "i386" -> elf.i386();
            case "aarch64" -> elf.machine(ElfFile.AARCH64);
            case "ppc64" -> elf.machine(ElfFile.PPC64).bigEndian();
            case "ppc64le" -> elf.machine(ElfFile.PPC64);
            default -> throw new IllegalArgumentException("no architecture: " + word);
        };
    }

    private static void change(Path file, String word) throws IOException {
        if (word.startsWith("size=")) {
            zeros(file, Long.parseLong(value(word)));
        } else if (word.startsWith("mode=")) {
            Files.setAttribute(file, "unix:mode", Integer.parseInt(value(word), 8));
        } else if (word.startsWith("cut=")) {
            byte[] bytes = Files.readAllBytes(file);
            Files.write(file, Arrays.copyOf(bytes, Integer.parseInt(value(word))));
        } else if (word.startsWith("at=")) {
            String[] patch = value(word).split(":");
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
            bytes.put(Integer.parseInt(patch[0]), HexFormat.of().parseHex(patch[1]));
            Files.write(file, bytes.array());
        }
    }

    /** The file has a hole, so that it may be large. */
    private static void zeros(Path file, long size) throws IOException {
        Files.createDirectories(file.getParent());
        try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
            made.setLength(size);
        }
    }

    private static String value(String word) {
        return word.substring(word.indexOf('=') + 1);
    }
}
