package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RecordingEngine;
import jnvdocker.tests.world.RuntimeProgram;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The daemon with the heap that it is shipped with, against containers whose makers describe them
 * at great length, or give them up. A member of the group {@code docker} can make such containers.
 */
@Attack(
        by = "a member",
        what =
                "starts three containers with 370,000 labels or variables at once, or has ten"
                        + " created",
        result =
                "the daemon lives with the heap that it is shipped with; labels that nobody reads"
                    + " are skipped, and a `config.json` or an inspected container that is too long"
                    + " is refused alone; so are a volume with 10,000 options and a Mesos container"
                    + " with 50,000 variables")
@Attack(
        by = "a member",
        what = "gives up creations that are being answered, a thousand times",
        result = "one line of the log for each, without a stack trace")
class HostileContainersTest extends OneHostTest {
    private static final int MANY = 370_000;

    /** Of so many variables a {@code config.json} is read. */
    private static final int MOST = 225_000;

    private static final String ID = "0d1f".repeat(16);
    private static final String HOST = "{\"Runtime\":\"nvidia\"}";
    private static final String WITH_GPU =
            "{\"DeviceRequests\":[{\"Driver\":\"nvidia\",\"Count\":1,\"Capabilities\":[[\"gpu\"]]}]}";

    private RecordingEngine engine;
    private TestDaemon daemon;

    @BeforeEach
    void open() {
        engine = new RecordingEngine();
        daemon =
                new TestDaemon(host)
                        .with("JNVDOCKER_DOCKER_SOCKET", engine.socket())
                        .with("DOCKER_HOST", engine.url());
    }

    @AfterEach
    void close() {
        daemon.close();
        engine.close();
    }

    private static String many(String prefix, String separator, String suffix) {
        return many(MANY, prefix, separator, suffix);
    }

    private static String many(int count, String prefix, String separator, String suffix) {
        return IntStream.range(0, count)
                .mapToObj(i -> prefix + Integer.toHexString(i) + suffix)
                .collect(Collectors.joining(separator));
    }

    private static String labels() {
        return "{\"jnvdocker.claim\":\"x\"," + many("\"", ",", "\":\"\"") + "}";
    }

    private static String config(String environment) {
        return "{\"ociVersion\":\"1.0.2\",\"process\":{\"args\":[\"true\"],\"env\":["
                + environment
                + "]},\"root\":{\"path\":\"/var/lib/docker/overlay2/x/merged\"},\"mounts\":[],"
                + "\"linux\":{\"resources\":{\"devices\":[]}}}";
    }

    private static String container(String labels) {
        return "{\"ID\":\""
                + ID
                + "\",\"Name\":\"/long\",\"Config\":{\"Image\":\"plain\",\"Labels\":"
                + labels
                + "}}";
    }

    /** What our runtime sends when an engine creates a container. */
    private static byte[] request(String config, String container, String host) {
        return RuntimeProgram.request(
                "runtime", "create", ID, "/bundle", "", "/run/runc", config, container, host);
    }

    private SocketChannel connect() throws IOException {
        return SocketChannel.open(UnixDomainSocketAddress.of(daemon.socket()));
    }

    /** The whole answer. */
    private String create(String config, String container) throws IOException {
        return create(config, container, HOST);
    }

    private String create(String config, String container, String host) throws IOException {
        try (SocketChannel channel = connect()) {
            try {
                Channels.newOutputStream(channel).write(request(config, container, host));
            } catch (IOException e) {
                // The daemon has refused it before it had come whole.
            }
            return new String(
                    Channels.newInputStream(channel).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private List<String> createAtOnce(String config, String container, int count) throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Callable<String> one = () -> create(config, container);
            List<String> answers = new ArrayList<>();
            for (Future<String> each :
                    threads.invokeAll(IntStream.range(0, count).mapToObj(_ -> one).toList())) {
                answers.add(each.get());
            }
            return answers;
        }
    }

    private long start() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        return daemon.pid().orElseThrow();
    }

    private void assertAlive(long pid) {
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(pid, daemon.pid().orElseThrow());
        assertFalse(log().contains("OutOfMemory"), this::log);
    }

    private String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void creationsWithManyLabelsAreAnswered() throws Exception {
        long pid = start();
        for (String answer : createAtOnce(config(""), container(labels()), 3)) {
            assertFalse(answer.isEmpty());
        }
        assertAlive(pid);
    }

    /** All of them are in the text that is sent back to the runtime. */
    @Test
    void creationsWithManyVariablesAreRefusedAlone() throws Exception {
        long pid = start();
        String many = config(many("\"", ",", "=\""));
        for (String answer : createAtOnce(many, container("{}"), 3)) {
            assertTrue(answer.startsWith("F"), answer);
        }
        assertTrue(create(config(""), container("{}")).endsWith("T\0\0\0\4\0\0\0\0"));
        assertAlive(pid);
    }

    /** Docker's own file about each has them once more. */
    @Test
    void creationsWithAsManyVariablesAsAreReadAreAnswered() throws Exception {
        long pid = start();
        String variables = many(MOST, "\"", ",", "=\"");
        String container =
                "{\"ID\":\""
                        + ID
                        + "\",\"Name\":\"/long\",\"Config\":{\"Env\":["
                        + variables
                        + "]}}";
        for (String answer : createAtOnce(config(variables), container, 3)) {
            assertFalse(answer.isEmpty());
        }
        String answer = create(config(variables), container("{}"));
        assertTrue(answer.endsWith("T\0\0\0\4\0\0\0\0"), answer);
        assertAlive(pid);
    }

    /** In a variable, which an image may set, too. */
    @Test
    void creationWithALongListOfChannelsIsAnswered() throws Exception {
        long pid = start();
        String channels = "\"NVIDIA_IMEX_CHANNELS=" + "7,".repeat(900_000) + "\"";
        String answer = create(config(channels), container("{}"), WITH_GPU);
        assertTrue(answer.contains("nvidia-uvm"), () -> answer.substring(0, 1000));
        assertAlive(pid);
    }

    /** Docker's list of containers. */
    private static String list(int count) {
        return IntStream.range(0, count)
                .mapToObj(i ->
                        "{\"Id\":\""
                                + i
                                + "\",\"Names\":[\"/a\"],\"Labels\":"
                                + labels()
                                + ",\"State\":\"created\"}")
                .collect(Collectors.joining(",", "[", "]"));
    }

    private void awaitFollowed() {
        Lab.await(() ->
                log().contains("following the engine")
                        ? List.of()
                        : List.of("the containers are not compared yet: " + log()));
    }

    /** A hundred megabytes. */
    @Test
    void createdContainersWithManyLabelsAreListed() throws Exception {
        engine.lists(list(25));
        long pid = start();
        awaitFollowed();
        assertAlive(pid);
    }

    @Test
    void abandonedCreationIsOneLineOfTheLog() throws Exception {
        start();
        for (int i = 0; i < 3; i++) {
            try (SocketChannel channel = connect()) {
                Channels.newOutputStream(channel)
                        .write(request(config(""), container("{}"), WITH_GPU));
            }
            int count = i + 1;
            Lab.await(() ->
                    log().split("container 0d1f\\S+ is not created", -1).length > count
                            ? List.of()
                            : List.of("it is not given up: " + log()));
        }
        assertFalse(log().contains("\tat "), this::log);
    }
}
