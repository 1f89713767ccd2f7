package jnvdocker.tests;

import jnvdocker.tests.world.Project;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Streams that daemons have sent to the client, kept in {@code fixtures/frames}: a line that
 * describes the stream, one that says how the client ends, then the bytes, one frame a line.
 */
final class FrameScripts {
    private static final Pattern END = Pattern.compile("# ends with (\\d+)(?:: (.*))?");

    /**
     * One of these streams.
     *
     * @param frames in hexadecimal
     * @param words the client's expected message, empty for none
     */
    record Kept(String name, List<String> frames, int exitCode, String words) {
        byte[] bytes() {
            return HexFormat.of().parseHex(String.join("", frames));
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private FrameScripts() {}

    static List<Kept> all() {
        try (Stream<Path> files = Files.list(Project.fixture("frames"))) {
            return files.sorted().map(FrameScripts::read).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns each distinct frame of all streams. */
    static List<byte[]> frames() {
        return all().stream()
                .flatMap(kept -> kept.frames().stream())
                .distinct()
                .map(HexFormat.of()::parseHex)
                .toList();
    }

    static byte[] joined(List<byte[]> pieces) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        pieces.forEach(all::writeBytes);
        return all.toByteArray();
    }

    private static Kept read(Path file) {
        try {
            List<String> lines = Files.readAllLines(file);
            Matcher end = END.matcher(lines.get(1));
            if (!lines.getFirst().startsWith("# ") || !end.matches()) {
                throw new AssertionError(file + " does not say what it is and how the client ends");
            }
            String words = end.group(2) == null ? "" : end.group(2);
            return new Kept(
                    file.getFileName().toString().replace(".hex", ""),
                    lines.stream().skip(2).map(line -> line.replace(" ", "")).toList(),
                    Integer.parseInt(end.group(1)),
                    words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
