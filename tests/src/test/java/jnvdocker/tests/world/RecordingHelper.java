package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A stand-in for Mesos' helper or for a runtime that only records how it was called, and ends with
 * 7.
 */
public final class RecordingHelper {
    public static final int EXIT_CODE = 7;

    private final Path directory;

    /**
     * The circumstances of a call, with each byte as a character.
     *
     * @param cwd its working directory
     * @param descriptors the target of each open descriptor
     * @param ignored the signals that are ignored, one bit each
     */
    public record Call(
            List<String> argv,
            List<String> environment,
            String cwd,
            Map<Integer, String> descriptors,
            long ignored) {
        /** The value of a variable that must be there exactly once. */
        public String variable(String name) {
            List<String> found =
                    environment.stream().filter(it -> it.startsWith(name + "=")).toList();
            if (found.size() != 1) {
                throw new AssertionError(name + " is there as " + found);
            }
            return found.getFirst().substring(name.length() + 1);
        }
    }

    /** Puts it in that directory, named like Mesos' own. */
    public RecordingHelper(Path directory) {
        this(directory, "mesos-containerizer");
    }

    public RecordingHelper(Path directory, String name) {
        this.directory = directory;
        CProgram.put("recordcall", directory.resolve(name));
    }

    public Path directory() {
        return directory;
    }

    public boolean wasCalled() {
        return Files.exists(directory.resolve("called.status"));
    }

    /** The only call since this method was last called. */
    public Call call() {
        if (!wasCalled()) {
            throw new AssertionError("the helper was not called");
        }
        Map<Integer, String> descriptors = new TreeMap<>();
        read("fds")
                .lines()
                .forEach(line -> {
                    String[] parts = line.split(" ", 2);
                    descriptors.put(Integer.valueOf(parts[0]), parts[1]);
                });
        String ignored =
                read("status")
                        .lines()
                        .filter(line -> line.startsWith("SigIgn:"))
                        .findFirst()
                        .orElseThrow()
                        .substring("SigIgn:".length())
                        .strip();
        Call call =
                new Call(
                        strings("cmdline"),
                        strings("environ"),
                        read("cwd"),
                        descriptors,
                        Long.parseUnsignedLong(ignored, 16));
        forget();
        return call;
    }

    private void forget() {
        try {
            for (String name : new String[] {"cmdline", "environ", "cwd", "fds", "status"}) {
                Files.delete(directory.resolve("called." + name));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> strings(String name) {
        String text = read(name);
        return text.isEmpty()
                ? List.of()
                : List.of(text.substring(0, text.length() - 1).split("\0", -1));
    }

    private String read(String name) {
        try {
            return Files.readString(
                    directory.resolve("called." + name), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
