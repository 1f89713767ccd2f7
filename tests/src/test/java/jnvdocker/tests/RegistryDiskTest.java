package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The registry's disk fails: no GPU is given out, and every client gets the reason. */
@Attack(
        by = "a broken disk",
        what = "full or read-only",
        result = "`docker restart` works; `gpu ls` says what cannot be written")
class RegistryDiskTest extends OneEngineTest {
    @ParameterizedTest
    @EnumSource(names = {"FULL", "READ_ONLY"})
    void nothingIsGivenAwayThatCannotBeWrittenDown(KillPoint.DiskError error) {
        lab.create("old", 1);
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        try (KillPoint _ = launchOn(KillPoint.failingFrom(1, error))) {
            assertReported(125, lab.gpuContainer("run", "next", 2).run());
            assertReported(1, lab.docker("start", "old"));

            // The end of a lease cannot be written either, so the lease goes on.
            lab.docker("rm", "-f", "train");
            assertReported(125, lab.gpuContainer("run", "next", 0).run());
            assertEquals(Map.of(0, "train"), lab.registry().holders());
            lab.daemon().kill();
        }
        lab.startDaemon();
        lab.awaitHolders(Map.of());
        lab.docker("start", "old").ok();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next", 1, "old"));
    }

    /** Running containers go on, also after a restart; ended ones are shown with the reason. */
    @Test
    void whatHasAGpuKeepsItThroughARestart() {
        lab.run("train", 0);
        lab.run("other", 1);
        lab.awaitHolders(Map.of(0, "train", 1, "other"));
        try (KillPoint _ = launchOn(KillPoint.failingFrom(1, KillPoint.DiskError.READ_ONLY))) {
            for (int i = 0; i < 2; i++) {
                lab.docker("restart", "-t", "0", "train").ok();
                assertEquals("true", lab.inspect("train", "{{.State.Running}}"));
            }
            assertEquals(Map.of(0, "train", 1, "other"), lab.registry().holders());
            lab.docker("rm", "-f", "other");
            Lab.await(() -> {
                String shown = lab.jnvdocker("gpu", "ls").ok().out();
                return shown.contains("cannot be recorded") ? List.of() : List.of(shown);
            });
            String why = lab.jnvdocker("gpu", "why", "1").ok().out();
            assertTrue(why.contains("; check that disk's space, health and mount options"), why);
            assertReported(125, lab.gpuContainer("run", "next", 1).run());
            lab.daemon().kill();
        }
        lab.startDaemon();
        lab.awaitHolders(Map.of(0, "train"));
        assertEquals("true", lab.inspect("train", "{{.State.Running}}"));
    }

    /** On a real file system, which the engine sees too. */
    @Test
    void whatHasAGpuKeepsItWhereNothingMoreFits() throws IOException {
        Path state = lab.daemon().state();
        lab.daemon().stop();
        lab.engine().stop();
        Command.of("mount", "-t", "tmpfs", "-o", "mode=755,size=650m", "tmpfs", state).run().ok();
        try {
            lab.engine().start();
            lab.startDaemon();
            lab.run("train", 0);
            lab.run("other", 1);
            lab.awaitHolders(Map.of(0, "train", 1, "other"));
            Path filler = Directories.fill(state);

            assertReported(125, lab.gpuContainer("run", "next", 2).run());
            lab.docker("restart", "-t", "0", "train").ok();
            lab.docker("rm", "-f", "other");
            lab.daemon().kill();
            assertReported(125, "the registry", lab.daemon().jnvdockerd().run());
            assertEquals("true", lab.inspect("train", "{{.State.Running}}"));
            Files.delete(filler);
            lab.startDaemon();
            lab.awaitHolders(Map.of(0, "train"));
            lab.docker("rm", "-f", "train").ok();
            lab.awaitHolders(Map.of());
        } finally {
            lab.daemon().stop();
            lab.engine().stop();
            Command.of("umount", state).run().ok();
            lab.engine().start();
        }
    }

    /** Restarts the daemon on a disk that fails once the daemon has checked the state. */
    private static KillPoint launchOn(KillPoint disk) {
        lab.daemon().stop();
        lab.daemon().launch(disk.turnedOff().environment());
        lab.awaitTruth();
        disk.turnOn();
        return disk;
    }

    private static void assertReported(int exitCode, Command.Result result) {
        assertReported(exitCode, "cannot use the registry", result);
    }

    private static void assertReported(int exitCode, String what, Command.Result result) {
        assertEquals(exitCode, result.exitCode(), result::toString);
        Path registry = lab.daemon().state().resolve("registry.db");
        assertTrue(result.err().contains(what + " " + registry + ": "), result::toString);
        assertTrue(
                result.err().contains("; check that disk's space, health and mount options"),
                result::toString);
    }

    @Test
    void whatFailsOnceIsNotFeltAgain() {
        try (KillPoint _ = launchOn(KillPoint.failingAt(1, KillPoint.DiskError.FULL))) {
            assertReported(125, lab.gpuContainer("run", "first", 0).run());
            assertEquals(Map.of(), lab.registry().holders());
            lab.run("second", 0);
            lab.awaitHolders(Map.of(0, "second"));
            lab.daemon().stop(); // it cannot count calls once the kill point's files are gone
        }
    }
}
