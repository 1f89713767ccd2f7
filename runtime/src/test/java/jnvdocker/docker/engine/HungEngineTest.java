package jnvdocker.docker.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** dockerd answers no question about a container that waits for a plugin, but still lists it. */
@Attack(
        by = "a container",
        what =
                "has an inspect that never ends, 100 times at once, or a mount that hangs when"
                        + " it starts",
        result = "lists answer; every connection comes back")
class HungEngineTest {
    private static final int CALLS = 100;
    private static final Duration SHORT = Duration.ofMillis(100);
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir Path directory;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private TestingEngine dockerd;
    private DockerEngine engine;

    @BeforeEach
    void start() throws IOException {
        Path socket = directory.resolve("docker.sock");
        dockerd =
                TestingEngine.start(socket)
                        .answers("/containers/json?all=true", 200, "[]")
                        .answers("/containers/json", 200, "[]")
                        .answers("/info", 200, "{\"ID\": \"x\"}");
        engine = new DockerEngine(socket, directory.resolve("proxy.sock"), _ -> false);
        dockerd.hangs("/containers/hung/json");
    }

    @AfterEach
    void stop() throws IOException {
        engine.close();
        dockerd.close();
        threads.close();
    }

    private void inspectAll(Duration limit, List<Future<?>> calls) {
        for (int i = 0; i < CALLS; i++) {
            calls.add(threads.submit(() -> engine.inspect("hung", limit)));
        }
    }

    private long requested() {
        return dockerd.requests().stream().filter(it -> it.contains("/hung/")).count();
    }

    private static long openSockets() throws IOException {
        long sockets = 0;
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            for (Path descriptor : descriptors.toList()) {
                sockets += isSocket(descriptor) ? 1 : 0;
            }
        }
        return sockets;
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException e) {
            return false; // it belonged to the scan itself
        }
    }

    @Test
    void callThatHangsEndsItsConnection() throws Exception {
        engine.running(LONG);
        long before = openSockets();
        List<Future<?>> calls = new ArrayList<>();
        inspectAll(SHORT, calls);
        for (Future<?> call : calls) {
            assertThrows(Exception.class, call::get);
        }
        assertTrue(dockerd.givenUp().tryAcquire((int) requested(), 30, TimeUnit.SECONDS));
        assertTrue(requested() > 0);
        assertEquals(List.of(), engine.running(LONG));
        long after = openSockets();
        assertTrue(after <= before + 2, before + " sockets before, " + after + " after");
    }

    @Test
    void listsAnswerWhileEverythingElseHangs() throws Exception {
        List<Future<?>> calls = new ArrayList<>();
        inspectAll(LONG, calls);
        while (requested() < 2) {
            Thread.sleep(10);
        }
        for (int i = 0; i < 20; i++) {
            assertEquals(List.of(), engine.running(LONG));
        }
        // Only a few calls at a time inspect one container; another one is inspected.
        dockerd.answers("/containers/other/json", 200, "{\"Id\": \"other\", \"Name\": \"/o\"}");
        assertEquals("other", engine.inspect("other", LONG).orElseThrow().id());
        assertEquals(2, requested());
        engine.close();
        for (Future<?> call : calls) {
            assertThrows(Exception.class, call::get);
        }
    }
}
