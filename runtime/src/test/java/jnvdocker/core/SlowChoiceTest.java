package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** A choice on a machine that reports a process slowly. */
@Attack(
        by = "a slow `/proc`",
        what = "delays a client that chooses",
        result = "the registry answers; what was taken meanwhile is not chosen")
class SlowChoiceTest {
    private static final int SECONDS = 30;

    @TempDir Path state;
    private final SimulatedMachine machine = new SimulatedMachine(Path.of("/"), this::moment);
    private final ProcessId unleased = machine.spawn();
    private final CountDownLatch scanning = new CountDownLatch(1);
    private final CountDownLatch reported = new CountDownLatch(1);
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private volatile Thread chooser;
    private LeaseParts parts;

    @BeforeEach
    void open() throws IOException {
        parts = TestingParts.open(state, machine, new Seen(), A, B);
    }

    @AfterEach
    void close() throws IOException {
        reported.countDown();
        threads.close();
        parts.close();
    }

    private void moment() {
        if (Thread.currentThread() == chooser) {
            scanning.countDown();
            try {
                reported.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Another user's process that has a GPU open; whether it lives is checked later. */
    private final class Seen implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            chooser = Thread.currentThread();
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            GpuUse.User user = new GpuUse.User(unleased, "python3", 1002, Optional.empty());
            return List.of(new GpuUse(B, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user)));
        }
    }

    private Future<Claim> choose() throws Exception {
        ProcessId client = machine.spawn();
        Future<Claim> chosen =
                threads.submit(() ->
                        parts.leases()
                                .runs()
                                .take(
                                        new Request(
                                                new GpuRequest.Count(1),
                                                Set.of(),
                                                ALICE,
                                                client,
                                                TestingLeases.CUDA,
                                                Optional.empty()),
                                        Optional.empty())
                                .keep()
                                .orElseThrow());
        assertTrue(scanning.await(SECONDS, TimeUnit.SECONDS));
        return chosen;
    }

    @Test
    void nobodyWaitsForAChoice() throws Exception {
        Future<Claim> chosen = choose();
        Future<List<Lease>> live = threads.submit(() -> parts.registry().live());
        assertEquals(List.of(), live.get(SECONDS, TimeUnit.SECONDS));
        reported.countDown();
        assertEquals(List.of(ClaimedGpu.of(A)), chosen.get().gpus());
    }

    @Test
    void gpuThatWasTakenMeanwhileIsNotChosen() throws Exception {
        Future<Claim> chosen = choose();
        Claim other = TestingLeases.claim("111111111111", BOB, A);
        LeaseRegistry registry = parts.registry();
        TestingLeases.reserve(registry, other, machine.spawn());
        machine.end(unleased);
        reported.countDown();
        assertEquals(List.of(ClaimedGpu.of(B)), chosen.get().gpus());
    }
}
