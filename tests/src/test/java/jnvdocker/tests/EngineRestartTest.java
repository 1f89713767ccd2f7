package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Whichever of engine, daemon and machine goes away and comes back, the registry is true again. */
@Attack(
        by = "a fault",
        what = "the engine is down, slow, restarted; events are lost, doubled, out of order",
        result = "leases outlast the engine, with and without live-restore")
class EngineRestartTest extends WantedEngineTest {
    /** Whether containers outlive the engine. */
    private static boolean restores;

    private enum End {
        GRACEFUL,
        KILLED;

        void ofTheEngine() {
            if (this == GRACEFUL) {
                lab.engine().restart();
            } else {
                lab.engine().kill();
                lab.engine().start();
            }
        }
    }

    private static void restore(boolean wanted) {
        if (restores != wanted) {
            lab.engine().restart(wanted ? new String[] {"--live-restore"} : new String[0]);
            restores = wanted;
        }
    }

    @ParameterizedTest
    @EnumSource
    void restartPolicyBringsContainersBackWithTheirGpus(End end) {
        restore(false);
        lab.run("once", 0);
        lab.run("always", 1, "--restart=always");
        runTwoOnOneGpu();
        end.ofTheEngine();
        Lab.await(() ->
                running("first") + running("second") == 1
                        ? List.of()
                        : List.of("neither runs, or both do"));
        String winner = running("first") == 1 ? "first" : "second";
        String loser = running("first") == 1 ? "second" : "first";
        lab.awaitHolders(Map.of(1, "always", 2, winner));
        assertTrue(
                lab.inspect(loser, "{{.State.Error}}").contains("GPU 2 (GPU-5c1a2006) is held by "),
                loser);
        assertRefused(1, "always");
        docker("start", "once").ok();
        docker("stop", winner).ok();
        docker("start", loser).ok();
        lab.awaitHolders(Map.of(0, "once", 1, "always", 2, loser));
    }

    /** Whichever of its volumes docker mounts first. */
    @Test
    void restartPolicyBringsContainersBackWhenTheDriverIsLoaded() {
        restore(false);
        for (int gpu = 0; gpu < 4; gpu++) {
            lab.run("c" + gpu, gpu, "--restart=always");
        }
        lab.host().unload();
        try {
            lab.engine().restart();
            for (int gpu = 0; gpu < 4; gpu++) {
                awaitState("c" + gpu, "exited no NVIDIA driver is loaded");
            }
        } finally {
            lab.host().load();
        }
        lab.awaitHolders(Map.of(0, "c0", 1, "c1", 2, "c2", 3, "c3"));
    }

    /** Docker takes the first refusal for final. */
    @Test
    void restartPolicyTriesAgainWhileTheDriverIsAway() {
        restore(false);
        lab.run("crashes", 0, "--restart=always");
        lab.run("fails", 1, "--restart=on-failure:3");
        lab.host().unload();
        try {
            for (String name : List.of("crashes", "fails")) {
                Command.of("kill", "-9", lab.inspect(name, "{{.State.Pid}}").strip()).run().ok();
                awaitState(name, "exited no NVIDIA driver is loaded");
            }
        } finally {
            lab.host().load();
        }
        lab.awaitHolders(Map.of(0, "crashes", 1, "fails"));
    }

    private static void awaitState(String container, String expected) {
        Lab.await(() -> {
            String state = lab.inspect(container, "{{.State.Status}} {{.State.Error}}");
            boolean is = Stream.of(expected.split(" ", 2)).allMatch(state::contains);
            return is ? List.of() : List.of(container + " is " + state);
        });
    }

    @Test
    void containersThatOutliveTheEngineKeepTheirGpus() {
        restore(true);
        lab.run("once", 0);
        lab.run("always", 1, "--restart=always");
        runTwoOnOneGpu();
        lab.awaitHolders(Map.of(0, "once", 1, "always", 2, "second"));
        var leases = lab.registry().live();
        lab.engine().restart();
        lab.awaitHolders(Map.of(0, "once", 1, "always", 2, "second"));
        assertRefused(0, "once");
        assertRefused(2, "second");
        assertEquals(leases, lab.registry().live());
        assertEquals(0, running("first"));
        // Its end is seen by an engine other than the one that started it.
        docker("kill", "once").ok();
        lab.run("next", 0);
        docker("restart", "always").ok();
        lab.awaitHolders(Map.of(0, "next", 1, "always", 2, "second"));
    }

    private static void runTwoOnOneGpu() {
        lab.run("first", 2, "--restart=always");
        docker("stop", "first").ok();
        lab.run("second", 2, "--restart=always");
    }

    private static int running(String container) {
        return lab.inspect(container, "{{.State.Status}}").equals("running") ? 1 : 0;
    }

    private static List<CompletableFuture<Command.Result>> beginWithoutADaemon() {
        lab.create("started", 0);
        lab.run("killed", 1);
        lab.run("removed", 2);
        lab.run("stays", 3);
        lab.daemon().kill();
        return begin("start started", "kill killed", "rm -f removed");
    }

    /** Starts all of them at once, since each command waits for the daemon. */
    private static List<CompletableFuture<Command.Result>> begin(String... commands) {
        return Stream.of(commands)
                .map(line -> lab.engine().docker((Object[]) line.split(" ")))
                .map(command -> CompletableFuture.supplyAsync(command::run))
                .toList();
    }

    @Test
    void daemonThatIsAwayForASecondIsWaitedFor() throws Exception {
        var commands = beginWithoutADaemon();
        Thread.sleep(1_000);
        lab.startDaemon();
        commands.forEach(command -> command.join().ok());
        lab.awaitHolders(Map.of(0, "started", 3, "stays"));
    }

    @Test
    void whatHappenedWhileTheDaemonWasAwayIsMadeUpFor() throws Exception {
        var commands = beginWithoutADaemon();
        assertNotEquals(0, commands.getFirst().join().exitCode());
        lab.startDaemon();
        commands.subList(1, 3).forEach(command -> command.join().ok());
        lab.awaitHolders(Map.of(3, "stays"));
        docker("start", "started").ok();
        lab.run("next", 1);
        lab.awaitHolders(Map.of(0, "started", 1, "next", 3, "stays"));
    }

    @ParameterizedTest
    @CsvSource({"false,KILLED", "true,GRACEFUL"})
    void daemonMayStartAfterTheEngine(boolean restored, End end) throws Exception {
        restore(restored);
        lab.run("train", 0);
        lab.run("always", 1, "--restart=always");
        lab.daemon().kill();
        var engine = CompletableFuture.runAsync(end::ofTheEngine);
        Thread.sleep(2_000);
        lab.startDaemon();
        engine.join();
        lab.awaitHolders(restored ? Map.of(0, "train", 1, "always") : Map.of(1, "always"));
        docker("restart", "train").ok();
        lab.awaitHolders(Map.of(0, "train", 1, "always"));
    }

    @Test
    void lostRegistryIsRebuilt() {
        lab.create("created", 0);
        lab.run("train", 0);
        lab.run("stopped", 1);
        docker("kill", "stopped").ok();
        lab.awaitHolders(Map.of(0, "train"));
        lab.daemon().stop();
        Command.of("find", lab.daemon().state(), "-name", "registry*", "-delete").run().ok();
        lab.startDaemon();
        // Immediately, before the engine has been queried.
        Command.Result refused = docker("start", "created");
        assertTrue(refused.err().contains("GPU 0 (GPU-5c1a0000) is held by"), refused::toString);
        lab.awaitHolders(Map.of(0, "train"));
        assertRefused(0, "train");
        docker("start", "stopped").ok();
        lab.awaitHolders(Map.of(0, "train", 1, "stopped"));
        docker("kill", "train").ok();
        docker("start", "created").ok();
        lab.awaitHolders(Map.of(0, "created", 1, "stopped"));
    }

    /** Neither a row nor a file tells of the claims: the engine alone says who has which GPU. */
    @Test
    void whatRunsKeepsItsGpuWhenAllStateIsLost() {
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        lab.daemon().stop();
        Directories.remove(lab.daemon().state());
        lab.startDaemon();
        Command.Result refused = lab.gpuContainer("run", "next", 0).run();
        assertEquals(125, refused.exitCode(), refused::toString);
        Lab.await(() -> {
            Command.Result other = lab.gpuContainer("run", "other", 1).run();
            return other.exitCode() == 0 ? List.of() : List.of(other.toString());
        });
        refused = lab.gpuContainer("run", "next", 0).run();
        assertTrue(refused.err().contains("container train"), refused::toString);
        docker("kill", "train").ok();
        refused = docker("start", "train");
        assertTrue(refused.err().contains("no such volume"), refused::toString);
        docker("rm", "train").ok();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next", 1, "other"));
    }

    /** The container that shares a claim has neither the claim's label nor a GPU's node. */
    @Test
    void lostStateKeepsEveryGpuFromOthersWhileAClaimIsShared() {
        lab.run("train", 0);
        docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
        docker("create", "--name=guest", "--volumes-from=train", "plain", "sleep", "1000").ok();
        docker("rm", "train").ok();
        docker("start", "guest").ok();
        lab.daemon().stop();
        Directories.remove(lab.daemon().state());
        lab.startDaemon();
        Command.Result refused = lab.gpuContainer("run", "next", 0).run();
        assertEquals(125, refused.exitCode(), refused::toString);
        docker("rm", "-f", "guest").ok();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next"));
    }

    @Test
    void stoppedContainersDoNotDelayTheEngine() {
        var creations =
                IntStream.range(0, 4)
                        .mapToObj(gpu -> CompletableFuture.runAsync(() -> create(gpu, 3)))
                        .toList();
        creations.forEach(CompletableFuture::join);
        lab.awaitHolders(Map.of());
        int before = lab.engine().log().length();
        End.KILLED.ofTheEngine();
        String log = lab.engine().log().substring(before);
        assertFalse(log.contains("retrying in"), log);
    }

    private static void create(int gpu, int count) {
        for (int i = 0; i < count; i++) {
            lab.create("created-" + gpu + "-" + i, gpu);
        }
    }
}
