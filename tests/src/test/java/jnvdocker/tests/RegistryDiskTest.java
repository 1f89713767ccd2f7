package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.KillPoint;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.Map;

/** The registry's disk fails: nobody is given anything, and everybody is told why. */
class RegistryDiskTest extends OneEngineTest {
    @ParameterizedTest
    @EnumSource
    void nothingIsGivenAwayThatCannotBeWrittenDown(KillPoint.DiskError error) {
        lab.create("old", 1);
        lab.run("train", 0);
        lab.awaitHolders(Map.of(0, "train"));
        try (KillPoint disk = KillPoint.failingFrom(writesOfAStart() + 1, error)) {
            lab.daemon().launch(disk.environment());
            assertTold(125, lab.gpuContainer("run", "next", 2).run());
            assertTold(1, lab.docker("start", "old"));

            // The end of a lease can't be written either: it goes on.
            lab.docker("rm", "-f", "train");
            assertTold(125, lab.gpuContainer("run", "next", 0).run());
            assertEquals(Map.of(0, "train"), lab.registry().holders());
            lab.daemon().kill();
        }
        lab.startDaemon();
        lab.awaitHolders(Map.of());
        lab.docker("start", "old").ok();
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next", 1, "old"));
    }

    /** Of a daemon that finds everything as it was. */
    private static int writesOfAStart() {
        lab.daemon().stop();
        try (KillPoint point = KillPoint.never()) {
            lab.daemon().launch(point.environment());
            lab.awaitTruth();
            int writes = point.calls();
            lab.daemon().stop();
            return writes;
        }
    }

    private static void assertTold(int exitCode, Command.Result result) {
        assertTold(exitCode, "cannot use the registry", result);
    }

    private static void assertTold(int exitCode, String what, Command.Result result) {
        assertEquals(exitCode, result.exitCode(), result::toString);
        Path registry = lab.daemon().state().resolve("registry.db");
        assertTrue(result.err().contains(what + " " + registry + ": "), result::toString);
        assertTrue(
                result.err().contains("; look at that disk's space, health and mount options"),
                result::toString);
    }

    @Test
    void whatFailsOnceIsNotFeltAgain() {
        try (KillPoint disk = KillPoint.failingAt(writesOfAStart() + 1, KillPoint.DiskError.FULL)) {
            lab.daemon().launch(disk.environment());
            assertTold(125, lab.gpuContainer("run", "first", 0).run());
            assertEquals(Map.of(), lab.registry().holders());
            lab.run("second", 0);
            lab.awaitHolders(Map.of(0, "second"));
            lab.daemon().stop(); // it can't go on counting once the point is gone
        }
    }

    @ParameterizedTest
    @EnumSource
    void daemonThatCannotWriteDoesNotStart(KillPoint.DiskError error) {
        lab.run("train", 0);
        lab.daemon().stop();
        try (KillPoint disk = KillPoint.failingFrom(1, error)) {
            Command.Result result = lab.daemon().jnvdockerd().with(disk.environment()).run();
            assertTold(125, "cannot open the registry", result);
        }
        lab.startDaemon();
        lab.awaitHolders(Map.of(0, "train"));
    }
}
