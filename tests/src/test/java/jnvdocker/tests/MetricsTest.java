package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Http;
import jnvdocker.tests.world.LoopbackPort;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** {@code /metrics} of a daemon, on its socket and over TCP, and what hostile users do there. */
@Tag("root")
class MetricsTest {
    /** The bytes of a request that stays incomplete. */
    private static final String BEGINNING = "GET /healthz HTTP/1.1\r\n";

    private static final InetSocketAddress TCP = LoopbackPort.free();
    private static final String LISTEN = "listen = \"127.0.0.1:" + TCP.getPort() + "\"\n";
    private static DriverRoot host;
    private static TestDaemon daemon;

    @BeforeAll
    static void start() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        FakeNvml.of(host, "a100x8");
        daemon = new TestDaemon(host);
        daemon.config(LISTEN);
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterAll
    static void stop() {
        daemon.close();
        host.close();
    }

    private static SocketAddress socket() {
        return UnixDomainSocketAddress.of(daemon.socket());
    }

    private static String metrics(SocketAddress address) {
        Http.Answer answer = Http.get(address, "/metrics");
        assertEquals(200, answer.status());
        return answer.body();
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not happen");
            LockSupport.parkNanos(50_000_000);
        }
    }

    @Test
    void figuresHaveTheHolderOnTheSocketAlone() throws Exception {
        Process held =
                daemon.jnvdocker("gpu", "run", "--gpus", "device=1", "--", "sleep", "100").start();
        try {
            await(() ->
                    metrics(socket())
                            .lines()
                            .anyMatch(line ->
                                    line.startsWith("jnvdocker_gpu_utilization_ratio{claim=\"")
                                            && line.contains("gpu=\"1\"")
                                            && line.contains("user=\"root\"")
                                            && line.endsWith(" 0.97")));
            await(() -> metrics(TCP).contains("jnvdocker_gpus{state=\"HELD\"} 1.0"));
            String reported = metrics(TCP);
            assertTrue(
                    reported.contains(
                            "jnvdocker_gpu_utilization_ratio{gpu=\"1\",uuid=\"GPU-5c1a1"));
            assertFalse(reported.contains("root"), reported);
            daemon.config(LISTEN + "listen_labels = true\n");
            daemon.jnvdocker("gpu", "reload").run().ok();
            assertTrue(metrics(TCP).contains("user=\"root\""));
            Command.Result checked = promtool(metrics(socket()));
            assertEquals("", checked.out() + checked.err());
        } finally {
            held.destroy();
            daemon.config(LISTEN);
            daemon.jnvdocker("gpu", "reload").run().ok();
        }
    }

    private static Command.Result promtool(String metrics) throws IOException {
        String promtool = Command.of(Project.world("promtool")).run().ok().out().strip();
        Path file = Files.writeString(host.directory().resolve("metrics.txt"), metrics);
        return Command.of("sh", "-c", "exec \"$0\" check metrics < \"$1\"", promtool, file)
                .run()
                .ok();
    }

    /** Commands share the socket, and a user's connections there are limited together. */
    @Test
    void hostileAskersDisturbNobody() throws Exception {
        List<SocketChannel> idle = new ArrayList<>();
        try {
            for (int i = 0; i < 1000; i++) {
                SocketChannel channel = SocketChannel.open(i % 2 == 0 ? TCP : socket());
                Http.send(channel, BEGINNING);
                idle.add(channel);
            }
            assertEquals(new Http.Answer(200, "ok\n"), Http.get(TCP, "/healthz"));
            assertEquals(new Http.Answer(200, "ok\n"), Http.get(socket(), "/healthz"));
            daemon.jnvdocker("gpu", "run", "--gpus", "1", "true").run().ok();
            for (SocketAddress address : List.of(TCP, socket())) {
                assertEquals(
                        431,
                        Http.query(
                                        address,
                                        "GET / HTTP/1.1\r\nHost: localhost\r\nX: "
                                                + "x".repeat(20_000)
                                                + "\r\n\r\n")
                                .status());
                assertEquals(
                        403,
                        Http.query(address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
                                .status());
                assertEquals(405, Http.query(address, "POST /metrics HTTP/1.0\r\n\r\n").status());
            }
        } finally {
            for (SocketChannel each : idle) {
                each.close();
            }
        }
    }

    @Test
    void onlyThisHostIsListenedTo() throws Exception {
        daemon.config("listen = \"0.0.0.0:3476\"\n");
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Command.Result refused = daemon.jnvdocker("gpu", "reload").run();
            assertEquals(125, refused.exitCode());
            assertTrue(
                    refused.err().contains("'0.0.0.0:3476' can be reached from other hosts"),
                    refused.err());
            daemon.config("listen = \"127.0.0.1:" + taken.getLocalPort() + "\"\n");
            Command.Result busy = daemon.jnvdocker("gpu", "reload").run();
            assertEquals(125, busy.exitCode());
            assertTrue(
                    busy.err().contains("the previous settings stay in force: cannot listen on"),
                    busy.err());
            assertEquals(200, Http.get(TCP, "/healthz").status());
        }
        TestDaemon other = new TestDaemon(host).with("JNVDOCKER_LISTEN", "10.0.0.1:3476");
        try (other) {
            Command.Result start = other.jnvdockerd().run();
            assertEquals(125, start.exitCode());
            assertTrue(
                    start.err().contains("JNVDOCKER_LISTEN = '10.0.0.1:3476' can be reached"),
                    start.err());
        } finally {
            daemon.config(LISTEN);
            daemon.jnvdocker("gpu", "reload").run().ok();
        }
    }
}
