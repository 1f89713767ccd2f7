package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/**
 * The daemon, or a process that an agent launches, is killed at any moment of a launch. Each test
 * takes a few of the many moments of the daemon, or all with {@code KILL_POINTS=all} in the
 * environment.
 */
@Tag("root")
class MesosCrashTest {
    private static final int GPUS = 2;
    private static final int FEW = 1;
    private static final String REFUSED = "Failed to execute pre-exec command";

    private DriverRoot host;
    private TestDaemon daemon;
    private Registry registry;
    private MesosAgent agent;

    @BeforeEach
    void open() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
        daemon = new TestDaemon(host);
        registry = new Registry(daemon);
        startDaemon();
        agent = new MesosAgent(daemon.socket());
    }

    @AfterEach
    void close() {
        agent.close();
        daemon.close();
        host.close();
    }

    private void startDaemon() {
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    private static MesosTask task(int gpus) {
        return MesosTask.of("echo up; exec sleep 1000").direct().gpus(gpus).needsDriver();
    }

    enum Moment {
        BEFORE_A_WRITE(KillPoint::before),
        AMID_A_WRITE(KillPoint::amid);

        private final IntFunction<KillPoint> at;

        Moment(IntFunction<KillPoint> at) {
            this.at = at;
        }
    }

    @ParameterizedTest
    @EnumSource
    void daemonKilledAtAWriteHasGivenOneLeaseOrNone(Moment moment) throws Exception {
        killAt(KillPoint.never(), moment.at);
    }

    /** Covers each request and answer, and all that happens in between. */
    @Test
    void daemonKilledWhileItHearsOrAnswersHasGivenOneLeaseOrNone() throws Exception {
        Path socket = daemon.socket();
        killAt(KillPoint.talking(socket, 0), moment -> KillPoint.talking(socket, moment));
    }

    private void killAt(KillPoint counting, IntFunction<KillPoint> at) throws Exception {
        int first;
        int last;
        daemon.stop();
        try (counting) {
            daemon.launch(counting.environment());
            first = counting.calls() + 1;
            MesosContainer container = agent.launch(task(1)).awaitLine("up");
            last = counting.calls();
            container.kill();
            daemon.stop();
        }
        assertTrue(last > first, "a launch is of moments " + first + " to " + last);
        for (int moment : Moments.some("the daemon is killed at a launch", first, last, FEW)) {
            try (KillPoint point = at.apply(moment)) {
                Process process = daemon.launch(point.environment());
                Thread next = Thread.ofVirtual().unstarted(this::startDaemon);
                process.onExit().thenRun(next::start);
                launchAndEnd();
                assertFalse(process.isAlive(), "the daemon was not killed");
                next.join();
            } catch (AssertionError e) {
                throw new AssertionError("moment " + moment + " of " + last + ": " + log(), e);
            }
            daemon.stop();
        }
    }

    private String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Launches a container, which has the one GPU that the registry says or is refused, and ends
     * it; then all GPUs are available.
     */
    private void launchAndEnd() {
        MesosContainer container = agent.launch(task(1));
        Lab.await(() ->
                container.out().equals("up\n") || container.err().contains(REFUSED)
                        ? List.of()
                        : List.of(container.out() + container.err()));
        List<Registry.Lease> live = registry.live();
        if (container.out().equals("up\n")) {
            assertEquals(1, live.size(), live::toString);
            assertEquals(1, live.getFirst().minors().size());
            assertFalse(live.getFirst().reservation(), live::toString);
        } else {
            assertTrue(container.err().contains("\njnvdocker: "), container::err);
        }
        assertEquals(List.of(), registry.heldTwice());
        container.kill();
        assertAllCanBeHad();
    }

    private void assertAllCanBeHad() {
        MesosContainer all = agent.launch(task(GPUS)).awaitLine("up");
        assertEquals(1, registry.live().size(), () -> registry.live().toString());
        all.kill();
        assertNothingIsLeft();
    }

    private void assertNothingIsLeft() {
        Lab.await(() -> {
            daemon.jnvdocker("gpu", "leases").run().ok();
            List<String> left = new ArrayList<>();
            registry.live().forEach(lease -> left.add(lease.toString()));
            registry.claims().forEach(claim -> left.add("claim " + claim));
            if (registry.tickets() != 0) {
                left.add(registry.tickets() + " tickets");
            }
            return left;
        });
    }

    @Test
    void whoIsKilledInTheLineLeavesIt() {
        MesosContainer holder = agent.launch(task(GPUS)).awaitLine("up");
        MesosContainer waiting = agent.launch(task(1));
        Lab.await(() ->
                waiting.err().contains("next in the queue") ? List.of() : List.of(waiting.err()));
        assertEquals(1, registry.tickets());
        kill(waiting);
        Lab.await(() -> registry.tickets() == 0 ? List.of() : List.of("it still waits"));
        assertEquals(1, registry.live().size());
        holder.kill();
        assertAllCanBeHad();
    }

    /** The wrapper has become the helper by then, in the same process. */
    @Test
    void helperKilledWithItsAnswerHasNoLeaseLeft() throws IOException {
        Path helper = agent.directory().resolve("libexec/mesos-containerizer");
        Files.delete(helper);
        Files.writeString(helper, "#!/bin/sh\necho answered >&2\nexec sleep 1000\n");
        helper.toFile().setExecutable(true);
        assertEndsWithIts("answered");
        Files.delete(helper);
        Files.createSymbolicLink(helper, Project.world("mesos-helper"));
        assertAllCanBeHad();
    }

    @Test
    void helperKilledDuringPrestartHasNoLeaseLeft() throws IOException {
        Path prestart = agent.launcher().prestart();
        Path real = agent.directory().resolve("real-prestart");
        Files.move(prestart, real);
        Files.writeString(prestart, "#!/bin/sh\necho prepares >&2\nexec sleep 1000\n");
        prestart.toFile().setExecutable(true);
        assertEndsWithIts("prepares");
        Files.delete(prestart);
        Files.move(real, prestart);
        assertAllCanBeHad();
    }

    private void assertEndsWithIts(String word) {
        MesosContainer container = agent.launch(task(1));
        Lab.await(() ->
                container.err().contains(word) && pid(container) != 0
                        ? List.of()
                        : List.of(container.err()));
        assertEquals(1, registry.live().size());
        kill(container);
        container.await();
        assertNothingIsLeft();
    }

    /** Kills one process, like the kernel when memory is short; the agent ends the others. */
    private static void kill(MesosContainer container) {
        Command.of("kill", "-KILL", pid(container)).run().ok();
    }

    private static long pid(MesosContainer container) {
        try {
            return Long.parseLong(Files.readString(container.runtime().resolve("pid")));
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    @Test
    void killedAnywhereAContainerLeavesNothing() throws Exception {
        int moments = 12;
        for (int moment : IntStream.range(0, moments).toArray()) {
            MesosContainer container = agent.launch(task(1));
            Lab.await(() -> processes(container) > 0 ? List.of() : List.of("no process"));
            Thread.sleep(moment * 25);
            container.kill();
            assertEquals(List.of(), registry.heldTwice());
        }
        assertNothingIsLeft();
        assertAllCanBeHad();
    }

    private static long processes(MesosContainer container) {
        try {
            return Files.readAllLines(container.cgroup("freezer").resolve("cgroup.procs")).size();
        } catch (IOException e) {
            return 0;
        }
    }
}
