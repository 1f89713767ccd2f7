package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The daemon keeps its classes for its next start, and starts with any such file or none. */
@Tag("root")
@Tag("tree")
class DaemonCacheTest {
    private final Path cache = Directories.make("cache").resolve("deep/jnvdocker");
    private DriverRoot host;
    private TestDaemon daemon;

    @BeforeEach
    void makeDaemon() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(host).with("JNVDOCKER_CACHE_DIR", cache);
    }

    @AfterEach
    void close() {
        daemon.close();
        host.close();
        Directories.remove(cache.getParent().getParent());
    }

    private void start() {
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    /** Stops it, and returns the archive that is there then. */
    private Path stop() throws IOException {
        daemon.stop();
        List<Path> files = files();
        assertEquals(1, files.size(), files::toString);
        return files.getFirst();
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.list(cache)) {
            return files.toList();
        }
    }

    private boolean uses(Path archive) throws IOException {
        long pid = daemon.pid().orElseThrow();
        return Files.readString(Path.of("/proc/" + pid + "/maps")).contains(archive.toString());
    }

    /** Java maps an archive that was written with others, and loads every class itself. */
    private List<String> moduleOptions() throws IOException {
        long pid = daemon.pid().orElseThrow();
        return Stream.of(Files.readString(Path.of("/proc/" + pid + "/cmdline")).split("\0"))
                .filter(word -> word.startsWith("--"))
                .toList();
    }

    /** Java's messages about archives are of no use to users. */
    private void assertOnlyNews() throws IOException {
        List<String> others =
                Files.readAllLines(daemon.log()).stream()
                        .filter(line -> !line.contains(" INFO "))
                        .toList();
        assertEquals(List.of(), others);
    }

    @Test
    void secondStartTakesTheClassesOfTheFirst() throws IOException {
        Files.createDirectories(cache.getParent());
        start();
        List<String> options = moduleOptions();
        Path archive = stop();
        assertEquals("700\n", Command.of("stat", "-c", "%a", cache).run().ok().out());
        Object made = Files.getLastModifiedTime(archive);
        start();
        assertTrue(uses(archive));
        assertEquals(options, moduleOptions());
        assertEquals(archive, stop());
        assertEquals(made, Files.getLastModifiedTime(archive));
        assertOnlyNews();
    }

    @Test
    void archiveThatIsCutOffIsNotUsed() throws IOException {
        start();
        Path archive = stop();
        Command.of("truncate", "-s", Files.size(archive) / 3, archive).run().ok();
        start();
        daemon.stop();
        Files.delete(archive);
        start();
        stop();
        start();
        assertTrue(uses(archive));
        assertOnlyNews();
    }

    /** As by a disk that loses what it was given. */
    @Test
    void archiveOfWhichJavaCrashesIsWrittenAgain() throws IOException {
        start();
        Path archive = stop();
        long length = Files.size(archive);
        try (RandomAccessFile file = new RandomAccessFile(archive.toFile(), "rw")) {
            file.seek(length / 10);
            file.write(new byte[(int) length / 2]);
        }
        assertNotEquals(0, daemon.jnvdocker("gpu", "ls").run().exitCode());
        start();
        stop();
        start();
        assertTrue(uses(archive));
    }

    @Test
    void archiveOfOtherProgramsGoes() throws IOException {
        Files.createDirectories(cache);
        Command.of("chmod", "700", cache).run().ok();
        Path other = cache.resolve("classes-0123.jsa");
        Files.writeString(other, "of the release before");
        start();
        assertNotEquals(other, stop());
    }

    /** Full, or read-only, as on a host whose system cannot be changed. */
    @ParameterizedTest
    @ValueSource(strings = {"size=3m", "ro"})
    void diskThatTakesNoArchiveIsNoFailure(String option) throws Exception {
        Files.createDirectories(cache);
        Command.of("mount", "-t", "tmpfs", "-o", "mode=700," + option, "none", cache).run().ok();
        try {
            Process process = daemon.launch(Map.of());
            daemon.jnvdocker("gpu", "ls").run().ok();
            process.destroy();
            assertEquals(0, process.waitFor());
            assertEquals(List.of(), files());
            assertOnlyNews();
        } finally {
            Command.of("umount", cache).run().ok();
        }
    }

    @Test
    void startThatIsRefusedLeavesNone() throws Exception {
        daemon.config("gpus =");
        assertEquals(125, daemon.launch(Map.of()).waitFor());
        assertEquals(List.of(), files());
    }

    @Test
    void linkIsNotFollowed() throws IOException {
        Path target = cache.resolveSibling("target");
        Files.createDirectories(target);
        Command.of("chmod", "700", target).run().ok();
        Files.createSymbolicLink(cache, target);
        start();
        daemon.stop();
        assertEquals(List.of(), files());
    }

    @Test
    void directoryThatOthersMayWriteToIsLeftAlone() throws IOException {
        Files.createDirectories(cache);
        for (String way : List.of("chmod 777", "chown 1234")) {
            Command.of("sh", "-c", "chmod 700 $1 && " + way + " $1", "sh", cache).run().ok();
            start();
            daemon.stop();
            assertEquals(List.of(), files(), way);
        }
    }
}
