package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DockerProxy;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Users' engines other than the daemon's get no GPUs, and all else. */
@Attack(
        by = "an engine that does not call our plugin",
        what =
                "a proxy before the user alone; one before the daemon that drops volumes,"
                        + " devices or our runtime; another host's engine",
        result = "refused; nothing runs, nothing is leased and nothing is left")
class OtherEngineTest extends OneEngineTest {
    private static final String NOT_OURS = "is not the one that jnvdocker gives GPUs to";

    private static Command.Result run(String url, Object... options) {
        List<Object> words = new ArrayList<>(List.of("run", "-d"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "sleep", "1000"));
        return lab.daemon().jnvdocker(words.toArray()).with("DOCKER_HOST", url).run();
    }

    private static void assertRefused(Command.Result result, String... parts) {
        assertEquals(125, result.exitCode(), result::toString);
        for (String part : parts) {
            assertTrue(result.err().contains(part), result::toString);
        }
        assertEquals("", lab.docker("ps", "-aq").ok().out());
        assertEquals(Map.of(), lab.registry().holders());
    }

    /** The daemon's engine is behind it, but who can tell what else is? */
    @Test
    void engineBehindAProxyIsAnother() {
        try (DockerProxy proxy = new DockerProxy(lab.engine().socket())) {
            assertRefused(run(proxy.url(), "--gpus=device=1"), proxy.url(), NOT_OURS);
            String plain = run(proxy.url(), "--rm").ok().out().strip();
            assertEquals(plain, lab.docker("ps", "-q", "--no-trunc").ok().out().strip());
        }
    }

    @Test
    void linkToTheSocketOfTheDaemonsEngineIsNoOtherEngine() throws IOException {
        Path directory = Directories.make("same");
        try {
            Path socket = lab.engine().socket();
            Path link = Files.createSymbolicLink(directory.resolve("link"), socket);
            Path around =
                    socket.getParent().resolve("..").resolve(socket.getParent().getFileName());
            run("unix://" + link, "--name=c0", "--gpus=device=0").ok();
            run("unix://" + around.resolve(socket.getFileName()), "--name=c1", "--gpus=device=1")
                    .ok();
            lab.awaitHolders(Map.of(0, "c0", 1, "c1"));
        } finally {
            Directories.remove(directory);
        }
    }

    /** The daemon's own engine is behind it. */
    @ParameterizedTest
    @ValueSource(strings = {"Mounts", "Devices"})
    void proxyBeforeTheDaemonIsRefusedLikewise(String dropped) {
        try (DockerProxy proxy = new DockerProxy(lab.engine().socket(), dropped)) {
            assertRefusedBeforeTheDaemon(proxy);
        } finally {
            putDaemonBehind(lab.engine().socket());
        }
    }

    @Test
    void proxyBeforeTheDaemonThatDropsOurRuntimeIsRefusedLikewise() {
        try (DockerProxy proxy = new DockerProxy(lab.engine().socket(), "Runtime");
                RuntimeInstallation runtime = RuntimeInstallation.planned(lab)) {
            runtime.install("--no-default").ok();
            lab.engine().reload();
            assertRefusedBeforeTheDaemon(proxy);
            lab.jnvdocker("runtime", "uninstall").ok();
        } finally {
            putDaemonBehind(lab.engine().socket());
            lab.engine().reload();
        }
    }

    private static void assertRefusedBeforeTheDaemon(DockerProxy proxy) {
        putDaemonBehind(proxy.socket());
        for (int attempt = 1; attempt <= 2; attempt++) {
            assertRefused(run(proxy.url(), "--gpus=device=1"), proxy.url(), "leaves out");
        }
        String plain = run(proxy.url()).ok().out().strip();
        assertEquals(plain, lab.docker("ps", "-q", "--no-trunc").ok().out().strip());
    }

    private static void putDaemonBehind(Path socket) {
        lab.daemon().stop();
        lab.daemon().with("JNVDOCKER_DOCKER_SOCKET", socket);
        lab.startDaemon();
    }

    /** Among containers with the name of the check's, only the daemon's own is removed. */
    @Test
    void usersContainerWithTheNameOfTheCheckStays() {
        for (boolean ours : List.of(false, true)) {
            String label = "--label=" + (ours ? "jnvdocker.check=" : "team=vision");
            lab.docker("create", "--name=jnvdocker-check-1", label, "plain", "true").ok();
            putDaemonBehind(lab.engine().socket());
            lab.run("one", 1);
            String left = lab.docker("ps", "-a", "--format={{.Names}}").ok().out();
            assertEquals(
                    ours ? List.of("one") : List.of("jnvdocker-check-1", "one"),
                    left.lines().sorted().toList());
            lab.clear();
        }
    }

    /** Docker follows each of them, and so do we: none is taken for the daemon's own engine. */
    @Test
    void everyWayToNameAnEngineLeadsToIt() throws IOException {
        Path directory = Directories.make("named");
        try (DockerProxy proxy = new DockerProxy(lab.engine().socket(), "Mounts")) {
            Path link = Files.createSymbolicLink(directory.resolve("link"), proxy.socket());
            Path relative = Path.of("/").relativize(lab.engine().socket());
            Files.createDirectories(directory.resolve(relative).getParent());
            Files.createSymbolicLink(directory.resolve(relative), proxy.socket());
            Path config = Files.createDirectory(directory.resolve("config"));
            lab.engine()
                    .docker("context", "create", "other", "--docker", "host=" + proxy.url())
                    .with("DOCKER_CONFIG", config)
                    .run()
                    .ok();
            Path spelled = config.resolve("config.json");
            Files.writeString(spelled, "{\"CURRENTcontext\": \"other\"}");
            for (Command command :
                    List.of(
                            jnvdocker("-H", proxy.url()),
                            jnvdocker("--context=other").with("DOCKER_CONFIG", config),
                            jnvdocker("--config=" + config).with("DOCKER_HOST", ""),
                            jnvdocker()
                                    .with("DOCKER_HOST", "")
                                    .with("DOCKER_CONTEXT", "other")
                                    .with("DOCKER_CONFIG", config),
                            jnvdocker().with("DOCKER_HOST", "").with("DOCKER_CONFIG", config),
                            jnvdocker().with("DOCKER_HOST", "unix://" + link),
                            jnvdocker().with("DOCKER_HOST", "unix://" + relative).in(directory),
                            jnvdocker().with("NV_DOCKER", "docker -H " + proxy.url()),
                            jnvdocker()
                                    .with(
                                            "NV_DOCKER",
                                            "env DOCKER_HOST=" + proxy.url() + " docker"))) {
                assertRefused(command.run(), NOT_OURS);
            }
        } finally {
            Directories.remove(directory);
        }
    }

    private static Command jnvdocker(Object... globals) {
        List<Object> words = new ArrayList<>(Arrays.asList(globals));
        words.addAll(List.of("run", "-d", "--gpus=device=1", "plain", "sleep", "1000"));
        return lab.daemon().jnvdocker(words.toArray());
    }

    @Test
    void socketWithoutAnEngineIsRefused() throws IOException {
        Path directory = Directories.make("none");
        Path socket = directory.resolve("docker.sock");
        String url = "unix://" + socket;
        assertRefused(run(url, "--gpus=1"), url, NOT_OURS);
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
            Thread garbage =
                    Thread.ofVirtual()
                            .start(() -> {
                                try {
                                    while (true) {
                                        SocketChannel client = server.accept();
                                        client.write(ByteBuffer.wrap("x\n".getBytes(UTF_8)));
                                        client.close();
                                    }
                                } catch (IOException e) {
                                    // The test is over.
                                }
                            });
            assertRefused(run(url, "--gpus=1"), url, NOT_OURS);
            assertTrue(garbage.isAlive());
        } finally {
            Directories.remove(directory);
        }
    }

    /** As through a socket that ssh forwards. */
    @Test
    void anotherEngineIsRefusedGpusAndNothingElse() {
        try (TestEngine other = new TestEngine(TestEngine.Release.DEBIAN_STABLE)) {
            other.image("plain", "--small");
            assertRefused(run(other.url(), "--gpus=1"), other.url(), NOT_OURS);
            assertEquals("", other.docker("ps", "-aq").run().ok().out());
            assertEquals("", other.docker("volume", "ls", "-q").run().ok().out());
            String plain = run(other.url(), "--network=none").ok().out().strip();
            assertEquals(plain, other.docker("ps", "-q", "--no-trunc").run().ok().out().strip());
        }
    }
}
