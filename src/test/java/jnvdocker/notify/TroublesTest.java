package jnvdocker.notify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.view.Samples;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Verdict;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Events about GPUs with faults and GPUs that are used without a lease, held or not. */
class TroublesTest {
    private static final Lease TRAIN = Samples.held(1, "train-7", 0);

    private final Troubles troubles = new Troubles();

    private List<Event> next(GpuStatus... gpus) {
        return troubles.next(List.of(gpus), Samples.NOW);
    }

    private static GpuStatus held(Lease lease) {
        return Samples.taken(0, GpuStatus.State.HELD, lease, "");
    }

    private static GpuStatus with(GpuStatus gpu, String fault) {
        Refusal sick = new Refusal(fault, "reset it");
        return new GpuStatus(
                Samples.verdict(gpu.gpu().with(sick), new Verdict.Sick(sick)),
                gpu.state(),
                gpu.lease(),
                gpu.idleSince(),
                fault);
    }

    private static GpuStatus usedBy(GpuStatus gpu, GpuUse... uses) {
        return new GpuStatus(
                Samples.verdict(gpu.gpu(), Samples.inUse(uses)),
                gpu.state(),
                gpu.lease(),
                gpu.idleSince(),
                "");
    }

    private static GpuUse process(int pid, int uid) {
        GpuUse.User user = new GpuUse.User(new ProcessId(pid, 5), "python3", uid, Optional.empty());
        return new GpuUse(Samples.gpu(0), GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user));
    }

    @Test
    void faultOfAHeldGpuNamesTheFaultAndTheHolderOnce() {
        assertEquals(List.of(), next(held(TRAIN)));
        Event event = next(with(held(TRAIN), "Xid 95")).getFirst();
        assertEquals("sick", event.event());
        assertEquals("Xid 95", event.reason());
        assertEquals("alice", event.user());
        assertEquals("train-7", event.container());
        assertEquals(1L, event.lease());
        assertEquals(List.of(TRAIN.claim().gpus().getFirst().uuid()), event.gpus());
        assertTrue(
                event.message().endsWith(" of alice's container train-7 is sick: Xid 95"),
                event::message);
        assertEquals(List.of(), next(with(held(TRAIN), "Xid 95")));
        assertEquals("it is lost", next(with(held(TRAIN), "it is lost")).getFirst().reason());
        assertEquals(List.of(), next(held(TRAIN)));
        assertEquals(1, next(with(held(TRAIN), "it is lost")).size());
    }

    /** The end of the holder is no news of the GPU. */
    @Test
    void faultIsNotReportedAgainWhenTheHolderEnds() {
        next(with(held(TRAIN), "Xid 95"));
        GpuStatus free = Samples.free(0, Optional.empty());
        assertEquals(List.of(), next(with(free, "Xid 95")));
        Event other = next(with(free, "Xid 79")).getFirst();
        assertNull(other.user());
        assertTrue(other.message().matches("GPU 0 \\(GPU-\\w+\\) is sick: Xid 79"), other::message);
    }

    @Test
    void eachHolderOfASharedGpuHasAnEvent() {
        Lease bobs = Samples.of(Samples.held(2, "infer", 0), new Owner(1001, "bob"));
        GpuStatus shared = with(held(TRAIN), "Xid 95").beside(List.of(held(bobs)));
        assertEquals(List.of("alice", "bob"), next(shared).stream().map(Event::user).toList());
    }

    @Test
    void heldGpuThatTheDriverDoesNotShowIsMissing() {
        GpuStatus gone =
                Samples.taken(0, GpuStatus.State.MISSING, TRAIN, "the driver does not show it");
        Event event = next(gone).getFirst();
        assertEquals("missing", event.event());
        assertTrue(
                event.message()
                        .endsWith(
                                " of alice's container train-7 is missing: the driver does not"
                                        + " show it"),
                event::message);
        assertEquals(List.of(), next(gone));
    }

    @Test
    void processWithoutALeaseIsNamedOnAHeldGpuToo() {
        Event free = next(Samples.used(0, false)).getFirst();
        assertEquals("unmanaged", free.event());
        assertEquals(4711L, free.pid());
        assertEquals("python3", free.program());
        assertEquals(0L, free.uid());
        assertEquals("not in a container", free.reason());
        next(held(TRAIN));
        Event event = next(usedBy(held(TRAIN), process(4800, 1001))).getFirst();
        assertEquals("unmanaged", event.event());
        assertEquals(1001L, event.uid());
        assertEquals(4800L, event.pid());
        assertEquals("python3", event.program());
        assertNull(event.lease());
        assertTrue(
                event.message()
                        .matches(
                                "GPU 0 \\(GPU-\\w+\\), held by alice's container train-7, is used"
                                        + " by .* process python3 \\(pid 4800\\), which jnvdocker"
                                        + " did not start"),
                event::message);
    }

    /** A program that starts others is one piece of news. */
    @Test
    void usersOfAGpuAreNewsAndNotEachOfTheirProcesses() {
        GpuUse[] many =
                IntStream.range(0, 50)
                        .mapToObj(i -> process(4800 + i, 1001))
                        .toArray(GpuUse[]::new);
        assertEquals(1, next(usedBy(held(TRAIN), many)).size());
        assertEquals(List.of(), next(usedBy(held(TRAIN), process(5000, 1001))));
        Event other =
                next(usedBy(held(TRAIN), process(5000, 1001), process(5001, 1002))).getFirst();
        assertEquals(5001L, other.pid());
    }

    @Test
    void containerThatWasGivenAGpuIsNamedWithItsFirstProcess() {
        Event event =
                next(usedBy(held(TRAIN), Samples.used(0, true).unmanaged().getFirst())).getFirst();
        assertEquals("plain-1", event.container());
        assertEquals(Samples.CONTAINER_ID, event.containerId());
        assertEquals(4712L, event.pid());
        assertNull(event.program());
        assertNull(event.user());
    }
}
