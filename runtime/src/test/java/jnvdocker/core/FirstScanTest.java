package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.grant.FirstScan;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** The scan of the host when a creation is requested, and the choice of GPUs by it. */
class FirstScanTest extends SimulatedWorldTest {
    private static final Gpu GONE = new Gpu(0, "GPU-00000000-gone", 7, "0000:00:00.0", "T");

    private OciContainers oci() {
        return world.daemon.parts().oci();
    }

    private Lease query(String id, int gpus, FirstScan scan) throws Exception {
        return oci().take(
                        TestingParts.creation(
                                new OciContainers.Container("/run/runc", id),
                                id,
                                Optional.empty(),
                                world.machine.spawn(),
                                Owner.UNKNOWN,
                                new GpuRequest.Count(gpus)),
                        scan)
                .keep()
                .orElseThrow();
    }

    private static GpuUse use(Gpu gpu, ProcessId process) {
        GpuUse.User user = new GpuUse.User(process, "python", 1000, Optional.empty());
        return new GpuUse(gpu, GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user));
    }

    @Test
    void usedGpuIsNotChosen() throws Exception {
        List<Gpu> gpus = world.gpus();
        GpuUse use = use(gpus.getFirst(), world.machine.spawn());
        Lease lease = query("a", 1, new FirstScan(gpus, 0, () -> List.of(use)));
        assertEquals(gpus.get(1).uuid(), lease.claim().gpus().getFirst().uuid());
    }

    /** Another choice is made of the GPUs that are there then. */
    @Test
    void gpuThatHasVanishedSinceIsNotChosenAgain() throws Exception {
        Lease lease = query("a", 1, new FirstScan(List.of(GONE), 0, List::of));
        assertEquals(world.gpus().getFirst().uuid(), lease.claim().gpus().getFirst().uuid());
    }

    /** The processes that were seen may be those of the start before, which were waited for. */
    @Test
    void containerThatIsStartedAgainIsScannedAgain() throws Exception {
        Lease last = query("a", 3, oci().scan(world.gpus()));
        AtomicInteger taken = new AtomicInteger();
        FirstScan scan =
                new FirstScan(
                        List.of(GONE),
                        0,
                        () -> {
                            taken.incrementAndGet();
                            return List.of();
                        });
        world.machine.end(last.holder().process());
        Lease again = query("a", 3, scan);
        assertEquals(last.claim().gpus(), again.claim().gpus());
        assertEquals(0, taken.get());
    }

    @Test
    void failureOfTheScanIsThatOfTheRequest() throws Exception {
        IOException failure = new IOException("/proc cannot be read");
        FirstScan scan =
                new FirstScan(
                        world.gpus(),
                        0,
                        () -> {
                            throw new UncheckedIOException(failure);
                        });
        assertEquals(failure, assertThrows(IOException.class, () -> query("a", 1, scan)));
        assertTrue(world.daemon.parts().leases().live().isEmpty());
    }

    @Test
    void looksWhileTheCallerDoesSomethingElse() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Supplier<Integer> answer =
                Pace.REAL.meanwhile(() -> {
                    begun.countDown();
                    try {
                        end.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                    return 42;
                });
        assertTrue(begun.await(30, TimeUnit.SECONDS));
        end.countDown();
        assertEquals(42, answer.get());
    }

    @Test
    void exceptionOfAnotherThreadIsThrownAsItIs() {
        UncheckedIOException failure = new UncheckedIOException(new IOException("no"));
        Supplier<Integer> answer =
                Pace.REAL.meanwhile(() -> {
                    throw failure;
                });
        assertEquals(failure, assertThrows(UncheckedIOException.class, answer::get));
    }
}
