package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** {@code jnvdocker gpu …}: what users see of leases and can do about them. */
@Tag("docker")
@Tag("root")
@Attack(
        by = "any user",
        what =
                "writes another user's number into `/proc/self/loginuid`, which was unset, or"
                        + " sets `SUDO_UID`",
        result =
                "the user is the peer's uid: no GPUs `with=` another's container, no release,"
                        + " and no limit of another is used up")
@Attack(
        by = "a member",
        what = "releases their own running container by force",
        result = "refused; the GPU stays HELD")
@Attack(
        by = "members",
        what = "create containers all the time while root uninstalls",
        result =
                "uninstalled at the first attempt: leases stop first, then creations under way"
                        + " are awaited; nothing is left")
class GpuCommandsTest {
    /** Alice and Bob are in the socket's group, and in no other. */
    private static final int ALICE = 23456;

    private static final int BOB = 23457;

    private static TestEngine engine;
    private static DriverRoot host;
    private static TestDaemon daemon;
    private static String group;

    @BeforeAll
    static void makeWorld() {
        engine = new TestEngine();
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(engine, host);
        engine.image("plain");
        startDaemon();
        group = Command.of("stat", "-c", "%g", daemon.socket()).run().ok().out().strip();
        // Users need access to the directories of the programs and sockets.
        Command.of("cp", "-a", Project.tree().resolve("bin/jnvdocker"), client()).run().ok();
        Command.of("chmod", "755", client().getParent(), engine.socket().getParent()).run().ok();
    }

    @AfterAll
    static void removeWorld() {
        daemon.close();
        engine.close();
        host.close();
    }

    @BeforeEach
    void startFreshDaemon() {
        startDaemon();
    }

    private static void startDaemon() {
        jnvdocker("gpu", "ls").ok();
    }

    @AfterEach
    void removeContainers() {
        engine.removeContainers();
        await(() ->
                gpus().findValuesAsText("state").equals(List.of("free", "free", "free", "free")));
    }

    private static Path client() {
        return daemon.socket().getParent().resolveSibling("jnvdocker");
    }

    private static Command.Result jnvdocker(Object... arguments) {
        return daemon.jnvdocker(arguments).run();
    }

    /** A command typed by a user who has logged in. */
    private static Command as(int user, Object... arguments) {
        return withLogin(user, user, arguments);
    }

    /**
     * @param login the login uid of the process, which the process may have written itself
     */
    private static Command withLogin(int login, int user, Object... arguments) {
        String script =
                "{ echo $1 > /proc/self/loginuid; } 2> /dev/null; gid=$2; shift 2;"
                        + " exec setpriv --reuid=$0 --regid=$gid --clear-groups \"$@\"";
        List<Object> words = new ArrayList<>(List.of("bash", "-c", script));
        words.addAll(List.of(user, login, group, client()));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray()).with(daemon.environment());
    }

    /** Without a login, a process may write any number into its own login uid. */
    @Test
    void loginUidGivesNoUserTheRightsOfAnother() {
        as(61_001, "run", "-d", "--name=hers", "--gpus=1", "plain", "sleep", "1000").run().ok();
        Command.Result stolen =
                withLogin(61_001, 61_002, "gpu", "run", "--gpus=with=hers", "true").run();
        assertEquals(125, stolen.exitCode(), stolen::toString);
        withLogin(61_001, 61_002, "run", "-d", "--name=his", "--gpus=1", "plain", "sleep", "1000")
                .run()
                .ok();
        List<String> users = gpus().findValuesAsText("user");
        assertTrue(users.contains("uid 61002"), users::toString);
        for (Command taken :
                List.of(
                        withLogin(61_001, 61_002, "gpu", "extend", "hers", "1h"),
                        withLogin(
                                61_001,
                                61_002,
                                "gpu",
                                "release",
                                "hers",
                                "--force",
                                "--reason=x"))) {
            Command.Result refused = taken.run();
            assertEquals(125, refused.exitCode(), refused::toString);
        }
    }

    @Test
    void bookingAtAnImpossibleTimeIsRefusedInOneLine() {
        for (String from : List.of("25:00", "foo", "2020-01-01 09:00")) {
            Command.Result booked = jnvdocker("gpu", "book", "1", "--from", from, "--for", "1h");
            assertEquals(2, booked.exitCode(), booked::toString);
            assertTrue(booked.err().startsWith("jnvdocker: --from: '"), booked::toString);
            assertEquals(1, booked.err().strip().lines().count(), booked::toString);
            assertFalse(booked.err().contains("\tat "), booked::toString);
        }
    }

    /** Leases of other users are for root alone. */
    @Test
    void refusalsAreListedForTheirUser() {
        as(61_001, "run", "-d", "--name=all", "--gpus=all", "plain", "sleep", "1000").run().ok();
        as(61_002, "run", "--rm", "--gpus=1", "plain", "true").run();
        String line = "container of image plain +1 GPU requested, but none is free: ";
        assertMatches("(?s).*\\b61002 +" + line + ".*", jnvdocker("gpu", "refusals").ok().out());
        assertMatches(
                "(?s).*\\b61002 +" + line + ".*", as(61_002, "gpu", "refusals").run().ok().out());
        assertFalse(as(61_001, "gpu", "refusals").run().ok().out().contains("61002"));
    }

    /** Returns once the registry knows the container's name. */
    private static void run(Command jnvdocker, String name) {
        jnvdocker.run().ok();
        await(() -> jnvdocker("gpu", "leases").ok().out().contains("   " + name + "   "));
    }

    private static void run(String name, String gpus) {
        run(daemon.jnvdocker(container("run", name, gpus)), name);
    }

    private static Object[] container(String verb, String name, String gpus) {
        List<Object> words = new ArrayList<>(List.of(verb));
        if (verb.equals("run")) {
            words.add("-d");
        }
        words.addAll(List.of("--name", name, "--stop-signal", "KILL", "--gpus", gpus));
        words.addAll(List.of("plain", "sleep", "1000"));
        return words.toArray();
    }

    private static void stop(String name, int gpu) {
        engine.docker("stop", name).run().ok();
        await(() -> gpus().path(gpu).path("state").asText().equals("free"));
    }

    private static JsonNode gpus() {
        return json("gpu", "ls", "--json");
    }

    private static JsonNode json(Object... arguments) {
        return jnvdocker(arguments).json();
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not become so");
            LockSupport.parkNanos(20_000_000);
        }
    }

    private static void assertRefused(String message, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertEquals("jnvdocker: " + message + "\n", result.err());
    }

    private static Matcher assertMatches(String pattern, String text) {
        Matcher matcher = Pattern.compile(pattern, Pattern.MULTILINE).matcher(text);
        assertTrue(matcher.find(), text);
        return matcher;
    }

    @Test
    void lsShowsWhatRunsAndNeitherWhatWasCreatedNorWhatWasStopped() {
        run("train-7", "\"device=0,1\"");
        jnvdocker(container("create", "later", "device=2")).ok();
        run("done", "device=3");
        stop("done", 3);
        String out = jnvdocker("gpu", "ls").ok().out();
        assertMatches("^0 +GPU-5c1a0000 +A100-SXM4-40GB +HELD +\\S+ +train-7 +\\d+[sm]$", out);
        assertMatches("^1 +GPU-5c1a1003 +A100-SXM4-40GB +HELD +\\S+ +train-7 +\\d+[sm]$", out);
        assertMatches("^2 +GPU-5c1a2006 +A100-SXM4-40GB +FREE +- +- +\\S.*$", out);
        assertMatches("^3 +GPU-5c1a3009 +A100-SXM4-40GB +FREE +- +- +idle \\d+[sm]$", out);
        assertTrue(out.lines().allMatch(line -> line.length() <= 100), out);
    }

    @Test
    void pausedContainerIsShownAsPausedUntilItGoesOn() {
        run("train-7", "device=1");
        engine.docker("pause", "train-7").run().ok();
        await(() -> gpus().path(1).path("note").asText().equals("paused"));
        assertMatches(
                "^What keeps it: .* runs, and is paused until its engine lets it go on .*$",
                jnvdocker("gpu", "why", "1").ok().out());
        engine.docker("unpause", "train-7").run().ok();
        await(() -> !gpus().path(1).path("note").asText().equals("paused"));
    }

    @Test
    void jsonHasAllOfIt() {
        run("train-7", "device=1");
        JsonNode gpu = gpus().path(1);
        assertEquals("GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901", gpu.path("uuid").asText());
        assertEquals("held", gpu.path("state").asText());
        assertEquals("train-7", gpu.path("container_name").asText());
        assertEquals(
                engine.docker("inspect", "-f", "{{.Id}} {{.State.Pid}}", "train-7")
                        .run()
                        .ok()
                        .out()
                        .strip(),
                gpu.path("container_id").asText() + " " + gpu.path("pid").asText());
        JsonNode lease = json("gpu", "leases", "--json").path(0);
        assertEquals(gpu.path("lease"), lease.path("lease"));
        assertEquals(gpu.path("claim"), lease.path("claim"));
        assertEquals(gpu.path("uuid"), lease.path("gpus").path(0).path("uuid"));
    }

    @Test
    void whySaysWhoHasItWhatKeepsItAndWhoHadItBefore() {
        run("before", "device=1");
        stop("before", 1);
        String free = jnvdocker("gpu", "why", "GPU-5c1a1003").ok().out();
        assertMatches(
                "^GPU 1 \\(GPU-5c1a1003\\), NVIDIA A100-SXM4-40GB, is free, idle since ", free);
        assertMatches("^It was last held by \\S+'s container before\\.$", free);
        run("train-7", "device=1");
        JsonNode gpu = gpus().path(1);
        String held = jnvdocker("gpu", "why", gpu.path("pci_address").asText()).ok().out();
        assertMatches("is held by \\S+'s container train-7 since ", held);
        assertMatches(
                "^Container "
                        + gpu.path("container_id").asText().substring(0, 12)
                        + " of image plain, under claim "
                        + gpu.path("claim").asText()
                        + "\\.$",
                held);
        assertMatches("\\(pid " + gpu.path("pid").asText() + "\\) runs\\.$", held);
        assertMatches("^\\d+ .* before .* ENDED .*\\(pid \\d+\\) is gone$", held);
        JsonNode why = json("gpu", "why", "1", "--json");
        assertEquals("train-7", why.path("container_name").asText());
        assertEquals("before", why.path("past_leases").path(0).path("container_name").asText());
        assertRefused(
                "invalid device: 9; this host has 0-3 ('jnvdocker gpu ls' shows their" + " UUIDs)",
                jnvdocker("gpu", "why", "9"));
    }

    @Test
    void leasesOfThePastAreShownWithTheirEvidence() {
        run("first", "device=0");
        stop("first", 0);
        run("second", "device=0");
        assertFalse(jnvdocker("gpu", "leases").ok().out().contains("first"));
        String all = jnvdocker("gpu", "leases", "--all").ok().out();
        assertMatches("^\\d+ +[0-9a-f]{12} +\\S+ +second +0 +HELD .* - +-$", all);
        // Docker may unmount it before its first process is known.
        assertMatches(
                "^\\d+ +[0-9a-f]{12} +\\S+ +first +0 +ENDED .*( its first process .* is gone|"
                        + " docker has unmounted it, and nothing of it runs)$",
                all);
        assertEquals(3, jnvdocker("gpu", "leases", "--all", "-n", "1").ok().out().lines().count());
        assertEquals(2, jnvdocker("gpu", "leases", "-n", "1").exitCode());
        assertEquals(2, jnvdocker("gpu", "leases", "--all", "-n", "-1").exitCode());
    }

    @Test
    void releaseNeedsEvidence() {
        run("train-7", "device=0");
        String claim = gpus().path(0).path("claim").asText();
        for (String name : List.of(claim, claim.substring(0, 6), "train-7")) {
            Command.Result result = as(BOB, "gpu", "release", name).run();
            assertEquals(125, result.exitCode(), result::toString);
            assertMatches(
                    "^jnvdocker: root's container train-7 is not released: its process \\(pid"
                            + " \\d+\\) runs; stop the container$",
                    result.err());
        }
        stop("train-7", 0);
        assertRefused(
                "no claim or container 'train-7' holds a GPU; none does ('jnvdocker gpu leases')",
                jnvdocker("gpu", "release", "train-7"));
    }

    @Test
    void whyNamesTheCommandThatFreesItToItsUserAndRoot() {
        run(as(ALICE, container("run", "train-7", "device=0")), "train-7");
        for (Command command :
                List.of(daemon.jnvdocker("gpu", "why", "0"), as(ALICE, "gpu", "why", "0"))) {
            String why = command.run().ok().out();
            assertTrue(why.contains("To free it: docker stop train-7;"), why);
        }
        String why = as(BOB, "gpu", "why", "0").run().ok().out();
        assertTrue(why.contains("To get it: contact uid 23456, or wait for it: "), why);
        assertFalse(why.contains("docker stop"), why);
    }

    @Test
    void keptAndBookedGpusAreGivenBackByTheirUserAndRootAlone() {
        // A program keeps nothing: else the GPUs of other tests' containers would be kept.
        jnvdocker("gpu", "run", "--gpus=all", "true").ok();
        run(as(ALICE, container("run", "train-7", "device=0")), "train-7");
        configure("hold_after_stop = '10m'\nbookings = 'end'\n");
        try {
            giveBack();
        } finally {
            configure("");
        }
    }

    private static void giveBack() {
        engine.docker("rm", "-f", "train-7").run().ok();
        String number =
                as(ALICE, "gpu", "book", "device=1", "--for=1h")
                        .run()
                        .ok()
                        .out()
                        .replaceAll("(?s)booking (\\d+).*", "$1");
        await(() -> gpus().path(0).path("note").asText().contains("train-7 has stopped"));
        assertRefused(
                "the GPUs of train-7 are kept for uid 23456; only uid 23456 and root may give them"
                        + " back; contact one of them",
                as(BOB, "gpu", "release", "train-7").run());
        assertRefused(
                "booking "
                        + number
                        + " is uid 23456's; only uid 23456 and root may cancel it; contact one of"
                        + " them",
                as(BOB, "gpu", "book", "--cancel", number).run());
        assertRefused(
                "only root may book GPUs for another user: sudo jnvdocker gpu book 1 --for 1h"
                        + " --for-user 23456",
                as(BOB, "gpu", "book", "1", "--for", "1h", "--for-user", "23456").run());
        assertRefused(
                "nobody but root may book GPUs for longer than 7d (max_booking); book them for less"
                        + " time",
                as(BOB, "gpu", "book", "1", "--for", "8d").run());
        Command.Result incomplete = as(BOB, "gpu", "book", "--from", "18:00").run();
        assertEquals(2, incomplete.exitCode(), incomplete::toString);
        assertEquals(
                "jnvdocker: say which GPUs to book, as in 'gpu book 2 --for 8h'; see 'jnvdocker gpu"
                        + " book --help'\n",
                incomplete.err());
        for (Command as : asBobWithAlicesLogin(number)) {
            Command.Result refused = as.run();
            assertEquals(125, refused.exitCode(), refused::toString);
            assertTrue(refused.err().contains(" uid 23456"), refused::toString);
        }
        as(ALICE, "gpu", "release", "train-7").run().ok();
        as(ALICE, "gpu", "book", "--cancel", number).run().ok();
        for (int gpu : new int[] {0, 1}) {
            as(BOB, "gpu", "run", "--gpus", "device=" + gpu, "--", "true").run().ok();
        }
    }

    private static List<Command> asBobWithAlicesLogin(String booking) {
        return List.of(
                withLogin(ALICE, BOB, "gpu", "release", "train-7"),
                withLogin(ALICE, BOB, "gpu", "book", "--cancel", booking),
                withLogin(ALICE, BOB, "gpu", "run", "--gpus=device=0", "true"),
                withLogin(ALICE, BOB, "gpu", "run", "--gpus=device=1", "true"));
    }

    private static void configure(String toml) {
        daemon.config(toml);
        jnvdocker("gpu", "reload").ok();
    }

    @Test
    void forcedReleaseIsWrittenDownWithWhoAndWhy() {
        run(as(ALICE, container("run", "train-7", "device=0")), "train-7");
        assertRefused(
                "claim "
                        + gpus().path(0).path("claim").asText()
                        + " is uid 23456's; only uid 23456 and root may release it by force;"
                        + " contact one of them",
                as(BOB, "gpu", "release", "train-7", "--force", "--reason", "mine").run());
        assertEquals("held", gpus().path(0).path("state").asText());
        Command.Result own =
                as(ALICE, "gpu", "release", "train-7", "--force", "--reason", "hangs").run();
        assertEquals(125, own.exitCode(), own::toString);
        assertMatches(
                "^jnvdocker: uid 23456's container train-7 is not released: its process \\(pid"
                        + " \\d+\\) runs, and could go on to use what another would get; stop the"
                        + " container; root can still release it$",
                own.err());
        assertEquals("held", gpus().path(0).path("state").asText());
        Command.Result forced =
                jnvdocker("gpu", "release", "train-7", "--force", "--reason", "it\u001b[2J hangs");
        assertMatches(
                "^jnvdocker: warning: its process \\(pid \\d+\\) runs, and can use its GPUs as"
                        + " before, though others get it now; stop the container$",
                forced.ok().err());
        assertEquals("free", gpus().path(0).path("state").asText());
        assertMatches(
                " train-7 .* released by force: root \\(uid 0\\): it\\\\u\\{1b}\\[2J hangs$",
                jnvdocker("gpu", "leases", "--all").ok().out());
        run("next", "device=0");
        jnvdocker("gpu", "release", "next", "--force", "--reason", "to see").ok();
        assertMatches(
                " next .* released by force: .*: to see$",
                jnvdocker("gpu", "leases", "--all").ok().out());
    }

    @Test
    void forceAndReasonGoTogether() {
        run("train-7", "device=0");
        assertEquals(2, jnvdocker("gpu", "release", "train-7", "--force").exitCode());
        assertEquals(2, jnvdocker("gpu", "release", "train-7", "--reason", "x").exitCode());
        assertEquals(
                2,
                jnvdocker("gpu", "release", "train-7", "--force", "--reason", "x".repeat(81))
                        .exitCode());
        assertEquals("held", gpus().path(0).path("state").asText());
    }

    /** What an engine's runtime sends; the client of a person prints the answer. */
    @ParameterizedTest
    @ValueSource(strings = {"create", "create id bundle pid root {} {} {}", "exec", "hook", "wait"})
    void callsOfOurRuntimeAreNotToBeTyped(String words) {
        List<Object> typed = new ArrayList<>(List.of("runtime"));
        typed.addAll(List.of(words.split(" ")));
        String refusal =
                typed.size() == 9
                        ? "only an engine that runs as root can start containers with GPUs: "
                        : "'runtime create', 'exec', 'hook' and 'wait' are for programs of"
                                + " jnvdocker's alone; see 'jnvdocker runtime --help' for the"
                                + " commands\n";
        Command.Result result = as(BOB, typed.toArray()).run();
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: " + refusal), result::toString);
    }

    @Test
    void gpusOfAContainerAreExplainedOrWhyItHasNone() {
        run("train-7", "device=0-1");
        String why = jnvdocker("gpu", "why", "train-7").ok().out();
        assertMatches(
                "(?s)GPU 0 \\(GPU-5c1a0000\\), .* is held by \\S+'s container train-7 since"
                        + " .*together with GPU 1.*",
                why);
        String id =
                engine.docker("inspect", "--format={{.Id}}", "train-7")
                        .run()
                        .ok()
                        .out()
                        .substring(0, 9);
        assertEquals(
                why.replaceAll("\\(\\d+s\\)", ""),
                jnvdocker("gpu", "why", id).ok().out().replaceAll("\\(\\d+s\\)", ""));
        assertMatches(
                "(?s)GPU 2 .* is free.*\n\nGPU 3 .* is free.*",
                jnvdocker("gpu", "why", "2-3").ok().out());
        engine.docker("kill", "train-7").run().ok();
        await(() -> gpus().path(0).path("state").asText().equals("free"));
        run("train-8", "device=1");
        assertMatches(
                "(?s)Container train-7 has no GPU now: it does not run.\n"
                        + "When it is started, it gets GPU 0 \\(GPU-5c1a0000\\), GPU 1"
                        + " \\(GPU-5c1a1003\\), or is refused if another has one of them:\n"
                        + "GPU 0 .* is free.*\n"
                        + "GPU 1 .* is held by .*train-8 since .*\n"
                        + "To get other GPUs: remove the container and run it again.\n\n"
                        + "LEASE .* train-7 .*",
                jnvdocker("gpu", "why", "train-7").ok().out());
        assertRefused(
                "no GPU, and no container that has had one, is called 'foo'; 'jnvdocker gpu leases"
                        + " --all' shows those that have had GPUs",
                jnvdocker("gpu", "why", "foo"));
    }

    @Test
    void uninstallIsForRoot() {
        assertRefused(
                "only root may uninstall jnvdocker: sudo jnvdocker gpu uninstall",
                as(BOB, "gpu", "uninstall").run());
    }

    @Test
    void pruneIsForRoot() {
        assertRefused(
                "only root may prune volumes: sudo jnvdocker gpu prune --dry-run",
                as(BOB, "gpu", "prune", "--dry-run").run());
    }

    @Test
    void cordonsAreForRoot() {
        assertRefused(
                "only root may cordon a GPU: sudo jnvdocker gpu cordon 1 3 --reason"
                        + " 'it'\\''s loud; $(id)'",
                as(BOB, "gpu", "cordon", "1", "3", "--reason", "it's loud; $(id)").run());
        assertRefused(
                "only root may uncordon a GPU: sudo jnvdocker gpu uncordon 1",
                as(BOB, "gpu", "uncordon", "1").run());
        assertEquals(2, jnvdocker("gpu", "cordon").exitCode());
        assertEquals(2, jnvdocker("gpu", "cordon", "1", "--reason", "x".repeat(81)).exitCode());
        assertRefused(
                "invalid device: 4; this host has 0-3 ('jnvdocker gpu ls' shows their" + " UUIDs)",
                jnvdocker("gpu", "cordon", "1", "4"));
        assertEquals("free", gpus().path(1).path("state").asText());
    }

    @Test
    void everybodyMaySeeTheHistory() {
        run(as(ALICE, container("run", "train-7", "device=0")), "train-7");
        String history = as(BOB, "gpu", "history", "--user", "23456").run().ok().out();
        assertMatches("^uid 23456 +0\\.\\d\\d +\\S+ +\\S+ +\\d+ +\\d+ +1 +now$", history);
    }

    @Test
    void uninstallNamesTheContainersInItsWay() {
        run("train-7", "device=0");
        jnvdocker(container("create", "later", "device=1")).ok();
        assertInTheWay(
                "train-7", "docker stop train-7 && docker rm train-7", "--remove-containers");
        assertInTheWay("train-7, later", "docker stop train-7 && docker rm train-7 later");
        stop("train-7", 0);
        for (String volume : volumes()) {
            assertEquals(1, engine.docker("volume", "rm", "-f", volume).run().exitCode(), volume);
        }
        assertInTheWay("train-7, later", "docker rm train-7 later");
        // Everything is as before; Docker removes a container with --rm itself.
        jnvdocker(
                        "run",
                        "-d",
                        "--rm",
                        "--name=next",
                        "--stop-signal=KILL",
                        "--gpus=device=2",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        assertInTheWay("train-7, later, next", "docker stop next && docker rm train-7 later");
        engine.docker("start", "later").run().ok();
    }

    private static void assertInTheWay(String containers, String remedy, String... options) {
        List<Object> words = new ArrayList<>(List.of("gpu", "uninstall"));
        words.addAll(List.of(options));
        Command.Result result = jnvdocker(words.toArray());
        assertEquals(125, result.exitCode(), result::toString);
        List<String> lines = result.err().lines().toList();
        assertEquals(3, lines.size(), result::toString);
        assertEquals(words(containers), words(lines.get(1).replaceAll(".*jnvdocker: |:$", "")));
        assertEquals(words(remedy), words(lines.get(2)));
    }

    /** In whatever order the engine lists them. */
    private static List<String> words(String text) {
        return Stream.of(text.strip().split("[ ,]+")).sorted().toList();
    }

    @Test
    void uninstalledItLeavesNothingThatTheEngineWaitsFor() throws IOException {
        losesARemoval();
        run("train-7", "device=0");
        stop("train-7", 0);
        jnvdocker(container("create", "later", "none")).ok();
        List<String> volumes = volumes();
        assertEquals(2, volumes.size(), volumes::toString);
        Command.Result result = jnvdocker("gpu", "uninstall", "--remove-containers").ok();
        assertTrue(
                result.out()
                        .startsWith(
                                "removed the containers later, train-7\nremoved the volumes "
                                        + String.join(", ", volumes)
                                        + "\n"),
                result::toString);
        await(() -> daemon.pid().isEmpty());
        assertFalse(Files.exists(daemon.pluginSocket()));
        assertFalse(
                Files.exists(daemon.state().resolve("volumes/nvidia_driver/" + host.version())));
        assertEquals(0, entries(daemon.state().resolve("claims")));
        int known = engineLog().length();
        engine.restart();
        assertEquals(List.of(), volumes());
        engine.docker("run", "--rm", "-v", "data:/data", "plain", "true").run().ok();
        String said = engineLog().substring(known);
        assertFalse(said.contains("nvidia-docker"), said);
        // It can be installed again.
        startDaemon();
        run("train-8", "device=0");
    }

    /** As if the daemon had ended before the engine knew that it had removed a volume. */
    private static void losesARemoval() {
        run("gone", "device=0");
        stop("gone", 0);
        daemon.stop();
        engine.docker("rm", "gone").run().ok();
        new Registry(daemon).change("UPDATE claim SET forgotten = 1 WHERE name = 'gone'");
        Directories.remove(daemon.state().resolve("claims"));
        startDaemon();
    }

    @Test
    void uninstalledWhileTheEngineRunsItCanBeHadAgain() {
        jnvdocker(container("run", "train-7", "device=0")).ok();
        engine.docker("rm", "-f", "train-7").run().ok();
        await(() -> jnvdocker("gpu", "uninstall").exitCode() == 0);
        await(() -> daemon.pid().isEmpty());
        startDaemon();
        run("train-8", "device=0");
    }

    /** Some container is being created at every moment, with a GPU or with the driver alone. */
    @Test
    void nothingSlipsThroughWhileItIsUninstalled() throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        List<Thread> users =
                Stream.generate(() -> Thread.startVirtualThread(() -> createUntilTheEnd(over)))
                        .limit(4)
                        .toList();
        try {
            await(() -> containers().size() >= 4);
            jnvdocker("gpu", "uninstall", "--remove-containers").ok();
        } finally {
            over.set(true);
            for (Thread user : users) {
                user.join();
            }
        }
        await(() -> daemon.pid().isEmpty());
        startDaemon();
        // A new daemon has just created its own volume again.
        await(() -> volumes().equals(List.of("nvidia_driver_" + host.version())));
        assertEquals(List.of(), containers());
    }

    private static void createUntilTheEnd(AtomicBoolean over) {
        String end = "an administrator can start it";
        while (!over.get()
                && !as(ALICE, "create", "--gpus", "1", "plain").run().err().contains(end)
                && !as(ALICE, "create", "--gpus", "none", "plain").run().err().contains(end)) {}
    }

    private static List<String> containers() {
        return engine.docker("ps", "-aq").run().ok().out().lines().toList();
    }

    @Test
    void withoutAnEngineNothingIsUninstalled() {
        engine.stop();
        try {
            Command.Result result = jnvdocker("gpu", "uninstall");
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(
                    result.err()
                            .startsWith(
                                    "jnvdocker: the Docker engine at "
                                            + engine.socket()
                                            + " does not answer"),
                    result::toString);
            assertTrue(result.err().contains("; start it: systemctl start docker"));
        } finally {
            engine.start();
        }
        assertEquals("", jnvdocker("gpu", "ls").ok().err());
    }

    private static List<String> volumes() {
        return engine.docker("volume", "ls", "-q", "-f", "driver=nvidia-docker")
                .run()
                .ok()
                .out()
                .lines()
                .toList();
    }

    private static String engineLog() throws IOException {
        return Files.readString(engine.socket().resolveSibling("log"));
    }

    private static long entries(Path directory) throws IOException {
        try (var entries = Files.list(directory)) {
            return entries.count();
        }
    }
}
