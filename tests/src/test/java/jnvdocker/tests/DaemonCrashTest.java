package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.SocketRelay;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;

/**
 * The daemon is killed at any moment while GPUs are used: the next one continues with the true
 * state. Each test takes a few of the many moments, or all with {@code KILL_POINTS=all} in the
 * environment.
 */
@Attack(
        by = "a fault",
        what = "the daemon is killed at a write or a verb",
        result =
                "before and amid registry writes, with requests and answers of docker's verbs lost"
                        + " and delivered: one holder each, running containers keep their lease")
@Attack(
        by = "a fault",
        what = "pids come again, boot ids change",
        result =
                "the start time distinguishes them; leases of another boot end, and what runs is"
                        + " adopted")
class DaemonCrashTest extends OneEngineTest {
    private static final int GPUS = 4;
    private static final int FEW = 1;
    private static final Executor THREADS = Thread::startVirtualThread;

    private static int writes;

    @BeforeAll
    static void countWrites() {
        lab.daemon().stop();
        try (KillPoint point = KillPoint.never()) {
            lab.daemon().launch(point.environment());
            useGpus();
            lab.clear();
            lab.daemon().stop();
            writes = point.calls();
        }
    }

    /** Typical commands of users, which may fail. */
    private static void useGpus() {
        lab.gpuContainer("run", "train", 0).run();
        lab.jnvdocker("run", "-d", "--name=big", "--gpus=2", "plain", "sleep", "1000");
        lab.docker("stop", "train");
        lab.docker("start", "train");
        lab.docker("rm", "-f", "big");
        lab.jnvdocker("run", "--rm", "--gpus=1", "plain", "true");
    }

    /** Asserts that the registry is true, and that free GPUs are available. */
    private static void assertSound(String when) {
        try {
            lab.awaitTruth();
            int free = GPUS - lab.registry().holders().size();
            Command.Result more = lab.jnvdocker("create", "--gpus", free + 1, "plain");
            assertEquals(125, more.exitCode(), more::toString);
            if (free > 0) {
                Command.Result all = lab.jnvdocker("create", "--gpus", free, "plain");
                if (all.exitCode() != 0) {
                    // The kill may have hit this request; a second one must succeed.
                    lab.jnvdocker("create", "--gpus", free, "plain").ok();
                }
            }
            lab.clear();
        } catch (AssertionError e) {
            throw new AssertionError(when + ": " + e.getMessage() + "\n" + lab.log(), e);
        }
    }

    enum Strike {
        BEFORE(KillPoint::before),
        AMID(KillPoint::amid);

        private final IntFunction<KillPoint> at;

        Strike(IntFunction<KillPoint> at) {
            this.at = at;
        }
    }

    @ParameterizedTest
    @EnumSource
    void killedAtAnyWriteToTheRegistry(Strike strike) throws Exception {
        for (int write : Moments.some("killed " + strike + " a write", 1, writes, FEW)) {
            lab.daemon().stop();
            try (KillPoint point = strike.at.apply(write)) {
                Process process = lab.daemon().launch(point.environment());
                var next = process.onExit().thenRunAsync(lab::startDaemon, THREADS);
                useGpus();
                // One that lives on would end amid the next moment, and be replaced by one that
                // knows no moment.
                process.destroy();
                next.join();
                assertSound(strike + " write " + write);
            }
        }
    }

    @Test
    void processThatGotThePidOfTheClientIsNotTheClient() throws Exception {
        Process client =
                lab.gpuContainer("run", "train", 0)
                        .with("NV_DOCKER", Project.fixture("bin/hanging-docker") + " before-create")
                        .start();
        try {
            assertEquals("before-create", client.inputReader().readLine());
            lab.daemon().stop();
            assertEquals(Map.of(0, "reservation"), lab.registry().holders());
            // As if the client had started earlier and another process now had its pid.
            lab.registry().change("UPDATE lease SET start = start - 1 WHERE until IS NULL");
            lab.startDaemon();
            lab.run("next", 0);
            lab.awaitHolders(Map.of(0, "next"));
        } finally {
            client.destroyForcibly().waitFor();
        }
    }

    @Test
    void processThatGotThePidOfTheContainerIsNotTheContainer() {
        lab.run("train", 0);
        lab.daemon().stop();
        lab.docker("kill", "train").ok();
        lab.registry()
                .change(
                        "UPDATE lease SET init_pid = "
                                + ProcessHandle.current().pid()
                                + " WHERE until IS NULL");
        lab.startDaemon();
        lab.awaitHolders(Map.of());
        lab.run("next", 0);
        lab.awaitHolders(Map.of(0, "next"));
    }

    /** The fate of the request or answer at which the daemon is killed. */
    enum Passage {
        LOST,
        DELIVERED
    }

    /** dockerd retries for a while, so its command may even succeed. */
    @ParameterizedTest
    @EnumSource
    void killedAtAnyVerb(Passage passage) {
        try (PluginRelay relay = new PluginRelay()) {
            useGpus();
            lab.clear();
            for (int piece :
                    Moments.some("killed at a request or its answer", 1, relay.passed(), FEW)) {
                relay.kill(piece, passage);
                useGpus();
                relay.join();
                assertSound("at request or answer " + piece + ", which was " + passage);
            }
        }
    }

    /**
     * Stands between dockerd and the daemon, and kills the daemon. The daemon takes it for the
     * engine that mounts volumes, and as such it stays alive.
     */
    private static final class PluginRelay implements AutoCloseable {
        private final Path directory = Directories.make("plugins");
        private final String plugins = lab.daemon().environment().get("JNVDOCKER_PLUGIN_DIR");
        private final SocketRelay relay;
        private final AtomicInteger passed = new AtomicInteger();
        private volatile int last = Integer.MAX_VALUE;
        private volatile Passage passage = Passage.DELIVERED;
        private final Semaphore restarted = new Semaphore(0);

        PluginRelay() {
            Path socket = lab.daemon().pluginSocket();
            restart(directory);
            relay =
                    new SocketRelay(
                            UnixDomainSocketAddress.of(socket),
                            lab.daemon().pluginSocket(),
                            this::pass);
        }

        private static void restart(Object plugins) {
            lab.daemon().stop();
            lab.daemon().with("JNVDOCKER_PLUGIN_DIR", plugins);
            lab.startDaemon();
        }

        int passed() {
            return passed.get();
        }

        /** Has the daemon killed at the n-th request or answer from now on. */
        void kill(int piece, Passage passageOfIt) {
            passage = passageOfIt;
            passed.set(0);
            last = piece;
        }

        /** Returns once another daemon runs, if the first was killed. */
        void join() {
            if (passed.get() >= last) {
                restarted.acquireUninterruptibly();
            }
            last = Integer.MAX_VALUE;
        }

        private void pass(SocketRelay.Piece piece) throws IOException {
            boolean kills = passed.incrementAndGet() == last;
            if (!kills || passage == Passage.DELIVERED) {
                piece.deliver();
            }
            if (kills) {
                lab.daemon().kill();
                THREADS.execute(() -> {
                    lab.startDaemon();
                    restarted.release();
                });
            }
        }

        @Override
        public void close() {
            relay.close();
            restart(plugins);
            Directories.remove(directory);
        }
    }
}
