package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Properties of their engines that the tests rely on, in each release. */
@ParameterizedClass
@EnumSource
@Tag("docker")
@Tag("root")
class EngineWorldTest {
    @Parameter private TestEngine.Release release;

    private TestEngine engine;

    @BeforeEach
    void startEngine() {
        engine = new TestEngine(release);
        engine.image("small", "--small");
    }

    @AfterEach
    void endEngine() {
        engine.close();
    }

    @Test
    void itIsTheRequestedReleaseAfterEveryStart() {
        String version = engine.version();
        switch (release) {
            case DEBIAN_STABLE -> assertEquals(installed(), version);
            case NEWEST -> assertTrue(major(version) > major(installed()), version);
        }
        engine.restart();
        assertEquals(version, engine.version());
        engine.kill();
        engine.start();
        assertEquals(version, engine.version());
        engine.stop();
        engine.start();
        assertEquals(version, engine.version());
    }

    private static String installed() {
        String words = Command.of("dockerd", "--version").run().ok().out();
        return words.replaceFirst("(?s)Docker version (.*), build .*", "$1");
    }

    private static int major(String version) {
        return Integer.parseInt(version.substring(0, version.indexOf('.')));
    }

    @Test
    void containersOutliveARestartWithLiveRestoreAlone() {
        runContainer();
        engine.restart("--live-restore");
        assertEquals(List.of(), running());
        engine.docker("start", "first").run().ok();
        engine.restart();
        assertEquals(List.of("first"), running());
        assertEquals("alive\n", engine.docker("exec", "first", "echo", "alive").run().ok().out());
    }

    @Test
    void containersOutliveAKillWithLiveRestore() {
        engine.restart("--live-restore");
        runContainer();
        String pid = pid();
        engine.kill();
        assertTrue(Files.exists(Path.of("/proc", pid)));
        engine.start();
        assertEquals(pid, pid());
        engine.docker("rm", "-f", "first").run().ok();
    }

    @Test
    void nothingIsLeftOfAStoppedEngine() throws IOException {
        engine.restart("--live-restore");
        runContainer();
        String container = engine.docker("ps", "-q", "--no-trunc").run().ok().out().strip();
        engine.stop();
        assertEquals(List.of(), processesThatKnow(engine.socket().getParent().toString()));
        assertEquals("", Command.of("find", "/sys/fs/cgroup", "-name", container).run().out());
    }

    private void runContainer() {
        // Its sleep ignores SIGTERM, as the first process of any container does by default.
        engine.docker("run", "-d", "--stop-signal=KILL", "--name=first", "small", "sleep", "1000")
                .run()
                .ok();
    }

    private List<String> running() {
        return engine.docker("ps", "--format", "{{.Names}}").run().ok().out().lines().toList();
    }

    private String pid() {
        return engine.docker("inspect", "--format", "{{.State.Pid}}", "first")
                .run()
                .ok()
                .out()
                .strip();
    }

    /** The processes that mention a directory on their command lines or see a mount of it. */
    private static List<String> processesThatKnow(String directory) throws IOException {
        try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
            return processes
                    .filter(process -> process.getFileName().toString().matches("\\d+"))
                    .filter(process ->
                            read(process.resolve("cmdline")).contains(directory)
                                    || read(process.resolve("mountinfo")).contains(directory))
                    .map(process -> read(process.resolve("cmdline")).replace('\0', ' '))
                    .toList();
        }
    }

    /** Files that cannot be read belong to processes that have ended. */
    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }
}
