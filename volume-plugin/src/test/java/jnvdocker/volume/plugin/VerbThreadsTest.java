package jnvdocker.volume.plugin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.posix.Posix;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Verbs that block their threads, and the answers to others meanwhile. */
@Attack(
        by = "a file system or library",
        what = "blocks all carriers of virtual threads",
        result = "Create, Mount and Get are answered")
@Attack(
        by = "dockerd",
        what = "has more verbs to call than there are threads",
        result = "Get, List, Mount and Activate are answered; the rest is an Err")
class VerbThreadsTest {
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final String SLOW = "{\"Name\":\"" + TestingVolumes.SLOW + "\"}";
    private static final String OTHER = "{\"Name\":\"test_1.2\",\"ID\":\"a\"}";

    @TempDir Path directory;
    private final TestingVolumes volumes = new TestingVolumes();
    private PluginServer server;
    private Path socket;

    private void listen(VerbThreads.Limits limits) throws IOException {
        socket = directory.resolve("test.sock");
        server = PluginServer.listen(new VolumePlugin(List.of(volumes)), socket, LONG, limits);
    }

    @AfterEach
    void close() throws IOException {
        volumes.slowMayEnd.countDown();
        server.close();
    }

    private String answer(String verb, String body) throws IOException {
        try (RawHttp http = new RawHttp(socket)) {
            return http.query(verb, body).body().strip();
        }
    }

    private RawHttp send(String verb, String body) throws IOException {
        return new RawHttp(socket).send(RawHttp.post(verb, body));
    }

    /**
     * Only as many virtual threads run at a time as there are processors, and native code keeps its
     * carrier.
     */
    @Test
    void verbsAreAnsweredWhileVirtualThreadsAreBlocked() throws Exception {
        listen(VerbThreads.Limits.USUAL);
        Path fifo = directory.resolve("fifo");
        assertEquals(0, new ProcessBuilder("mkfifo", fifo.toString()).start().waitFor());
        List<Thread> blocked = new ArrayList<>();
        for (int i = 0; i < 4 * Runtime.getRuntime().availableProcessors(); i++) {
            blocked.add(Thread.ofVirtual().start(() -> openForReading(fifo)));
        }
        try {
            assertEquals("{\"Err\":\"\"}", answer("VolumeDriver.Create", OTHER));
            assertEquals(
                    "{\"Mountpoint\":\"/volumes/test_1.2\"}",
                    answer("VolumeDriver.Mount", OTHER)
                            .replace("\"Err\":\"\",", "")
                            .replace(",\"Err\":\"\"", ""));
            assertTrue(answer("VolumeDriver.Get", OTHER).contains("/volumes/test_1.2"));
        } finally {
            while (blocked.stream().anyMatch(Thread::isAlive)) {
                // A thread that opens it to read waits until another one opens it to write.
                Files.newByteChannel(fifo, StandardOpenOption.READ, StandardOpenOption.WRITE)
                        .close();
            }
        }
    }

    private void openForReading(Path fifo) {
        try {
            Posix.reflink(fifo, directory.resolve("clone"), 0600);
        } catch (IOException e) {
            // It cannot be cloned.
        }
    }

    @Test
    void slowVerbDelaysNothingElse() throws Exception {
        listen(new VerbThreads.Limits(1, 1, 1, 1, LONG.toMillis()));
        assertEquals("{\"Implements\":[\"VolumeDriver\"]}", answer("Plugin.Activate", ""));
        try (RawHttp slow = send("VolumeDriver.Create", SLOW)) {
            volumes.slowHasBegun.await();
            List<RawHttp> others = new ArrayList<>();
            try {
                for (int i = 0; i < 5; i++) {
                    others.add(send("VolumeDriver.Create", OTHER));
                }
                assertTrue(answer("VolumeDriver.List", "{}").contains("\"Volumes\":[]"));
                assertTrue(answer("VolumeDriver.Get", OTHER).contains("no such volume"));
                assertTrue(answer("VolumeDriver.Mount", OTHER).contains("no such volume"));
                assertTrue(answer("VolumeDriver.Capabilities", "{}").contains("local"));
                volumes.slowMayEnd.countDown();
                assertEquals("{\"Err\":\"\"}", slow.answer().body().strip());
                int served = 0;
                for (RawHttp other : others) {
                    served += other.answer().body().contains("too much to do") ? 0 : 1;
                }
                assertEquals(1, served);
            } finally {
                for (RawHttp other : others) {
                    other.close();
                }
            }
        }
    }

    @Test
    void requestThatWaitsTooLongIsToldSo() throws Exception {
        listen(new VerbThreads.Limits(1, 1, 1, 9, 50));
        try (RawHttp slow = new RawHttp(socket)) {
            slow.send(RawHttp.post("VolumeDriver.Create", SLOW));
            while (!volumes.slowHasBegun.await(1, TimeUnit.SECONDS)) {
                // The machine was so busy that this request waited too long.
                slow.answer();
                slow.send(RawHttp.post("VolumeDriver.Create", SLOW));
            }
            assertTrue(answer("VolumeDriver.Remove", OTHER).contains("too much to do"));
            volumes.slowMayEnd.countDown();
            assertEquals("{\"Err\":\"\"}", slow.answer().body().strip());
        }
    }
}
