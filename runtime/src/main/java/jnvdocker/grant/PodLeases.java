package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
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
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Leases of pods of Kubernetes: one for each pod and GPU, which all containers of the pod share.
 * Whoever starts a container for a kubelet takes them here: a device plugin now, a driver of
 * Dynamic Resource Allocation later.
 */
public final class PodLeases {
    private static final Duration STEP = Duration.ofMillis(100);

    /** Between scans of all processes of the host, of which the end of one is not reported. */
    private static final Duration BETWEEN_SCANS = Duration.ofSeconds(1);

    /** A kubelet does not ask again for a pod that was refused its devices. */
    public static final String AT_ADMISSION = "make the pod again, which may get others then";

    private static final String AT_START = "wait, or delete the pod";

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final PodReport report;
    private final LostPods lost;
    private final Keeper keeper;
    private final WaitingQueue queue;
    private final ClaimVolumes.Inventory inventory;
    private final UnmanagedLook unmanagedLook;
    private final Supplier<LeasePolicy> policy;
    private final Supplier<GpuTraits> traits;
    private final Pace pace;

    PodLeases(
            LeaseRegistry registry,
            Evidence evidence,
            PodReport report,
            LostPods lost,
            Keeper keeper,
            WaitingQueue queue,
            ClaimVolumes.Inventory inventory,
            UnmanagedLook unmanagedLook,
            Supplier<LeasePolicy> policy,
            Supplier<GpuTraits> traits,
            Pace pace) {
        this.registry = registry;
        this.evidence = evidence;
        this.report = report;
        this.lost = lost;
        this.keeper = keeper;
        this.queue = queue;
        this.inventory = inventory;
        this.unmanagedLook = unmanagedLook;
        this.policy = policy;
        this.traits = traits;
        this.pace = pace;
    }

    /**
     * A container of a pod that is about to start.
     *
     * @param pod unknown as long as the kubelet has not told
     * @param container its name; empty when that is not known
     * @param kubelet the process that starts it
     */
    public record Start(
            List<Gpu> gpus, Origin.Pod pod, Optional<String> container, ProcessId kubelet) {
        public Start {
            gpus = List.copyOf(gpus);
        }
    }

    /**
     * The moment at which a kubelet was asked: leases that are made later are not in its answer.
     *
     * @param newest the number of the last lease that had been made
     */
    public record Sight(long newest, Instant time) {}

    /**
     * Reserves those of the GPUs that are free for a pod that is not known yet; all of these, or
     * none. Those that are reserved, or held by a pod, are its in {@link #take}. Looks at nothing
     * but the registry, so that it takes no time: {@link #take} looks at what else uses the GPUs.
     *
     * @throws RefusedException when another holds one of them, or it may not be given out
     */
    public void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException {
        Rules rules = rules();
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
        return leases(gpus, registry.holdings()).stream().filter(this::isFinal).toList();
    }

    /** Whether a lease does not end soon, as far as a kubelet may wait for that. */
    private boolean isFinal(Lease lease) {
        return !lease.isReservation() && !isOfPod(lease);
    }

    private static boolean isOfPod(Lease lease) {
        return PodKind.pod(lease).isPresent();
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
    private record Rules(
            List<Gpu> host, GpuTraits traits, List<Ticket> waiting, LeasePolicy policy) {

        /** Why GPUs that a kubelet has chosen cannot be given; empty if they can. */
        Optional<Attempt> refuse(List<Gpu> gpus, Holdings holdings, UnmanagedUses unmanaged) {
            if (gpus.isEmpty()) {
                return Optional.empty();
            }
            GpuRequest.Devices request =
                    new GpuRequest.Devices(gpus.stream().map(Gpu::uuid).toList());
            try {
                return switch (new GpuChoice(host, traits, holdings, unmanaged, waiting, policy)
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

    private Rules rules() throws IOException {
        return new Rules(inventory.gpus(), traits.get(), queue.all(), policy.get());
    }

    /**
     * Gives all GPUs to a pod, from now on until nothing of it lives and the kubelet no longer
     * lists them. The same pod again gets the same answer.
     *
     * @param patience how long it waits for the ends of others
     * @return its leases of them
     * @throws RefusedException saying who has them
     */
    public List<Lease> take(Start start, Duration patience) throws RefusedException, IOException {
        long until = pace.nanos() + patience.toNanos();
        while (true) {
            long seen = registry.changes().count();
            // As long as others hold them, nobody else needs to be looked for.
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
                    boolean waits = by.stream().noneMatch(this::isFinal);
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
        Rules rules = rules();
        // Before the leases are read: a process that was seen has one by then, or none.
        List<GpuUse> uses = unmanagedLook.lookWithoutEngine(rules.host());
        Optional<Processes.Group> group = evidence.pods().group(start.pod().uid());
        evidence.pods().refuseUnseen(start.pod(), group);
        List<GpuUse> others = uses.stream().filter(use -> !isIn(group, use)).toList();
        while (true) {
            UnmanagedLook.Seen seen = unmanagedLook.assign(others, registry.live());
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
        return evidence.pods().fault();
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
                        .filter(gpu -> holdings.of(gpu).filter(PodReport::hasStarted).isEmpty())
                        .toList();
        for (Gpu gpu : open) {
            if (!gpu.isSound()) {
                return new Impossible(() -> GpuText.sick(gpu));
            }
        }
        UnmanagedUses unmanaged = new UnmanagedUses(uses, rules.policy().allowUnmanaged());
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
                .orElseGet(() -> new Taken(take(start, group, writer)));
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
            writer.rename(lease, pod);
            Lease taken = writer.hold(lease, next).orElseThrow().of(pod);
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

    /** A pod whose lease was lost has its own processes. */
    private boolean isIn(Optional<Processes.Group> group, GpuUse use) {
        return group.isPresent()
                && use.process()
                        .filter(process -> evidence.pods().isIn(process.id(), group.get().folder()))
                        .isPresent();
    }

    /** Before the kubelet is asked. */
    public Sight look() throws IOException {
        return new Sight(
                registry.live().stream().mapToLong(Lease::id).max().orElse(0), registry.now());
    }

    /**
     * What the kubelet has answered: ends the leases that are over, learns the names of pods, and
     * restores the leases of pods that run and whose leases were lost.
     *
     * @param listed by UUID, the pods that the kubelet lists with a GPU; the uid is empty where
     *     only the name is known
     * @param remembered likewise the pods of the kubelet's own file, some of which may be gone
     */
    public void told(
            Sight begun,
            Map<String, Set<Origin.Pod>> listed,
            Map<String, Set<Origin.Pod>> remembered)
            throws IOException {
        report.told(new PodSights.Answer(begun, listed, remembered));
    }

    /**
     * Restores the leases of pods that run, and whose leases were lost, before the kubelet answers.
     *
     * @param remembered by UUID, the pods of the kubelet's own file
     */
    public void restore(Map<String, Set<Origin.Pod>> remembered) throws IOException {
        lost.restore();
        report.restore(remembered);
    }

    /**
     * No kubelet of this host is asked any more, and none gets GPUs: pods that have some keep them
     * as long as they run.
     */
    public void stop() throws IOException {
        report.stop();
    }

    /** The leases of a pod. */
    public List<Lease> of(String uid) throws IOException {
        return uid.isEmpty()
                ? List.of()
                : registry.live().stream()
                        .filter(lease ->
                                PodKind.pod(lease).filter(it -> it.uid().equals(uid)).isPresent())
                        .toList();
    }
}
