package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Host;
import jnvdocker.volume.DirectoryTree;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GraphicsFile;

import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Whole hosts, each a file of {@code layouts}: its subject, its files (see {@link TestingLayout}),
 * and under {@code gives} the result: every file and link of the driver volume as it lies on disk,
 * and the files that were left out and why, or else the refusal. The driver that is loaded is
 * 535.104.05.
 */
class HostLayoutsTest {
    @TempDir Path directory;

    static List<String> layouts() throws Exception {
        try (Stream<Path> files = Files.list(directory())) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void hostGives(String name) throws Exception {
        List<String> lines = new ArrayList<>();
        List<String> expected = new ArrayList<>();
        List<String> part = lines;
        for (String line : Files.readAllLines(directory().resolve(name))) {
            if (line.equals("gives")) {
                part = expected;
            } else if (!line.isBlank() && !line.startsWith("#")) {
                part.add(line);
            }
        }
        Path state = directory.resolve("state");
        Host host = TestingLayout.make(directory.toRealPath().resolve("host"), lines).host();

        String actual =
                String.join("\n", outcome(host, state))
                        .replace(host.root().toString(), "HOST")
                        .replace(TestingLayout.outside(host.root()), "OUTSIDE");
        assertEquals(String.join("\n", expected), actual, name);
    }

    private static List<String> outcome(Host host, Path state) throws IOException {
        DriverVolumeStore store = new DriverVolumeStore(state);
        List<String> outcome = new ArrayList<>();
        try {
            DriverVolume volume = store.build(host, TestingHost.VERSION);
            outcome.addAll(contents(volume));
            volume.manifest()
                    .leftOut()
                    .forEach(left ->
                            outcome.add("left out " + left.path() + ": " + left.reason().words()));
            outcome.addAll(volume.verify(host));
        } catch (DriverVolumeException e) {
            outcome.add("refused: " + e.getMessage());
            assertEquals(List.of(), store.list());
            assertEquals(
                    List.of(".lock"), DirectoryTree.names(state.resolve("volumes/nvidia_driver")));
        }
        return outcome;
    }

    /** Reads from the disk; the manifest only adds where a file came from. */
    private static List<String> contents(DriverVolume volume) throws IOException {
        List<String> contents = new ArrayList<>();
        for (Directory sub : Directory.values()) {
            Path there = volume.path().resolve(sub.toString());
            for (String name : DirectoryTree.names(there)) {
                Path file = there.resolve(name);
                String what =
                        Files.isSymbolicLink(file)
                                ? " -> " + Files.readSymbolicLink(file)
                                : " = " + source(volume, sub + "/" + name);
                contents.add(sub + "/" + name + what);
            }
        }
        for (GraphicsFile file : volume.graphics()) {
            String path = file.inVolume().toString();
            assertTrue(Files.isRegularFile(volume.path().resolve(path)), path);
            contents.add(path + " = " + source(volume, path) + " at " + file.target());
        }
        return contents;
    }

    private static String source(DriverVolume volume, String path) {
        return volume.manifest().contents().stream()
                .filter(entry -> entry.path().equals(path))
                .findFirst()
                .orElseThrow()
                .source();
    }

    private static Path directory() throws URISyntaxException {
        URI there = HostLayoutsTest.class.getResource("layouts/lib64-only").toURI();
        return Path.of(there).getParent();
    }
}
