package jnvdocker.tests;

import static jnvdocker.tests.world.Lab.assertRefused;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.Terminal;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Several users' containers and programs with shares of one GPU, by {@code --gpus share=10G}, with
 * claim volumes and with the OCI runtime.
 */
@Tag("docker")
@Tag("root")
@ParameterizedClass
@ValueSource(booleans = {false, true})
class ShareTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;
    private static final int CAROL = 61003;

    private static Lab lab;
    private static Optional<RuntimeInstallation> runtime = Optional.empty();

    @Parameter boolean byRuntime;

    @BeforeAll
    static void open() {
        DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 3);
        FakeNvml.of(host, "a100x8");
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, host);
        configure("");
        awaitFigures();
    }

    @AfterAll
    static void close() {
        lab.close();
    }

    @BeforeParameterizedClassInvocation
    static void install(boolean byRuntime) {
        if (byRuntime) {
            runtime = Optional.of(RuntimeInstallation.of(lab));
        }
    }

    @AfterParameterizedClassInvocation
    static void uninstall() {
        runtime.ifPresent(RuntimeInstallation::close);
    }

    @AfterEach
    void nothingIsLeft() {
        configure("");
        lab.clear();
    }

    private static void configure(String more) {
        lab.configure("shareable = ['1']\n" + more);
    }

    /** The driver is queried after the daemon's start. */
    private static void awaitFigures() {
        Lab.await(() -> {
            String table = lab.jnvdocker("gpu", "ls").ok().out();
            return table.contains(" GiB ") ? List.of() : List.of(table);
        });
    }

    private static long shareOf(String container) {
        return lab.lease(container).path("gpus").path(0).path("share_bytes").asLong();
    }

    @Test
    void twoUsersHaveSharesUntilBothHaveEnded() {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.startAs(BOB, "two", "share=18G").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        assertRefused(
                "no shareable GPU has 20G left \\(GPU 1: 14.4G of 42.4G\\); (wait with --gpu-wait|"
                        + "start the container again later, .*), or request less",
                lab.startAs(CAROL, "x1", "share=20G"));
        assertRefused(
                "GPU 1 .* is shared by .*container one and .*container two; ",
                lab.startAs(CAROL, "x2", "device=1"));
        assertRefused(
                "and cannot be given to this one, too; request a share of its own",
                lab.startAs(ALICE, "x3", "with=one"));
        lab.docker("stop", "one").ok();
        lab.awaitSharers(Map.of(1, "two"));
        assertRefused("GPU 1 .* is held by .*container two", lab.startAs(CAROL, "x4", "device=1"));
        lab.docker("rm", "-f", "two").ok();
        lab.awaitSharers(Map.of());
        lab.docker("rm", "-f", "x1", "x2", "x3", "x4");
        lab.startAs(CAROL, "whole", "device=1").run().ok();
        lab.awaitSharers(Map.of(1, "whole"));
        assertRefused(
                "no shareable GPU has 1G left \\(GPU 1: held whole by .*'s container whole\\)",
                lab.startAs(ALICE, "x5", "share=1G"));
        lab.docker("rm", "-f", "x5");
    }

    @Test
    void eachIsShown() throws Exception {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.startAs(BOB, "two", "share=18G").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*\n1 .* one .* 10G .*\n1 .* two .* 18G .*"), table);
        try (Terminal terminal =
                new Terminal(lab.daemon().jnvdocker("gpu", "ls").with("TERM", "dumb"), 80, 24)) {
            assertEquals(0, terminal.exitCode(), terminal::written);
            List<String> lines = terminal.written().lines().map(String::strip).toList();
            assertTrue(lines.stream().allMatch(line -> line.length() <= 80), lines::toString);
            assertEquals(
                    List.of("10G", "18G"),
                    lines.stream()
                            .filter(line -> line.startsWith("1 "))
                            .map(line -> line.replaceAll(" {3,}.* ([0-9]+G)\\b.*", "$1"))
                            .map(line -> line.substring(line.length() - 3))
                            .toList(),
                    lines::toString);
        }
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("container two (share of 18G) since "), why);
        assertTrue(why.contains("14.4G of 42.4G are left. Shares are accounted, and not"), why);
        why = lab.jnvdocker("gpu", "why", "two").ok().out();
        assertTrue(why.startsWith("GPU 1 ") && why.contains("It is held by "), why);
        JsonNode gpu = lab.jnvdocker("gpu", "ls", "--json").json().path(1);
        assertEquals(10_000_000_000L, gpu.path("share_bytes").asLong(), gpu::toString);
        assertEquals(2, gpu.path("shares").size(), gpu::toString);
    }

    /** A process of the first is no unmanaged use that bars the second. */
    @Test
    void aProgramHasAShareBesideAnother() {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.docker("exec", "-d", "one", "sh", "-c", "exec 3<>/dev/nvidia1; sleep 1000").ok();
        Command.Result program =
                lab.as(BOB, "gpu", "run", "--gpus", "share=10G", "printenv", "CUDA_VISIBLE_DEVICES")
                        .run()
                        .ok();
        String uuid = lab.lease("one").path("gpus").path(0).path("uuid").asText();
        assertEquals(uuid + "\n", program.out());
        lab.awaitSharers(Map.of(1, "one"));
    }

    @Test
    void aRestartKeepsTheShare() {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.startAs(BOB, "two", "share=32G").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        lab.docker("restart", "one").ok();
        lab.awaitSharers(Map.of(1, "two and one"));
        assertEquals(10_000_000_000L, shareOf("one"));
        lab.docker("stop", "one").ok();
        lab.awaitSharers(Map.of(1, "two"));
        lab.docker("start", "one").ok();
        lab.awaitSharers(Map.of(1, "two and one"));
        assertEquals(10_000_000_000L, shareOf("one"));
        lab.docker("stop", "one").ok();
        lab.awaitSharers(Map.of(1, "two"));
        lab.startAs(CAROL, "three", "share=10G").run().ok();
        lab.awaitSharers(Map.of(1, "two and three"));
        Command.Result refused = lab.docker("start", "one");
        assertTrue(refused.exitCode() != 0 && refused.err().contains("GPU 1"), refused::toString);
    }

    /** The rest of the GPU is kept for the one that waits, and no other share is given. */
    @Test
    void aClientThatWaitsForTheWholeGetsIt() throws Exception {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.startAs(BOB, "two", "share=10G").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        Process waiting = lab.startAs(CAROL, "whole", "device=1", "--gpu-wait").start();
        Lab.await(() -> lab.registry().tickets() == 1 ? List.of() : List.of("nobody waits"));
        assertRefused(
                "GPU 1: 22.4G of 42.4G, kept for .*, waiting for GPU 1",
                lab.startAs(ALICE, "x1", "share=10G"));
        lab.docker("rm", "-f", "x1");
        lab.docker("rm", "-f", "one").ok();
        lab.awaitSharers(Map.of(1, "two"));
        lab.docker("rm", "-f", "two").ok();
        assertEquals(0, waiting.waitFor());
        lab.awaitSharers(Map.of(1, "whole"));
    }

    /** Neither the registry nor the daemon's memory is needed to know the shares again. */
    @Test
    void aNewDaemonKnowsTheShares() throws IOException {
        lab.startAs(ALICE, "one", "share=10G").run().ok();
        lab.startAs(BOB, "two", "share=32G").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        lab.daemon().stop();
        for (String part : List.of("registry.db", "registry.db-wal", "registry.db-shm")) {
            Files.deleteIfExists(lab.daemon().state().resolve(part));
        }
        lab.startDaemon();
        Lab.await(() -> {
            String now = lab.registry().holders().getOrDefault(1, "nobody");
            Set<String> names = new TreeSet<>(List.of(now.split(" and ")));
            return names.equals(Set.of("one", "two")) ? List.of() : List.of("only " + now);
        });
        assertEquals(10_000_000_000L, shareOf("one"));
        awaitFigures();
        assertRefused("GPU 1: 0.4G of 42.4G", lab.startAs(CAROL, "x1", "share=1G"));
        lab.docker("rm", "-f", "x1");
    }

    @Test
    void aShareCountsForLimitsAsItsPart() {
        configure("limits.'*'.gpus = 1\n");
        lab.startAs(ALICE, "one", "share=10GiB").run().ok();
        lab.startAs(ALICE, "two", "share=10GiB").run().ok();
        lab.awaitSharers(Map.of(1, "one and two"));
        assertRefused(" has 0.5 of the 1 GPU that", lab.startAs(ALICE, "x1", "device=0"));
        lab.docker("rm", "-f", "x1");
    }

    @Test
    void withoutTheSettingNoneIsShared() {
        lab.configure("");
        assertRefused(
                "10G of 1 GPU requested, but none may be shared \\(shareable\\)",
                lab.startAs(ALICE, "x1", "share=10G"));
        lab.docker("rm", "-f", "x1");
    }
}
