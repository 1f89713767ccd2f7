package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The driver volume of real driver releases. */
@Tag("root")
class DriverVolumeTest {

    @ParameterizedTest
    @EnumSource
    void everyLibraryOfTheDriverIsInTheVolumeOrLeftOutWithAReason(DriverRoot.Release release)
            throws IOException {
        try (DriverRoot host = DriverRoot.make(release);
                TestDaemon daemon = new TestDaemon(host)) {
            daemon.jnvdocker("gpu", "volume").run().ok();
            JsonNode manifest = manifest(daemon, host);
            Set<String> accounted = new TreeSet<>();
            manifest.get("files").forEach(file -> accounted.add(file.get("source").asText()));
            for (JsonNode file : manifest.get("leftOut")) {
                assertTrue(!file.get("reason").asText().isBlank(), file::toString);
                accounted.add(file.get("path").asText());
            }
            Set<String> libraries = libraries(host);
            assertTrue(libraries.size() > 25, libraries::toString);
            libraries.removeAll(accounted);
            assertEquals(Set.of(), libraries);
            JsonNode shown =
                    daemon.jnvdocker("gpu", "volume", "--json", "--verify").run().ok().json();
            assertEquals("nvidia_driver_" + host.version(), shown.path("volume").asText());
            assertEquals(
                    manifest.path("files").size() + manifest.path("graphics").size(),
                    shown.path("files").size());
            assertEquals(manifest.path("links").size(), shown.path("links").size());
            assertEquals(manifest.path("leftOut").size(), shown.path("left_out").size());
            assertEquals("[]", shown.path("problems").toString());
        }
    }

    private static Set<String> libraries(DriverRoot host) throws IOException {
        try (Stream<Path> files = Files.walk(host.directory().resolve("usr"))) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> !Files.isSymbolicLink(file))
                    .filter(file -> file.toString().endsWith(".so." + host.version()))
                    .map(file -> "/" + host.directory().relativize(file))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    private static Path directory(TestDaemon daemon, DriverRoot host) {
        return daemon.state().resolve("volumes/nvidia_driver").resolve(host.version());
    }

    private static JsonNode manifest(TestDaemon daemon, DriverRoot host) throws IOException {
        return new ObjectMapper()
                .readTree(directory(daemon, host).resolve("manifest.json").toFile());
    }

    @Test
    void layoutsOfOneDriverMakeOneVolume() throws IOException {
        assertEquals(
                contents(DriverRoot.Release.DRIVER_550),
                contents(DriverRoot.Release.DRIVER_550_DEBIAN));
    }

    private static String contents(DriverRoot.Release release) throws IOException {
        try (DriverRoot host = DriverRoot.make(release);
                TestDaemon daemon = new TestDaemon(host)) {
            daemon.jnvdocker("gpu", "volume").run().ok();
            return Command.of("find", ".", "!", "-name", "manifest.json", "-printf", "%P %l %s\n")
                    .in(directory(daemon, host))
                    .run()
                    .ok()
                    .out()
                    .lines()
                    .filter(line -> !line.matches("(bin|lib|lib64)?  [0-9]+"))
                    // Links for linking against are copied from the host, where layouts differ.
                    .filter(line -> !line.matches("\\S+\\.so lib.*"))
                    .sorted()
                    .collect(Collectors.joining("\n"));
        }
    }

    @Test
    void volumeIsWhatTheHostHas() {
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
                TestDaemon daemon = new TestDaemon(host)) {
            Command.Result shown = daemon.jnvdocker("gpu", "volume").run().ok();
            assertTrue(shown.out().contains("Volume:      nvidia_driver_" + host.version()));
            assertTrue(shown.out().contains("nvidia-modprobe"), shown::toString);
            assertTrue(
                    daemon.jnvdocker("gpu", "volume", "--verify")
                            .run()
                            .ok()
                            .out()
                            .contains("verified: every file is the host's"));
        }
    }

    @Test
    void stateDirectoryOnAnotherFileSystemGetsCopiesAndVerifyFindsADamagedOne() throws IOException {
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();
                TestDaemon daemon = onAnotherFileSystem(host)) {
            Command.Result shown = daemon.jnvdocker("gpu", "volume").run().ok();
            assertTrue(shown.out().contains(" by copy)"), shown::toString);
            daemon.jnvdocker("gpu", "volume", "--verify").run().ok();

            Path library = directory(daemon, host).resolve("lib64/libcuda.so." + host.version());
            Command.of("chmod", "u+w", library).run().ok();
            Files.write(library, new byte[] {1}, StandardOpenOption.WRITE);
            Command.Result verified = daemon.jnvdocker("gpu", "volume", "--verify").run();
            assertEquals(1, verified.exitCode(), verified::toString);
            assertTrue(
                    verified.out().contains("wrong: ") && verified.out().contains("libcuda.so."),
                    verified::toString);
            Directories.remove(daemon.state());
        }
    }

    @Test
    void daemonKilledWhileItBuildsLeavesOneWholeVolumeToTheNext() throws IOException {
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535).slim();
                TestDaemon daemon = onAnotherFileSystem(host)) {
            Path volumes = directory(daemon, host).getParent();
            for (int i = 0; i < 6; i++) {
                daemon.jnvdocker("gpu", "ls").run().ok();
                // The daemon has begun to build by itself: let it get a bit further each time.
                while (!hasFiles(volumes, i * 5) && !Files.exists(directory(daemon, host))) {
                    LockSupport.parkNanos(1_000_000);
                }
                daemon.kill();
                Directories.remove(directory(daemon, host));
            }
            daemon.jnvdocker("gpu", "volume", "--verify").run().ok();
            try (Stream<Path> left = Files.list(volumes)) {
                assertEquals(
                        Set.of(".lock", host.version()),
                        left.map(path -> path.getFileName().toString())
                                .collect(Collectors.toSet()));
            }
            Directories.remove(daemon.state());
        }
    }

    @Tag("docker")
    @Test
    void libraryThatIsInstalledLaterIsInTheNextContainerAndInNoRunningOne() throws IOException {
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
                TestEngine engine = new TestEngine();
                TestDaemon daemon = new TestDaemon(engine, host)) {
            String name = "libnvidia-encode.so." + host.version();
            Path library = find(host, name);
            Path aside = library.resolveSibling("aside");
            Files.move(library, aside);
            engine.image("cuda", "--label", "com.nvidia.volumes.needed=nvidia_driver");
            daemon.jnvdocker("run", "-d", "--gpus", "1", "--name", "first", "cuda", "sleep", "1000")
                    .run()
                    .ok();
            Command.Result before = list(daemon, "run", "--rm", "--gpus", "1", "cuda");
            assertTrue(before.out().contains("libcuda.so."), before::toString);
            assertFalse(before.out().contains(name), before::toString);
            Files.move(aside, library);
            Lab.await(() -> {
                String out = list(daemon, "run", "--rm", "--gpus", "1", "cuda").out();
                return out.contains(name) ? List.of() : List.of(out);
            });
            Command.Result running = list(daemon, "exec", "first");
            assertTrue(running.out().contains("libcuda.so."), running::toString);
            assertFalse(running.out().contains(name), running::toString);
        }
    }

    private static Command.Result list(TestDaemon daemon, String... words) {
        return daemon.jnvdocker(
                        Stream.concat(Stream.of(words), Stream.of("ls", "/usr/local/nvidia/lib64"))
                                .toArray())
                .run()
                .ok();
    }

    private static Path find(DriverRoot host, String name) throws IOException {
        try (Stream<Path> files = Files.walk(host.directory().resolve("usr"))) {
            return files.filter(file -> file.endsWith(name)).findFirst().orElseThrow();
        }
    }

    private static boolean hasFiles(Path volumes, int count) {
        return Command.of("find", volumes, "-path", "*/.building-*", "-type", "f")
                        .run()
                        .out()
                        .lines()
                        .count()
                > count;
    }

    private static TestDaemon onAnotherFileSystem(DriverRoot host) throws IOException {
        Path memory = Path.of("/dev/shm");
        assumeTrue(
                Files.isDirectory(memory)
                        && !Files.getFileStore(memory).equals(Files.getFileStore(host.directory())),
                "/dev/shm is no other file system");
        Path state = Files.createTempDirectory(memory, "jnv-state-");
        return new TestDaemon(host).with("JNVDOCKER_STATE_DIR", state);
    }
}
