package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The lab's rules: cordons, quotas, and the longest wait. */
class PolicyTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;

    /** A user whom Debian has, with a group of that name. */
    private static final int GAMES = 5;

    private static Path directory;

    @BeforeAll
    static void makeDirectory() {
        directory = Directories.make("policy");
    }

    @AfterAll
    static void removeDirectory() {
        Directories.remove(directory);
    }

    @AfterEach
    void noPolicyIsLeft() {
        configure("");
        lab.jnvdocker("gpu", "uncordon", "0", "1", "2", "3").ok();
    }

    private static void configure(String toml) {
        lab.configure(toml);
    }

    private static String file() {
        return lab.daemon().environment().get("JNVDOCKER_CONFIG");
    }

    /** A command typed by a user who has become root by sudo. */
    private static Command as(int user, Object... arguments) {
        return lab.as(user, arguments);
    }

    private static Command.Result run(int user, String gpus) {
        return as(user, "run", "--rm", "--gpus", gpus, "plain", "true").run();
    }

    private static void hold(int user, String name, String gpus) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--stop-signal", "KILL"));
        words.addAll(List.of("--name", name, "--gpus", gpus, "plain", "sleep", "1000"));
        as(user, words.toArray()).run().ok();
    }

    private static void assertRefused(String pattern, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        Lab.assertMatches("jnvdocker: " + pattern + "\n", result.err());
    }

    private static List<String> states() {
        return lab.jnvdocker("gpu", "ls")
                .ok()
                .out()
                .lines()
                .skip(1)
                .map(line -> line.split("   +")[3])
                .toList();
    }

    @Test
    void aCordonedGpuGetsNoNewContainerUntilItIsUncordoned() {
        assertEquals(
                "cordoned GPU 1 (GPU-5c1a1003), GPU 2 (GPU-5c1a2006)\n",
                lab.jnvdocker("gpu", "cordon", "1", "2", "--reason", "fan is loud").ok().out());
        // One without a reason takes none away.
        lab.jnvdocker("gpu", "cordon", "1").ok();
        assertEquals(List.of("FREE", "CORDONED", "CORDONED", "FREE"), states());
        assertRefused(
                "GPU 1 \\(GPU-5c1a1003\\) is cordoned by root since \\d\\d:\\d\\d \\(fan is"
                        + " loud\\); take another \\(free: 0,3\\), or contact an administrator",
                run(ALICE, "device=1"));
        assertRefused(
                "3 GPUs requested, but only 2 GPUs are in service: GPUs 1,2 are cordoned by root"
                        + " since \\d\\d:\\d\\d \\(fan is loud\\); request fewer .*",
                run(ALICE, "3"));
        Command.Result all = lab.jnvdocker("run", "--rm", "--gpus", "all", "plain", "ls", "/dev");
        assertTrue(all.ok().out().contains("nvidia0\n"), all::toString);
        assertTrue(!all.out().contains("nvidia1\n"), all::toString);
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("is cordoned by root since"), why);
        assertTrue(why.contains("To return it to service: jnvdocker gpu uncordon 1\n"), why);

        assertEquals(
                "uncordoned GPU 1 (GPU-5c1a1003)\nnot cordoned: GPU 0 (GPU-5c1a0000)\n",
                lab.jnvdocker("gpu", "uncordon", "0", "1").ok().out());
        run(ALICE, "device=1").ok();
    }

    @Test
    void whoHasACordonedGpuKeepsItThroughARestartAndNotThroughAStop() {
        hold(ALICE, "train", "device=1");
        lab.awaitHolders(Map.of(1, "train"));
        lab.jnvdocker("gpu", "cordon", "1").ok();
        assertEquals(List.of("FREE", "HELD", "FREE", "FREE"), states());
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("gets no new container after this one"), why);
        lab.docker("restart", "train").ok();
        lab.awaitHolders(Map.of(1, "train"));

        lab.docker("stop", "train").ok();
        lab.awaitHolders(Map.of());
        Command.Result start = lab.docker("start", "train");
        assertTrue(
                start.err().contains("GPU 1 (GPU-5c1a1003) is cordoned by root since")
                        && start.err()
                                .contains(
                                        "; start this container again when the cordon is lifted"
                                                + ", or remove the container and run it again"
                                                + " to get other GPUs\n"),
                start::toString);
        lab.jnvdocker("gpu", "uncordon", "GPU-5c1a1003").ok();
        lab.docker("start", "train").ok();
    }

    @Test
    void cordonOutlastsTheDaemon() {
        lab.jnvdocker("gpu", "cordon", "0f:00.0").ok();
        lab.daemon().kill();
        lab.startDaemon();
        assertEquals(List.of("FREE", "CORDONED", "FREE", "FREE"), states());
    }

    @Test
    void theConfigurationCordonsAndNoCommandTakesThatBack() {
        configure("cordon = [0, 'GPU-5c1a3009']\n");
        assertEquals(List.of("CORDONED", "FREE", "FREE", "CORDONED"), states());
        assertRefused(
                "GPU 0 \\(GPU-5c1a0000\\) is cordoned in the configuration; take another \\(free:"
                        + " 1,2\\), or contact an administrator",
                run(ALICE, "device=0"));
        assertRefused(
                "GPU 3 \\(GPU-5c1a3009\\) is cordoned in the configuration; take it out of cordon"
                        + " in the configuration, then run 'jnvdocker gpu reload'",
                lab.jnvdocker("gpu", "uncordon", "3"));
    }

    @Test
    void nobodyHasMoreGpusThanTheirQuota() {
        configure("limits.'*'.gpus = 2\n");
        assertRefused(
                "3 GPUs requested, but each user may have 2 at a time \\(limits\\.\\*\\.gpus\\);"
                        + " request fewer",
                run(ALICE, "3"));
        hold(ALICE, "train", "device=1");
        run(ALICE, "1").ok();
        assertRefused(
                "uid 61001 has 1 of the 2 GPUs that each user may have \\(limits\\.\\*\\.gpus\\):"
                        + " container train holds GPU 1; wait with --gpu-wait, stop one, or request"
                        + " fewer",
                run(ALICE, "2"));
        run(BOB, "2").ok();
        hold(ALICE, "infer", "1");
        Command.Result another = run(ALICE, "1");
        assertTrue(another.err().endsWith("wait with --gpu-wait, or stop one\n"));
    }

    @Test
    void ofEachLimitTheFirstLineThatFitsAUserCounts() {
        configure(
                """
                [limits]
                61001 = { gpus = 1, allowed = ["1-2"] }
                "@games" = { gpus = 2 }
                "*" = { gpus = 3, max_wait = "1h", idle_stop = "2h" }
                """);
        assertRefused(
                "2 GPUs requested, but 61001 may have 1 at a time \\(limits.61001.gpus\\); request"
                        + " fewer",
                run(ALICE, "2"));
        assertRefused(
                "1 GPU requested, but 61001 may have only GPUs 1,2 \\(limits.61001.allowed\\);"
                        + " request these, or contact an administrator",
                run(ALICE, "device=0"));
        run(ALICE, "device=2").ok();
        run(BOB, "3").ok();
        run(GAMES, "2").ok();
        assertRefused(
                "3 GPUs requested, but each member of games may have 2 at a time"
                        + " \\(limits.@games.gpus\\); request fewer",
                run(GAMES, "3"));
        assertRefused("4 GPUs requested, but each user may have 3 .*", run(BOB, "4"));
        hold(ALICE, "train", "1");
        lab.awaitHolders(Map.of(1, "train"));
        Lab.assertMatches(
                "LIMIT +MAX +USED +UNTIL +RULE\n"
                        + "gpus +1 +1 +- +limits.61001.gpus in .*:2\n"
                        + "max_wait +1h +- +- +limits.\\*.max_wait in .*:4\n"
                        + "idle_stop +2h +- +- +limits.\\*.idle_stop in .*:4\n"
                        + "allowed +1,2 +- +- +limits.61001.allowed in .*:2\n",
                as(ALICE, "gpu", "limits").run().ok().out());
        String games = lab.jnvdocker("gpu", "limits", "games", "--json").ok().out();
        assertTrue(games.contains("limits.@games.gpus in"), games);
        assertRefused(
                "this host knows no user 'nobody-there'; give a user's name or uid",
                lab.jnvdocker("gpu", "limits", "nobody-there"));
    }

    @Test
    void groupThatTheHostLacksIsNamed() {
        configure("[limits]\n'@games' = { gpus = 2 }\n'@proffs' = { gpus = 4 }\n");
        assertEquals(
                "jnvdocker: warning: this host has no group proffs; its limits count for nobody\n",
                lab.jnvdocker("gpu", "reload").ok().err());
    }

    @Test
    void startOfAnOldContainerIsHeldToTheLimitsOfToday() {
        hold(ALICE, "old", "\"device=0,1\"");
        lab.docker("stop", "old").ok();
        lab.awaitHolders(Map.of());
        configure("[limits]\n61001 = { allowed = ['1', '3'] }\n");
        Command.Result start = lab.docker("start", "old");
        assertTrue(
                start.err()
                        .contains(
                                "this container has GPU 0 (GPU-5c1a0000), GPU 1 (GPU-5c1a1003), and"
                                    + " 61001 may have only GPUs 1,3 (limits.61001.allowed); remove"
                                    + " the container and run it again to get one of these"),
                start::toString);
        configure("[limits]\n61001 = { gpus = 1 }\n");
        start = lab.docker("start", "old");
        assertTrue(
                start.err().contains("this container has 2 GPUs, and 61001 may have 1 at a time"),
                start::toString);
        configure("[limits]\n'@games' = { gpus = 1 }\n");
        lab.docker("start", "old").ok();
        lab.awaitHolders(Map.of(0, "old", 1, "old"));
    }

    /** On a shared host, most images would request more GPUs than are free. */
    @Test
    void imageWhoseUserRequestsNothingIsRefusedInItsOwnWords() {
        lab.engine().image("cuda", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
        hold(BOB, "train", "device=0");
        assertRefused(
                "without --gpus this image gets all 4 GPUs, and GPU 0 \\(GPU-5c1a0000\\) is held by"
                        + " uid 61002's container train since \\d\\d:\\d\\d; try --gpus 1 \\(free:"
                        + " 1-3\\)",
                as(ALICE, "run", "--rm", "cuda", "true").run());
        as(ALICE, "run", "--rm", "--gpus", "1", "cuda", "true").run().ok();
        assertRefused(
                "all GPUs requested, but GPU 0 .*",
                as(ALICE, "run", "--rm", "cuda", "true").with("NV_GPU", "all").run());
        configure("limits.'*'.gpus = 2\n");
        assertRefused(
                "without --gpus this image gets all 4 GPUs, and each user may have 2 at a time"
                        + " \\(limits\\.\\*\\.gpus\\); try --gpus 1",
                as(ALICE, "run", "--rm", "cuda", "true").run());
        configure("default_gpus = \"4\"\n");
        assertRefused(
                "without --gpus this image gets 4 GPUs, and only GPUs 1-3 are free: GPU 0 .* since"
                        + " \\d\\d:\\d\\d; try --gpus 1 \\(free: 1-3\\)",
                as(ALICE, "run", "--rm", "cuda", "true").run());
    }

    @Test
    void startOfAnOldContainerCountsTowardsTheQuota() {
        hold(ALICE, "old", "device=0");
        lab.docker("stop", "old").ok();
        lab.awaitHolders(Map.of());
        configure("limits.'*'.gpus = 2\n");
        hold(ALICE, "train", "\"device=1,2\"");
        lab.awaitHolders(Map.of(1, "train", 2, "train"));
        Command.Result start = lab.docker("start", "old");
        assertTrue(
                start.err()
                        .contains(
                                "uid 61001 has 2 of the 2 GPUs that each user may have"
                                        + " (limits.*.gpus): container train holds GPUs 1,2"),
                start::toString);
        lab.docker("restart", "train").ok();
        lab.awaitHolders(Map.of(1, "train", 2, "train"));
        lab.docker("stop", "train").ok();
        lab.awaitHolders(Map.of());
        lab.docker("start", "old").ok();
        lab.awaitHolders(Map.of(0, "old"));
    }

    @Test
    void nobodyWaitsLongerThanTheLabAllows() throws IOException {
        configure("limits.'*'.max_wait = '1m'\n");
        hold(ALICE, "train", "device=1");
        Command.Result longer =
                as(BOB, "run", "--gpus", "device=1", "--gpu-wait=2m", "plain", "true").run();
        assertRefused(
                "nobody may wait for GPUs longer than 1m \\(limits\\.\\*\\.max_wait\\); give"
                        + " --gpu-wait a shorter time, or none",
                longer);
        Path said = directory.resolve("wait");
        Process waiting =
                as(BOB, "run", "--rm", "--gpus", "device=1", "--gpu-wait", "plain", "true")
                        .log(said)
                        .start();
        Lab.await(() -> says(said, "next in the queue, for 1m at most (limits.*.max_wait); GPU 1"));
        waiting.destroy();
    }

    @Test
    void reloadIsFollowedByWhoeverWaits() throws Exception {
        configure("limits.'*'.gpus = 1\n");
        hold(ALICE, "train", "device=0");
        Path said = directory.resolve("reload");
        Process waiting =
                as(ALICE, "run", "--rm", "--gpus", "1", "--gpu-wait", "plain", "true")
                        .log(said)
                        .start();
        Lab.await(() -> says(said, "limits.*.gpus"));
        configure("limits.'*'.gpus = 2\n");
        assertEquals(0, waiting.waitFor(), said::toString);
    }

    @Test
    void settingsOfBeforeStayInForceWhenTheNewOnesAreWrong() throws Exception {
        configure("limits.'*'.gpus = 1\n");
        for (String wrong : List.of("nonsense = 1\n", "socket_group = 'no-such-group'\n")) {
            lab.daemon().config(wrong);
            Command.Result reload = lab.jnvdocker("gpu", "reload");
            assertEquals(125, reload.exitCode(), reload::toString);
            Lab.assertMatches(
                    "jnvdocker: the previous settings stay in force:"
                            + " .*(nonsense|no-such-group).*\n",
                    reload.err());
            assertRefused("2 GPUs requested, but each user .*", run(ALICE, "2"));
        }
    }

    @Test
    void hangUpReadsTheConfigurationAgain() {
        configure("limits.'*'.gpus = 1\n");
        lab.daemon().config("");
        Command.of("kill", "-HUP", lab.daemon().pid().orElseThrow()).run().ok();
        Lab.await(() ->
                run(ALICE, "2").exitCode() == 0 ? List.of() : List.of("still one GPU a user"));
    }

    private static List<String> says(Path file, String words) {
        try {
            String text = Files.exists(file) ? Files.readString(file) : "";
            return text.contains(words) ? List.of() : List.of(words + " is not in: " + text);
        } catch (IOException e) {
            return List.of(e.toString());
        }
    }

    /** Docker would give it nodes that nothing takes back. */
    @Test
    void containerThatOnlyLooksIsRefusedOnAnEngineWithoutTheRuntime() {
        lab.configure("[runtime]\nobservers = ['plain']\n");
        lab.run("train", 0);
        Command.Result refused =
                lab.jnvdocker("run", "--rm", "--gpus=all,capabilities=utility", "plain", "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertEquals(
                "jnvdocker: containers of image plain observe the GPUs (observers), which only"
                        + " jnvdocker's OCI runtime arranges, and this one is not to have it; run"
                        + " 'jnvdocker runtime install', and choose no other runtime\n",
                refused.err());
        lab.configure("");
        refused = lab.jnvdocker("run", "--rm", "--gpus=all,capabilities=utility", "plain", "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains("container train since "), refused::toString);
    }
}
