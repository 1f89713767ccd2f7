package jnvdocker.kubernetes;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Connections;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** What a scan of GPUs has found; built up step by step. */
final class TestingBoard {
    static final ProcessId KUBELET = new ProcessId(900, 30);

    private final List<Gpu> gpus;
    private final List<Lease> leases = new ArrayList<>();
    private final Map<String, Cordon.ByCommand> cordoned = new HashMap<>();
    private final Map<String, List<GpuUse>> used = new HashMap<>();
    private final List<Ticket> waiting = new ArrayList<>();
    private Connections connections = Connections.UNKNOWN;

    private TestingBoard(List<Gpu> gpus) {
        this.gpus = gpus;
    }

    static TestingBoard of(Gpu... gpus) {
        return new TestingBoard(List.of(gpus));
    }

    static TestingBoard of(List<Gpu> gpus, Connections connections) {
        TestingBoard board = new TestingBoard(gpus);
        board.connections = connections;
        return board;
    }

    /** A lease of a pod. */
    static Lease pod(long id, Gpu... gpus) {
        Origin.Pod pod = new Origin.Pod("67fa988c5de6f713e0a8a764c9909af8", "default", "train-7");
        Holder holder =
                Holder.of(KUBELET, Optional.empty(), Optional.empty()).with(List.of("main"));
        return lease(id, pod, holder, gpus);
    }

    /** What a kubelet has reserved. */
    static Lease promised(long id, Gpu... gpus) {
        return lease(id, Origin.Pod.UNKNOWN, Holder.reserved(KUBELET), gpus);
    }

    private static Lease lease(long id, Origin origin, Holder holder, Gpu... gpus) {
        Claim claim =
                new Claim(
                        TestingLeases.key("%012x".formatted(id)),
                        origin,
                        Owner.KUBERNETES,
                        Stream.of(gpus).map(ClaimedGpu::of).toList(),
                        TestingLeases.THEN,
                        Optional.empty());
        return new Lease(
                id,
                claim,
                holder,
                "boot",
                TestingLeases.THEN,
                Optional.empty(),
                0,
                Optional.empty());
    }

    TestingBoard held(Lease lease) {
        leases.add(lease);
        return this;
    }

    TestingBoard cordoned(Gpu gpu) {
        cordoned.put(
                gpu.uuid(),
                new Cordon.ByCommand(new Owner(0, "root"), TestingLeases.THEN, "fan is loud"));
        return this;
    }

    TestingBoard used(GpuUse use) {
        used.put(use.gpu().uuid(), List.of(use));
        return this;
    }

    TestingBoard waiting(Ticket ticket) {
        waiting.add(ticket);
        return this;
    }

    Leases.Board board() {
        Holdings idle = TestingLeases.holdings(leases, Map.of());
        Holdings holdings =
                new Holdings(idle.now(), idle.held(), Map.of(), Map.of(), cordoned, List.of());
        UnmanagedUses uses = new UnmanagedUses(used, false);
        GpuChoice choice =
                TestingLeases.choice(
                        gpus,
                        new GpuTraits(connections, Map.of()),
                        holdings,
                        uses,
                        waiting,
                        TestingLeases.POLICY);
        return new Leases.Board(
                choice.verdicts().stream().map(TestingBoard::status).toList(), choice);
    }

    private static GpuStatus status(Verdict verdict) {
        Optional<Lease> lease = verdict.holder();
        GpuStatus.State state =
                lease.map(it ->
                                it.isReservation()
                                        ? GpuStatus.State.RESERVED
                                        : GpuStatus.State.HELD)
                        .orElse(verdict.state());
        return new GpuStatus(verdict, state, lease, Optional.empty(), "");
    }
}
