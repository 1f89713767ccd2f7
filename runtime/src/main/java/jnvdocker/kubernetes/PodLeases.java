package jnvdocker.kubernetes;

import jnvdocker.grant.Keeper;
import jnvdocker.grant.LeaseParts;
import jnvdocker.grant.Pace;
import jnvdocker.grant.Supply;
import jnvdocker.grant.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Allowances;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Leases of pods of Kubernetes: one for each pod and GPU, which all containers of the pod share.
 * Any component that starts a container for a kubelet takes them here: a device plugin now, a
 * driver of Dynamic Resource Allocation later.
 */
public final class PodLeases implements PodGrants {
    private static final Duration STEP = Duration.ofMillis(100);

    /** Between scans of all processes of the host, of which the end of one is not reported. */
    private static final Duration BETWEEN_SCANS = Duration.ofSeconds(1);

    /** A kubelet does not retry a pod that was refused its devices. */
    public static final String AT_ADMISSION = "make the pod again, which may get others then";

    private static final String AT_START = "wait, or delete the pod";

    private final LeaseRegistry registry;
    private final Keeper keeper;
    private final LeaseParts parts;
    private final Pace pace;
    private final PodKind pods;
    private final PodReport report;

    /**
     * @param pods that the parts were opened with
     */
    public PodLeases(LeaseParts parts, Pace pace, PodKind pods) {
        this.parts = parts;
        this.pace = pace;
        this.pods = pods;
        registry = parts.registry();
        keeper = parts.keeper();
        report = new PodReport(parts, pods);
    }

    /** What follows the kubelet's answers. */
    public PodReport report() {
        return report;
    }

    /**
     * A container of a pod that is about to start.
     *
     * @param pod unknown until the kubelet names it
     * @param container its name; empty when that is not known
     * @param kubelet the process that starts it
     */
    public record Start(
            List<Gpu> gpus, Origin.Pod pod, Optional<String> container, ProcessId kubelet) {
        public Start {
            gpus = List.copyOf(gpus);
        }
    }

    @Override
    public void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException {
        Rules rules = rules(Owner.KUBERNETES);
        List<Lease> others = others(gpus);
        if (!others.isEmpty() && keeper.end(others, Keeper.Caller.WAITER)) {
            others = others(gpus);
        }
        if (!others.isEmpty()) {
            throw new RefusedException(
                    LeaseText.held(claimed(gpus), others) + keeper.remark(others), AT_ADMISSION);
        }
        Optional<Attempt> refused =
                registry.decide(leases -> {
                    Holdings holdings = leases.holdings();
                    List<Gpu> free = free(gpus, holdings);
                    Optional<Attempt> why = rules.refuse(free, holdings, UnmanagedUses.NONE);
                    if (why.isEmpty()) {
                        for (Gpu gpu : free) {
                            Claim claim = PodReport.claim(gpu, Origin.Pod.UNKNOWN, holdings);
                            leases.add(claim, Optional.empty());
                            leases.promise(claim, kubelet);
                        }
                    }
                    return why;
                });
        if (refused.isPresent()) {
            throw new RefusedException(
                    switch (refused.get()) {
                        case Blocked(Supplier<String> why, _) -> why.get();
                        case Impossible(Supplier<Refusal> why) -> why.get().what();
                        case Taken _ -> throw new IllegalStateException("taken at admission");
                    },
                    AT_ADMISSION);
        }
    }

    private List<Lease> others(List<Gpu> gpus) throws IOException {
        return leases(gpus, registry.holdings()).stream().filter(PodLeases::isFinal).toList();
    }

    /** Whether a lease does not end soon, as far as a kubelet may wait for that. */
    private static boolean isFinal(Lease lease) {
        return !lease.isReservation() && !PodKind.isOfPod(lease);
    }

    /**
     * Whether a container may have used the GPU under this lease. One that {@link PodReport#update}
     * has given to a known pod has been checked by nobody yet.
     */
    private static boolean hasStarted(Lease lease) {
        Optional<Origin.Pod> pod = PodKind.pod(lease);
        return pod.isEmpty()
                || !lease.isReservation()
                        && (!lease.holder().details().isEmpty() || pod.get().uid().isEmpty());
    }

    private static List<Lease> leases(List<Gpu> gpus, Holdings holdings) {
        return gpus.stream().flatMap(gpu -> holdings.of(gpu).stream()).distinct().toList();
    }

    private static List<Gpu> free(List<Gpu> gpus, Holdings holdings) {
        return gpus.stream().filter(gpu -> holdings.of(gpu).isEmpty()).toList();
    }

    private static List<ClaimedGpu> claimed(List<Gpu> gpus) {
        return gpus.stream().map(ClaimedGpu::of).toList();
    }

    /** All but the leases that a choice depends on, read before it is made. */
    private record Rules(Supply.Terms terms, List<Ticket> waiting) {

        /** Why GPUs that a kubelet has chosen cannot be given; empty if they can. */
        Optional<Attempt> refuse(List<Gpu> gpus, Holdings holdings, UnmanagedUses unmanaged) {
            if (gpus.isEmpty()) {
                return Optional.empty();
            }
            GpuRequest.Devices request =
                    new GpuRequest.Devices(gpus.stream().map(Gpu::uuid).toList());
            try {
                return switch (terms.choice(holdings, unmanaged, waiting)
                        .of(request, Owner.KUBERNETES)) {
                    case GpuChoice.Busy busy ->
                            Optional.of(new Blocked(() -> ChoiceText.reason(busy), busy.leases()));
                    case GpuChoice.Impossible why ->
                            Optional.of(new Impossible(() -> ChoiceText.refusal(why)));
                    case GpuChoice.Chosen _ -> Optional.empty();
                };
            } catch (RefusedException e) {
                return Optional.of(new Impossible(e::refusal));
            }
        }
    }

    private Rules rules(Owner owner) throws IOException {
        List<Ticket> waiting = parts.queue().all();
        return new Rules(parts.supply().terms(owner, waiting), waiting);
    }

    @Override
    public List<Lease> take(Start start, Duration patience) throws RefusedException, IOException {
        long until = pace.nanos() + patience.toNanos();
        while (true) {
            long seen = registry.changes().count();
            // While others hold them, no scan for unmanaged uses is needed.
            Optional<Blocked> held = held(start, registry.holdings());
            switch (held.isPresent() ? held.get() : attempt(start)) {
                case Taken(List<Lease> leases) -> {
                    return leases;
                }
                case Impossible(Supplier<Refusal> why) -> throw new RefusedException(why.get());
                case Blocked(Supplier<String> why, List<Lease> by) -> {
                    if (keeper.end(by, Keeper.Caller.WAITER)) {
                        continue;
                    }
                    boolean waits = by.stream().noneMatch(PodLeases::isFinal);
                    long left = until - pace.nanos();
                    if (!waits || left <= 0) {
                        throw new RefusedException(why.get() + keeper.remark(by), AT_START);
                    }
                    if (held.isPresent()) {
                        pace.sleep(STEP, registry.changes(), seen);
                    } else {
                        pace.sleep(Duration.ofNanos(Math.min(left, BETWEEN_SCANS.toNanos())));
                    }
                    if (Thread.currentThread().isInterrupted()) {
                        throw new IOException("the daemon is stopping");
                    }
                }
            }
        }
    }

    private sealed interface Attempt {}

    private record Taken(List<Lease> leases) implements Attempt {}

    /**
     * @param by the leases that keep the pod from its GPUs; empty when other things do
     */
    private record Blocked(Supplier<String> why, List<Lease> by) implements Attempt {}

    /** Nothing that ends would change it. */
    private record Impossible(Supplier<Refusal> why) implements Attempt {}

    /** The leases of others. */
    private static Optional<Blocked> held(Start start, Holdings holdings) {
        List<Lease> others =
                leases(start.gpus(), holdings).stream()
                        .filter(lease -> !isOf(start.pod(), lease))
                        .toList();
        return others.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new Blocked(() -> LeaseText.held(claimed(start.gpus()), others), others));
    }

    private Attempt attempt(Start start) throws RefusedException, IOException {
        Rules rules = rules(start.pod().owner());
        // Before the leases are read: a process that was seen has one by then, or none.
        List<GpuUse> uses = parts.unmanagedScan().scanWithoutEngine(rules.terms().gpus());
        Optional<Processes.Group> group = pods.group(start.pod().uid());
        pods.refuseUnseen(start.pod(), group);
        List<GpuUse> others = uses.stream().filter(use -> !isIn(group, use)).toList();
        while (true) {
            UnmanagedScan.Seen seen = parts.unmanagedScan().assign(others, registry.live());
            Optional<Attempt> decided =
                    registry.decide(leases ->
                            seen.isOf(leases.holdings())
                                    ? Optional.of(attempt(start, rules, seen.uses(), group, leases))
                                    : Optional.empty());
            if (decided.isPresent()) {
                return decided.get();
            }
        }
    }

    /** Why the last pod that was to start can have no lease from a kubelet like this. */
    public Optional<Refusal> fault() {
        return pods.fault();
    }

    private Attempt attempt(
            Start start,
            Rules rules,
            Map<String, List<GpuUse>> uses,
            Optional<Processes.Group> group,
            LeaseWriter writer) {
        Holdings holdings = writer.holdings();
        Optional<Blocked> held = held(start, holdings);
        if (held.isPresent()) {
            return held.get();
        }
        List<Gpu> open =
                start.gpus().stream()
                        .filter(gpu -> holdings.of(gpu).filter(PodLeases::hasStarted).isEmpty())
                        .toList();
        for (Gpu gpu : open) {
            if (!gpu.isSound()) {
                return new Impossible(() -> GpuText.sick(gpu));
            }
        }
        UnmanagedUses unmanaged = rules.terms().unmanaged(uses);
        for (Gpu gpu : open) {
            if (unmanaged.bars(gpu.uuid())) {
                return new Blocked(
                        () ->
                                LeaseText.name(gpu.number(), gpu.uuid())
                                        + " "
                                        + LeaseText.used(unmanaged.first(gpu.uuid()).orElseThrow()),
                        List.of());
            }
        }
        return rules.refuse(free(open, holdings), holdings, unmanaged)
                .or(() ->
                        open.isEmpty()
                                ? Optional.empty()
                                : excess(start, holdings, rules.terms().allowances()))
                .orElseGet(() -> new Taken(take(start, group, writer)));
    }

    /**
     * Why the namespace of a pod may not have its GPUs, too. What others have reserved does not
     * count: each of two pods could keep the other from starting.
     */
    private static Optional<Attempt> excess(Start start, Holdings holdings, Allowances allowances) {
        Map<String, Lease> others = new HashMap<>(holdings.held());
        others.values().removeIf(lease -> !hasStarted(lease));
        start.gpus().forEach(gpu -> others.remove(gpu.uuid()));
        int wanted = start.gpus().size();
        return new Quota(allowances, others)
                .excess(start.pod().owner(), wanted)
                .map(excess ->
                        switch (excess) {
                            case Quota.ForNow now ->
                                    new Blocked(
                                            () -> QuotaText.why(now),
                                            now instanceof Quota.TooMany many
                                                    ? many.leases()
                                                    : List.of());
                            case Quota.ForGood ever ->
                                    new Impossible(() ->
                                            new Refusal(
                                                    "this container asks for "
                                                            + wanted
                                                            + " GPUs, and "
                                                            + QuotaText.why(ever),
                                                    QuotaText.remedy(ever)));
                        });
    }

    private static List<Lease> take(
            Start start, Optional<Processes.Group> group, LeaseWriter writer) {
        Holder holder =
                PodKind.holder(
                        start.kubelet(),
                        group.map(Processes.Group::folder),
                        start.container().stream().toList());
        List<Lease> taken = new ArrayList<>();
        for (Lease lease : leases(start.gpus(), writer.holdings())) {
            taken.add(goesOn(lease, start.pod(), holder, writer));
        }
        for (Gpu gpu : free(start.gpus(), writer.holdings())) {
            Claim claim = PodReport.claim(gpu, start.pod(), writer.holdings());
            writer.add(claim, Optional.empty());
            taken.add(writer.begin(claim, holder));
        }
        return List.copyOf(taken);
    }

    private static Lease goesOn(Lease lease, Origin.Pod pod, Holder next, LeaseWriter writer) {
        if (lease.isReservation()) {
            Origin.Pod known = PodSights.known(pod, PodKind.pod(lease).orElseThrow());
            writer.rename(lease, known);
            Lease taken = writer.hold(lease, next).orElseThrow().of(known);
            writer.granted(taken);
            return taken;
        }
        Holder before = lease.holder();
        Set<String> containers = new LinkedHashSet<>(before.details());
        containers.addAll(next.details());
        Holder merged =
                PodKind.holder(
                        before.process(),
                        next.cgroup().or(before::cgroup),
                        List.copyOf(containers));
        return merged.equals(before) ? lease : writer.hold(lease, merged).orElseThrow();
    }

    /** Whether a pod has a lease, or may make it its own. */
    private static boolean isOf(Origin.Pod pod, Lease lease) {
        return PodKind.pod(lease)
                .filter(its ->
                        lease.isReservation()
                                || !its.uid().isEmpty() && its.uid().equals(pod.uid()))
                .isPresent();
    }

    /** Whether a use is the pod's own: a pod that has lost its lease may run already. */
    private boolean isIn(Optional<Processes.Group> group, GpuUse use) {
        return group.isPresent()
                && use.process()
                        .filter(process -> pods.isIn(process.id(), group.get().folder()))
                        .isPresent();
    }

    /** The leases of pods, and those that are reserved for one. */
    public List<Lease> live() throws IOException {
        return report.leases();
    }

    /** The leases of a pod that has started. */
    public List<Lease> of(String uid) throws IOException {
        return uid.isEmpty()
                ? List.of()
                : live().stream()
                        .filter(lease -> !lease.isReservation())
                        .filter(lease ->
                                PodKind.pod(lease).filter(it -> it.uid().equals(uid)).isPresent())
                        .toList();
    }
}
