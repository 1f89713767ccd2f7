package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Clients of Docker's API that get it from {@code jnvdockerd --proxy}, as a user. */
class ProxyTest extends OneEngineTest {
    private static final String CONFIG = "[runtime]\ntrust_owner = ['label']\n";

    private static final int USER = 61001;
    private static final String GROUP = "nogroup";

    private static Path directory;
    private static RuntimeInstallation runtime;
    private static Process proxy;

    @BeforeAll
    static void openProxy() {
        directory = Directories.make("proxy");
        lab.daemon().with("JNVDOCKER_PROXY_SOCKET", socket()).stop();
        runtime = RuntimeInstallation.of(lab);
        Command.of("chmod", "755", directory).run().ok();
        proxy = proxy(socket());
        lab.configure(CONFIG);
    }

    @AfterAll
    static void closeProxy() throws InterruptedException {
        proxy.destroy();
        assertEquals(0, proxy.waitFor());
        assertFalse(Files.exists(socket()));
        runtime.close();
        Directories.remove(directory);
    }

    private static Process proxy(Path socket) {
        Process started =
                lab.daemon()
                        .jnvdockerd("--proxy")
                        .with("JNVDOCKER_PROXY_SOCKET", socket)
                        .with("JNVDOCKER_PROXY_GROUP", GROUP)
                        .log(directory.resolve("log"))
                        .start();
        Lab.await(() -> Files.exists(socket) ? List.of() : List.of(socket + " is missing"));
        return started;
    }

    private static Path socket() {
        return directory.resolve("docker.sock");
    }

    private static Command of(Command command) {
        return command.with("DOCKER_HOST", "unix://" + socket())
                .with("DOCKER_CONFIG", directory.resolve("none"))
                .with("DOCKER_BUILDKIT", 0)
                .with("TMPDIR", "/tmp")
                .with("HOME", "/");
    }

    private static Command docker(Object... words) {
        return of(lab.engine().docker(words)).as(USER, GROUP);
    }

    private static String run(Object... words) {
        return docker(words).run().ok().out();
    }

    /** A user may not read root's directories. */
    private static Path compose() throws IOException {
        Path compose = directory.resolve("docker-compose");
        return Files.exists(compose) ? compose : Files.copy(Client.COMPOSE_2.program(), compose);
    }

    /** How many descriptors the proxy has open: two for each connection, and others. */
    private static long descriptors() {
        try (Stream<Path> open = Files.list(Path.of("/proc/" + proxy.pid() + "/fd"))) {
            return open.count();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void commandsDoWhatTheyDoWithoutIt() throws IOException {
        Instant begun = Instant.now();
        assertEquals("out\n", run("run", "--rm", "plain", "echo", "out"));
        Command.Result failed = docker("run", "--rm", "plain", "sh", "-c", "cat; exit 3").run();
        assertEquals(3, failed.exitCode(), failed::toString);
        String input = "to the container\n".repeat(100_000);
        assertEquals(
                input, docker("run", "--rm", "-i", "plain", "cat").input(input).run().ok().out());
        run("run", "-d", "--name", "one", "plain", "sh", "-c", "echo begun; sleep 3; echo ended");
        assertEquals("begun\nended\n", run("logs", "-f", "one"));
        assertEquals("0\n", run("wait", "one"));
        run("run", "-d", "--name", "two", "--stop-signal=KILL", "plain", "sleep", "1000");
        assertEquals("of exec\n", run("exec", "two", "echo", "of exec"));
        assertEquals(input, docker("exec", "-i", "two", "cat").input(input).run().ok().out());
        Path file = Files.writeString(directory.resolve("file"), input);
        run("cp", file, "two:/file");
        assertEquals(input, run("exec", "two", "cat", "/file"));
        assertTrue(run("cp", "two:/file", "-").contains(input));
        assertTrue(run("ps", "--format", "{{.Names}}").contains("two"));
        run("rm", "-f", "one", "two");
        String events =
                run(
                        "events",
                        "--since",
                        begun.getEpochSecond(),
                        "--until",
                        Instant.now().getEpochSecond() + 1,
                        "--format",
                        "{{.Action}} {{.Actor.Attributes.name}}");
        assertTrue(events.contains("destroy two\n"), events);
    }

    @Test
    void imagesAreBuilt() {
        Command.Result built =
                docker("build", "--network", "none", "-t", "built", "-")
                        .input("FROM plain\nRUN echo made > /file\n")
                        .run();
        assertTrue(built.ok().out().contains("Successfully built"), built::toString);
        assertEquals("made\n", run("run", "--rm", "built", "cat", "/file"));
    }

    /** Its user is known to the daemon, by the client. */
    @Test
    void jnvdockerRunUsesItAsAnEngine() {
        Command.Result result =
                of(lab.as(
                                USER,
                                "run",
                                "-d",
                                "--name=ours",
                                "--network=none",
                                "--gpus=device=2",
                                "plain",
                                "sleep",
                                9))
                        .run();
        assertEquals("", result.ok().err());
        awaitHolders(Map.of(2, "ours"));
        assertEquals(USER, lab.lease("ours").path("uid").asInt());
        assertEquals("nvidia", lab.inspect("ours", "{{.HostConfig.Runtime}}"));
    }

    /** Its UUID is what programs learn of a GPU, unless the engine may be anybody's. */
    @Test
    void engineBehindItIsKnownByEachOfItsNames() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("link"), socket());
        String[] runtimes = {"runc", "nvidia"};
        for (int gpu = 0; gpu < 2; gpu++) {
            Command run =
                    of(
                            lab.as(
                                    USER,
                                    "run",
                                    "--rm",
                                    "--network=none",
                                    "--runtime=" + runtimes[gpu],
                                    "--gpus=device=" + gpu,
                                    "plain",
                                    "sh",
                                    "-c",
                                    "echo $NVIDIA_VISIBLE_DEVICES; ls /dev | grep nvidia[0-9]"));
            String seen = run.with("DOCKER_HOST", "unix://" + link).run().ok().out();
            // An engine that is not the daemon's own would get void.
            String variable = gpu == 0 ? "" : "GPU-5c1a[0-9a-f-]+";
            assertTrue(seen.matches(variable + "\nnvidia" + gpu + "\n"), seen);
        }
        String found = lab.jnvdocker("gpu", "leases", "--all", "--json").ok().out();
        assertFalse(found.contains("unix://"), found);
    }

    /** Whatever the container's own labels are. */
    @Test
    void ownerIsWhoeverIsConnected() throws IOException {
        String owner = "{{index .Config.Labels \"jnvdocker.owner\"}}";
        run(
                "run",
                "-d",
                "--name=train",
                "--runtime=nvidia",
                "--stop-signal=KILL",
                "--label=jnvdocker.gpus=1",
                "--label=jnvdocker.owner=root",
                "plain",
                "sleep",
                "1000");
        assertEquals("uid:61001", lab.inspect("train", owner));
        Lab.await(
                () -> lab.registry().liveOf("train").isPresent() ? List.of() : List.of("no lease"));
        assertEquals(USER, lab.lease("train").path("uid").asInt(), lab.lease("train")::toString);
        run("create", "--name=none", "plain");
        assertEquals("uid:61001", lab.inspect("none", owner));
        lab.docker("create", "--name=root", "plain").ok();
        assertEquals("", lab.inspect("root", owner));
        Path file =
                Files.writeString(
                        directory.resolve("compose.yml"),
                        """
                        services:
                          composed: {image: plain, command: sleep 1000, network_mode: none}
                        """);
        of(Command.of(compose(), "-p", "p", "-f", file, "up", "-d")).as(USER, GROUP).run().ok();
        assertEquals("uid:61001", lab.inspect("p-composed-1", owner));
    }

    @Test
    void doctorNamesItsFaults() throws IOException {
        assertEquals(List.of("ok: users have Docker's API at " + socket()), findings());
        lab.configure(CONFIG.replace("trust_owner", "#trust_owner"));
        chgrp("root");
        assertEquals(
                List.of(
                        "hint: only root may open "
                                + socket()
                                + "; start jnvdockerd --proxy with JNVDOCKER_PROXY_GROUP=GROUP",
                        "hint: the owners that "
                                + socket()
                                + " names count as guesses; add \"label\" to trust_owner in the"
                                + " table [runtime] of the configuration"),
                findings());
        chgrp(GROUP);
        lab.configure(CONFIG);
        Path aside = Files.move(socket(), directory.resolve("aside"));
        assertTrue(findings().getFirst().startsWith("ok: Docker's API for users is not served"));
        Files.createFile(socket());
        String wrong = findings().getFirst();
        Files.move(aside, socket(), StandardCopyOption.REPLACE_EXISTING);
        assertTrue(wrong.startsWith("wrong: Docker's API for users fails: "), wrong);
        assertTrue(wrong.endsWith("; start jnvdockerd --proxy again; its log says why it ended"));
    }

    private static void chgrp(String group) {
        Command.of("chgrp", group, socket()).run().ok();
    }

    private static List<String> findings() {
        String report = lab.jnvdocker("gpu", "doctor", "--json").out();
        assertFalse(report.contains("gives out this host's GPUs, too"), report);
        return DoctorTest.findings(
                DoctorTest.report(lab.jnvdocker("gpu", "doctor", "--json")), "proxy");
    }

    @Test
    void streamOutlivesTheDaemon() throws IOException {
        Process stream = docker("run", "--rm", "-i", "plain", "cat").start();
        try (Writer in = stream.outputWriter();
                var out = stream.inputReader()) {
            in.write("one\n");
            in.flush();
            assertEquals("one", out.readLine());
            lab.daemon().stop();
            in.write("two\n");
            in.flush();
            assertEquals("two", out.readLine());
        }
    }

    /** As after a mistake in the configuration and a reboot. */
    @Test
    void containersThatRequestNoGpuStartWithoutTheDaemon() {
        Object[] web = {"--runtime=nvidia", "--stop-signal=KILL", "plain", "sleep", "1000"};
        run(
                with(
                        "run -d --name=web --restart=always"
                                + " --label=com.docker.compose.project=nvidia",
                        web));
        run(with("run -d --name=own --restart=always --label=jnvdocker.owner=root", web));
        run(with("create --name=later --label=jnvdocker.wait=30m -e JNVDOCKER_HOST=a", web));
        lab.daemon().config("no key\n");
        lab.daemon().kill();
        lab.engine().restart();
        for (String name : List.of("web", "own")) {
            Lab.await(() -> {
                String state = lab.inspect(name, "{{.State.Status}} {{.State.Error}}").strip();
                return state.equals("running") ? List.of() : List.of(name + " is " + state);
            });
        }
        run("start", "later");
        run(with("run --rm --name=now --network=none", "--runtime=nvidia", "plain", "true"));
        run(with("run --rm -e NVIDIA_VISIBLE_DEVICES=void", "--runtime=nvidia", "plain", "true"));
        Command.Result refused = docker(with("run --rm --label=jnvdocker.gpus=1", web)).run();
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("no jnvdockerd answers at "), refused::toString);
        lab.daemon().config(CONFIG);
    }

    private static Object[] with(String words, Object... more) {
        return Stream.concat(Stream.of(words.split(" ")), Stream.of(more)).toArray();
    }

    /** Else each client that is interrupted would leave a reader in the engine. */
    @Test
    void engineNoticesThatAClientIsGone() throws IOException {
        run("run", "-d", "--name", "one", "--stop-signal=KILL", "plain", "sleep", "1000");
        run("ps");
        long before = descriptors();
        List<Process> clients =
                List.of(
                        docker("logs", "-f", "one").start(),
                        docker("events").start(),
                        docker("wait", "one").start());
        Lab.await(() -> descriptors() >= before + 6 ? List.of() : List.of("nothing is followed"));
        clients.forEach(Process::destroyForcibly);
        Lab.await(() -> descriptors() <= before ? List.of() : List.of("connections are open"));
    }

    /** The words of {@code docker run} for a container whose start waits for GPU 0. */
    private static Object[] waiting(String verb, String name, String time, Object... options) {
        List<Object> words = new ArrayList<>(List.of(verb, "--name", name, "--runtime=nvidia"));
        words.addAll(List.of("--stop-signal=KILL", "--label=jnvdocker.gpus=device=0"));
        words.add("--label=jnvdocker.wait=" + time);
        words.addAll(Arrays.asList(options));
        return words.toArray();
    }

    /** A client that has a container started, which waits. */
    private static Process waitingClient(String name, Object... options) {
        long before = lab.registry().tickets();
        Process client =
                docker(waiting("run", name, "30m", options))
                        .log(directory.resolve(name + ".log"))
                        .start();
        awaitWaiting(before + 1);
        return client;
    }

    private static void awaitWaiting(long clients) {
        Lab.await(() -> {
            long now = lab.registry().tickets();
            return now == clients ? List.of() : List.of(now + " clients wait, not " + clients);
        });
    }

    private static void awaitHolders(Map<Integer, String> holders) {
        Lab.await(() -> {
            Map<Integer, String> now = lab.registry().holders();
            return now.equals(holders) ? List.of() : List.of(now + " instead of " + holders);
        });
    }

    private static void assertServed(Process client, String name) throws Exception {
        assertTrue(client.waitFor(1, TimeUnit.MINUTES), "the client still runs");
        Path log = directory.resolve(name + ".log");
        assertEquals(0, client.exitValue(), () -> read(log));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Even one that would be removed if its start failed. */
    @Test
    void startWaitsForItsGpusInItsOwnersName() throws Exception {
        lab.run("train", 0);
        Process next = waitingClient("next", "--rm", "plain", "echo", "served");
        String queue = lab.jnvdocker("gpu", "queue").ok().out();
        assertTrue(queue.contains("GPU 0     container next"), queue);
        assertTrue(queue.contains(" 61001 "), queue);
        lab.docker("rm", "-f", "train").ok();
        assertServed(next, "next");
        // Docker's client may print warnings of the engine's above.
        String log = read(directory.resolve("next.log"));
        assertTrue(log.endsWith("served\n"), log);
        awaitHolders(Map.of());
    }

    /** Whichever way they wait. */
    @Test
    void waitingStartsAreServedInOrder() throws Exception {
        lab.run("train", 0);
        Process first = waitingClient("first", "-d", "plain", "sleep", "1000");
        Path log = directory.resolve("second.log");
        Process second =
                lab.as(
                                USER,
                                "run",
                                "-d",
                                "--name=second",
                                "--stop-signal=KILL",
                                "--gpus=device=0",
                                "--gpu-wait",
                                "plain",
                                "sleep",
                                "1000")
                        .log(log)
                        .start();
        awaitWaiting(2);
        Process third = waitingClient("third", "-d", "plain", "sleep", "1000");
        lab.docker("rm", "-f", "train").ok();
        assertServed(first, "first");
        awaitHolders(Map.of(0, "first"));
        awaitWaiting(2);
        lab.docker("rm", "-f", "first").ok();
        assertServed(second, "second");
        awaitHolders(Map.of(0, "second"));
        lab.docker("rm", "-f", "second").ok();
        assertServed(third, "third");
        awaitHolders(Map.of(0, "third"));
        assertEquals(USER, lab.lease("third").path("uid").asInt());
    }

    @Test
    void waitEndsWithItsClientAndWithItsContainer() throws Exception {
        lab.run("train", 0);
        Process gone = waitingClient("gone", "plain", "true");
        gone.destroyForcibly();
        awaitWaiting(0);
        // The end of that client is no reason for the next start.
        String refused = lab.docker("start", "gone").err();
        assertTrue(refused.contains("jnvdocker: GPU 0 (GPU-5c1a0000) is held by root"), refused);
        Lab.assertRefused(
                "jnvdocker: GPU 0 .* is held by root's container train since .*; start it again"
                        + " later, wait with the label jnvdocker.wait, or .*",
                docker(
                        "run",
                        "--rm",
                        "--runtime=nvidia",
                        "--network=none",
                        "--label=jnvdocker.gpus=device=0",
                        "plain",
                        "true"));
        run(waiting("create", "removed", "30m", "plain", "true"));
        Path log = directory.resolve("removed.log");
        Process start = docker("start", "removed").log(log).start();
        awaitWaiting(1);
        run("rm", "removed");
        assertTrue(start.waitFor(1, TimeUnit.MINUTES), "the client still runs");
        assertTrue(read(log).contains("No such container: "), read(log));
        awaitWaiting(0);
        lab.docker("rm", "-f", "train").ok();
        // Nothing is kept for those that are gone.
        run(waiting("run", "next", "0", "--rm", "plain", "true"));
        assertEquals("created\n", run("inspect", "-f", "{{.State.Status}}", "gone"));
    }

    /** Not one that has its name meanwhile. */
    @Test
    void renamedContainerIsServed() throws Exception {
        lab.run("train", 0);
        run(waiting("create", "old", "30m", "plain", "sleep", "1000"));
        Process start = docker("start", "old").log(directory.resolve("old.log")).start();
        awaitWaiting(1);
        run("rename", "old", "new");
        run(waiting("create", "old", "0", "plain", "sleep", "1000"));
        lab.docker("rm", "-f", "train").ok();
        assertServed(start, "old");
        awaitHolders(Map.of(0, "new"));
        assertEquals("created\n", run("inspect", "-f", "{{.State.Status}}", "old"));
    }

    @Test
    void waitEndsWithTheProxy() throws Exception {
        lab.run("train", 0);
        Path other = directory.resolve("other.sock");
        Process killed = proxy(other);
        run(waiting("create", "next", "30m", "plain", "true"));
        Process client =
                docker("start", "next")
                        .with("DOCKER_HOST", "unix://" + other)
                        .log(directory.resolve("next.log"))
                        .start();
        awaitWaiting(1);
        killed.destroyForcibly().waitFor();
        awaitWaiting(0);
        assertTrue(client.waitFor(1, TimeUnit.MINUTES), "the client still runs");
        assertEquals("created\n", run("inspect", "-f", "{{.State.Status}}", "next"));
    }

    /** As long as its time lasts, and in the place that the client had. */
    @Test
    void waitOutlivesTheDaemon() throws Exception {
        lab.run("train", 0);
        Process next = waitingClient("next", "-d", "plain", "sleep", "1000");
        lab.daemon().kill();
        lab.startDaemon();
        Lab.assertRefused(
                "GPU 0 .* is held by .*train",
                docker(waiting("run", "hasty", "0", "--rm", "plain", "true")));
        awaitWaiting(1);
        lab.docker("rm", "-f", "train").ok();
        assertServed(next, "next");
        awaitHolders(Map.of(0, "next"));
    }

    /** The restart ends the container that has the GPU, before the engine answers again. */
    @Test
    void waitOutlivesTheEngine() throws Exception {
        lab.run("train", 0);
        Process next = waitingClient("next", "-d", "plain", "sleep", "1000");
        lab.engine().restart();
        assertTrue(next.waitFor(1, TimeUnit.MINUTES), "the client still runs");
        awaitHolders(Map.of(0, "next"));
        awaitWaiting(0);
    }

    /** What the engine would refuse after the wait it refuses before. */
    @Test
    void startWhoseNetworkOrContainerIsGoneDoesNotWait() {
        lab.run("train", 0);
        run("run", "-d", "--name=web", "--stop-signal=KILL", "plain", "sleep", "1000");
        Map<String, String> needs =
                Map.of(
                        "--network=gone", "network gone not found",
                        "--network=container:web", "No such container",
                        "--pid=container:web", "No such container");
        needs.forEach((option, why) -> {
            run(
                    "create",
                    "--name=late" + why.length() + option.length(),
                    "--runtime=nvidia",
                    "--label=jnvdocker.gpus=device=0",
                    "--label=jnvdocker.wait=20s",
                    option,
                    "plain",
                    "true");
        });
        lab.docker("rm", "-f", "web").ok();
        needs.forEach((option, why) -> {
            Command.Result refused = docker("start", "late" + why.length() + option.length()).run();
            assertEquals(1, refused.exitCode(), refused::toString);
            assertTrue(refused.err().contains(why), refused::toString);
        });
    }

    @Test
    void startIsRefusedWhenItsTimeIsOver() {
        lab.run("train", 0);
        Lab.assertRefused(
                "Error response from daemon: .*jnvdocker: gave up after 1s: GPU 0 .* is held by"
                        + " root's container train since .*; wait longer with the label"
                        + " jnvdocker.wait",
                docker(waiting("run", "late", "1s", "plain", "true")));
        // Without the proxy nobody waits.
        Lab.assertRefused(
                "jnvdocker: GPU 0 .* is held by root's container train since .*; start it at"
                        + " /.*/docker.sock, where its label jnvdocker.wait counts",
                lab.engine().docker(waiting("run", "direct", "1s", "plain", "true")));
        lab.docker("rm", "-f", "train", "late", "direct").ok();
        String malformed =
                "the label jnvdocker.wait: 'soon' is not a duration; write one as in 90s";
        Command[] both = {
            docker(waiting("run", "soon", "soon", "--rm", "plain", "true")),
            lab.engine().docker(waiting("run", "soon", "soon", "--rm", "plain", "true"))
        };
        for (Command each : both) {
            Lab.assertRefused(malformed, each);
        }
        run("run", "--rm", "--runtime=nvidia", "--label=jnvdocker.wait=soon", "plain", "true");
    }

    @Test
    void composeWaits() throws Exception {
        lab.run("train", 0);
        Path file =
                Files.writeString(
                        directory.resolve("waiting.yml"),
                        """
                        services:
                          train:
                            image: plain
                            command: sleep 1000
                            network_mode: none
                            runtime: nvidia
                            labels: {jnvdocker.wait: 30m}
                            deploy: {resources: {reservations: {devices: [{device_ids: ['0'], capabilities: [gpu]}]}}}
                        """);
        Process up =
                of(Command.of(compose(), "-p", "w", "-f", file, "up", "-d"))
                        .as(USER, GROUP)
                        .log(directory.resolve("up.log"))
                        .start();
        awaitWaiting(1);
        lab.docker("rm", "-f", "train").ok();
        assertServed(up, "up");
        awaitHolders(Map.of(0, "w-train-1"));
    }
}
