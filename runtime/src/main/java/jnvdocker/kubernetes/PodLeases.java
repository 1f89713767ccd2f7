package jnvdocker.kubernetes;

import jnvdocker.core.LeaseParts;
import jnvdocker.grant.Grants;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Leases of pods of Kubernetes: one for each pod and GPU, which all containers of the pod share.
 * Both a device plugin and a driver of Dynamic Resource Allocation take them here.
 */
public final class PodLeases implements PodGrants {
    /** No event reports the end of a pod's last process. */
    private static final Duration BETWEEN_CHECKS = Duration.ofMillis(200);

    private final Grants grants;
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
        grants = parts.grants();
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
     * @param shares by UUID, how much memory is requested of those GPUs that are not requested
     *     whole
     * @param pod unknown until the kubelet names it
     * @param container its name; empty when that is not known
     * @param kubelet the process that starts it
     */
    public record Start(
            List<Gpu> gpus,
            Map<String, MemorySize> shares,
            Origin.Pod pod,
            Optional<String> container,
            ProcessId kubelet) {
        public Start {
            gpus = List.copyOf(gpus);
            shares = Map.copyOf(shares);
        }

        /** A container that requests whole GPUs. */
        public Start(
                List<Gpu> gpus, Origin.Pod pod, Optional<String> container, ProcessId kubelet) {
            this(gpus, Map.of(), pod, container, kubelet);
        }

        /** All containers of a pod, which have GPUs by a resource claim of this uid. */
        static Start byClaim(
                List<Gpu> gpus,
                Map<String, MemorySize> shares,
                Origin.Pod pod,
                String claim,
                ProcessId kubelet) {
            return new Start(gpus, shares, pod, Optional.of(PodKind.byClaim(claim)), kubelet);
        }

        /** The amount of a GPU that is requested; of any when the GPU is requested whole. */
        GpuFilter filter(Gpu gpu) {
            return GpuFilter.sharing(Optional.ofNullable(shares.get(gpu.uuid())));
        }

        /** The request of a place in the queue. */
        Request request(ProcessId sandbox) {
            return new Request(
                    new GpuRequest.Devices(gpus.stream().map(Gpu::uuid).toList()),
                    Set.of(),
                    pod.owner(),
                    sandbox,
                    pod,
                    Optional.empty());
        }

        List<Gpu> whole() {
            return gpus.stream().filter(gpu -> !shares.containsKey(gpu.uuid())).toList();
        }

        /** Whether a lease is the pod's of a GPU, as it is requested. */
        private boolean isOf(Lease lease, Gpu gpu) {
            boolean share = shares.containsKey(gpu.uuid());
            return PodLeases.isOf(pod, lease)
                    && lease.claims(ClaimedGpu.of(gpu))
                    && lease.share(gpu.uuid()).isPresent() == share
                    && (!share
                            || lease.holder().details().containsAll(container.stream().toList()));
        }

        /** Whether the pod may open one of its GPUs by the node of another of its GPUs, too. */
        private boolean opens(Lease lease, Gpu gpu, Optional<Lease> own) {
            return own.isPresent()
                    && lease.opened(ClaimedGpu.of(gpu)).isPresent()
                    && PodKind.pod(lease).filter(its -> its.uid().equals(pod.uid())).isPresent();
        }
    }

    @Override
    public void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException {
        grants.take(
                () ->
                        grants.decide(
                                new Admission(
                                        gpus,
                                        kubelet,
                                        rules(Owner.KUBERNETES, parts.queue().all()))),
                grants.patience(Duration.ZERO, Optional.empty(), _ -> false));
    }

    /**
     * The reservation for a pod that a kubelet admits, of which it is not known yet which it is.
     */
    private final class Admission implements Grants.Bid<List<Gpu>> {
        private final List<Gpu> gpus;
        private final ProcessId kubelet;
        private final Rules rules;

        Admission(List<Gpu> gpus, ProcessId kubelet, Rules rules) {
            this.gpus = gpus;
            this.kubelet = kubelet;
            this.rules = rules;
        }

        /** The pod waits at its start until unmanaged uses have ended. */
        @Override
        public boolean needsScan(Holdings holdings) {
            return false;
        }

        @Override
        public List<GpuUse> scan() {
            return List.of();
        }

        @Override
        public Optional<Grants.Answer<List<Gpu>>> decide(
                LeaseWriter leases, Map<String, List<GpuUse>> uses) {
            Holdings holdings = leases.holdings();
            List<Lease> others =
                    leases(gpus, holdings).stream().filter(PodLeases::isFinal).toList();
            if (!others.isEmpty()) {
                return Optional.of(
                        new Grants.Blocked<>(
                                others, () -> held(gpus, others, Addressee.POD_AT_ADMISSION)));
            }
            List<Gpu> free = free(gpus, holdings);
            Outcome outcome;
            try {
                outcome = whole(free, rules.choice(holdings, UnmanagedUses.NONE));
            } catch (RefusedException e) {
                String advice = Addressee.POD_AT_ADMISSION.advice();
                return Optional.of(
                        new Grants.Refused<>(
                                () -> new RefusedException(e.refusal().what(), advice)));
            }
            if (!(outcome instanceof Outcome.Chosen)) {
                return Optional.of(
                        new Grants.Refused<>(() -> refused(outcome, Addressee.POD_AT_ADMISSION)));
            }
            for (Gpu gpu : free) {
                Claim claim = report.claim(ClaimedGpu.of(gpu), Origin.Pod.UNKNOWN, holdings);
                leases.add(claim, Optional.empty());
                leases.promise(claim, kubelet);
            }
            return Optional.of(new Grants.Granted<>(free));
        }
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
        return gpus.stream().flatMap(gpu -> holdings.holders(gpu).stream()).distinct().toList();
    }

    private static List<Gpu> free(List<Gpu> gpus, Holdings holdings) {
        return gpus.stream().filter(gpu -> holdings.of(gpu).isEmpty()).toList();
    }

    private RefusedException held(List<Gpu> gpus, List<Lease> by, Addressee.Told to) {
        return new RefusedException(
                Refusals.held(
                        gpus.stream().map(ClaimedGpu::of).toList(), by, keeper.remark(by), to));
    }

    private static RefusedException refused(Outcome outcome, Addressee.Told to) {
        return new RefusedException(Refusals.of(outcome, to));
    }

    /** The outcome for GPUs that a kubelet has chosen. */
    private static Outcome whole(List<Gpu> gpus, GpuChoice choice) throws RefusedException {
        List<String> uuids = gpus.stream().map(Gpu::uuid).toList();
        return gpus.isEmpty()
                ? new Outcome.Chosen(List.of())
                : choice.of(new Requested(new GpuRequest.Devices(uuids), Owner.KUBERNETES));
    }

    /** The outcome for a share of a GPU. */
    private static Outcome share(GpuFilter share, Gpu gpu, GpuChoice choice)
            throws RefusedException {
        GpuRequest one = new GpuRequest.Count(1, share);
        return choice.of(new Requested(one, Owner.KUBERNETES).with(one, Set.of(gpu.uuid())));
    }

    /** All but the leases that a choice depends on, read before it is made. */
    private record Rules(Supply.Terms terms, List<Ticket> waiting) {
        GpuChoice choice(Holdings holdings, UnmanagedUses unmanaged) {
            return terms.choice(holdings, unmanaged, waiting);
        }
    }

    private Rules rules(Owner owner, List<Ticket> waiting) throws IOException {
        return new Rules(parts.supply().terms(owner, waiting), waiting);
    }

    @Override
    public List<Lease> take(Start start, Duration patience) throws RefusedException, IOException {
        return grants.take(
                () -> attempt(start),
                grants.patience(
                        Duration.ZERO,
                        Optional.of(pace.nanos() + patience.toNanos()),
                        by -> by.stream().noneMatch(PodLeases::isFinal)));
    }

    /**
     * A pod that must wait has a place in the queue from then on, by its oldest process: its
     * sandbox runs before the first container starts. Nothing of it runs yet when a resource claim
     * is prepared.
     */
    private Grants.Answer<List<Lease>> attempt(Start start) throws RefusedException, IOException {
        WaitingQueue queue = parts.queue();
        Optional<Request> place =
                start.shares().isEmpty()
                        ? pods.group(start.pod().uid()).map(group -> start.request(group.process()))
                        : Optional.empty();
        List<Ticket> before = place.map(its -> queue.before(its.client())).orElseGet(queue::all);
        Grants.Answer<List<Lease>> outcome =
                grants.decide(new StartBid(start, rules(start.pod().owner(), before)));
        if (place.isPresent()) {
            if (outcome instanceof Grants.Blocked) {
                queue.keepPlace(place.get());
            }
            // A call that the kubelet has given up may end after the next one has got them.
            if (!(outcome instanceof Grants.Blocked) || hasAll(start)) {
                queue.leave(place.get());
            }
        }
        return outcome;
    }

    private boolean hasAll(Start start) throws IOException {
        List<Lease> its = of(start.pod().uid());
        return start.gpus().stream()
                .allMatch(gpu -> its.stream().anyMatch(lease -> lease.isOf(gpu.uuid())));
    }

    /** The kubelet has a resource claim of this uid from now on. */
    void hold(String claim) {
        pods.sights().forgetGivenBack(claim);
    }

    /**
     * Ends the leases by a resource claim that the kubelet has given back. May be repeated. A
     * kubelet that ends a pod twice gives the pod's claim back while another pod uses the claim.
     *
     * @param users the uids of the pods that the kubelet lets use the claim
     * @param patience how long it waits for the end of the pods
     * @throws RefusedException when something of a pod still runs; its leases end after that
     */
    void giveBack(String claim, Set<String> users, Duration patience)
            throws RefusedException, IOException {
        long until = pace.nanos() + patience.toNanos();
        List<Lease> left = by(claim);
        while (!left.isEmpty()) {
            pods.sights().giveBack(claim, users);
            long seen = parts.registry().changes().count();
            keeper.end(left, Keeper.Caller.CLIENT);
            left = by(claim);
            if (!left.isEmpty() && pace.nanos() >= until) {
                List<String> joined = left.stream().flatMap(pods::joinedText).toList();
                throw new RefusedException(
                        joined.isEmpty()
                                ? HoldersText.held(left.getFirst().claim().gpus(), left)
                                        + keeper.remark(left)
                                : joined.getFirst(),
                        "the GPUs are free when nothing of the pod runs any more");
            }
            awaitEnd(left, seen);
        }
        pods.sights().forgetGivenBack(claim);
    }

    private void awaitEnd(List<Lease> left, long seen) throws IOException {
        try {
            if (!left.isEmpty()) {
                parts.registry().changes().await(seen, BETWEEN_CHECKS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while a pod ends", e);
        }
    }

    private List<Lease> by(String claim) throws IOException {
        return live().stream()
                .filter(lease -> PodKind.claim(lease).filter(claim::equals).isPresent())
                .toList();
    }

    /** Why the last pod that was to start can have no lease from a kubelet like this. */
    public Optional<Refusal> fault() {
        return pods.fault();
    }

    /** A start of a pod's container, by the rules of one moment. */
    private final class StartBid implements Grants.Bid<List<Lease>> {
        private final Start start;
        private final Rules rules;
        private Optional<Processes.Group> group = Optional.empty();

        StartBid(Start start, Rules rules) {
            this.start = start;
            this.rules = rules;
        }

        /** While others hold the GPUs, their uses do not matter. */
        @Override
        public boolean needsScan(Holdings holdings) {
            return others(holdings).isEmpty();
        }

        @Override
        public List<GpuUse> scan() throws RefusedException, IOException {
            List<GpuUse> uses = parts.unmanagedScan().scanWithoutEngine(rules.terms().gpus());
            group = pods.group(start.pod().uid());
            pods.refuseUnseen(start.pod(), group);
            return uses.stream().filter(use -> !isOfPod(use)).toList();
        }

        /** Whether a use is the pod's own: a pod that has lost its lease may run already. */
        private boolean isOfPod(GpuUse use) {
            return group.isPresent()
                    && use.process()
                            .filter(process -> pods.isIn(process.id(), group.get().directory()))
                            .isPresent();
        }

        /** The leases for which a GPU cannot be had whole. */
        private List<Lease> others(Holdings holdings) {
            return start.whole().stream()
                    .flatMap(gpu ->
                            holdings.holders(gpu).stream()
                                    .filter(it -> !start.isOf(it, gpu))
                                    .filter(it -> !start.opens(it, gpu, own(gpu, holdings))))
                    .distinct()
                    .toList();
        }

        /** The lease of a GPU that the pod has already, or that is reserved for one. */
        private Optional<Lease> own(Gpu gpu, Holdings holdings) {
            return holdings.holders(gpu).stream().filter(it -> start.isOf(it, gpu)).findFirst();
        }

        private ClaimedGpu wanted(Gpu gpu) {
            return ClaimedGpu.of(gpu, rules.terms().traits().share(start.filter(gpu), gpu));
        }

        @Override
        public Optional<Grants.Answer<List<Lease>>> decide(
                LeaseWriter leases, Map<String, List<GpuUse>> uses) {
            List<Lease> others = others(leases.holdings());
            if (!others.isEmpty()) {
                return Optional.of(
                        new Grants.Blocked<>(
                                others, () -> held(start.whole(), others, Addressee.POD_AT_START)));
            }
            Outcome outcome;
            try {
                outcome = outcome(leases.holdings(), rules.terms().unmanaged(uses));
            } catch (RefusedException e) {
                return Optional.of(new Grants.Refused<>(() -> e));
            }
            return Optional.of(
                    switch (outcome) {
                        case Outcome.Chosen _ -> new Grants.Granted<>(begin(leases));
                        case Outcome.Taken taken ->
                                new Grants.Blocked<>(
                                        taken.leases(),
                                        () -> refused(taken, Addressee.POD_AT_START));
                        // By no lease: each attempt scans the host.
                        case Outcome.OverQuota over ->
                                new Grants.Blocked<>(
                                        List.of(), () -> refused(over, Addressee.POD_AT_START));
                        case Outcome.Impossible why ->
                                new Grants.Refused<>(() -> refused(why, Addressee.POD_AT_START));
                    });
        }

        private List<Lease> begin(LeaseWriter writer) {
            Holder holder =
                    PodKind.holder(
                            start.kubelet(),
                            group.map(Processes.Group::directory),
                            start.container().stream().toList());
            Holdings before = writer.holdings();
            List<Lease> taken = new ArrayList<>();
            for (Gpu gpu : start.gpus()) {
                Optional<Lease> own = own(gpu, before);
                if (own.isPresent()) {
                    taken.add(goesOn(own.get(), holder, writer));
                } else {
                    Claim claim = report.claim(wanted(gpu), start.pod(), before);
                    writer.add(claim, Optional.empty());
                    taken.add(writer.begin(claim, holder));
                }
            }
            return List.copyOf(taken);
        }

        private Lease goesOn(Lease lease, Holder next, LeaseWriter writer) {
            if (lease.isReservation()) {
                Origin.Pod known = PodSights.known(start.pod(), PodKind.pod(lease).orElseThrow());
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

        /** What becomes of the GPUs that no container of the pod may have used so far. */
        private Outcome outcome(Holdings holdings, UnmanagedUses unmanaged)
                throws RefusedException {
            List<Gpu> open =
                    start.gpus().stream()
                            .filter(gpu ->
                                    own(gpu, holdings).filter(PodLeases::hasStarted).isEmpty())
                            .toList();
            if (open.isEmpty()) {
                return new Outcome.Chosen(List.of());
            }
            GpuChoice choice = rules.choice(holdings, unmanaged);
            Optional<Outcome> barred = barred(open, choice);
            if (barred.isPresent()) {
                return barred.get();
            }
            List<Gpu> whole = open.stream().filter(start.whole()::contains).toList();
            Outcome outcome = whole(free(whole, holdings), choice);
            for (Gpu gpu : open) {
                if (outcome instanceof Outcome.Chosen && !whole.contains(gpu)) {
                    outcome = share(start.filter(gpu), gpu, choice);
                }
            }
            return outcome instanceof Outcome.Chosen
                    ? beyondLimits(open, holdings).orElse(outcome)
                    : outcome;
        }

        /** What is reserved is checked again for what may have happened since. */
        private static Optional<Outcome> barred(List<Gpu> open, GpuChoice choice) {
            GpuRequest request = new GpuRequest.Devices(open.stream().map(Gpu::uuid).toList());
            List<Verdict> verdicts =
                    open.stream()
                            .map(gpu ->
                                    choice.verdict(gpu, new Requested(request, Owner.KUBERNETES)))
                            .toList();
            Optional<Outcome> sick =
                    verdicts.stream()
                            .filter(it -> it.is(Verdict.Sick.class))
                            .<Outcome>map(it -> new Outcome.Barred(it, List.of()))
                            .findFirst();
            return sick.isPresent()
                    ? sick
                    : verdicts.stream()
                            .map(Verdict::ofUses)
                            .filter(Verdict::isBusy)
                            .<Outcome>map(it -> new Outcome.Taken(request, List.of(it), List.of()))
                            .findFirst();
        }

        /**
         * Whether the namespace of the pod may not have its GPUs, too. What others have reserved
         * does not count: each of two pods could keep the other from starting.
         */
        private Optional<Outcome> beyondLimits(List<Gpu> open, Holdings holdings) {
            Holdings started = holdings.without(lease -> !hasStarted(lease));
            return rules.terms()
                    .choice(started, UnmanagedUses.NONE, List.of())
                    .beyondLimits(start.pod().owner(), open.stream().map(this::wanted).toList());
        }
    }

    /** Whether a pod has a lease, or may make it its own. */
    private static boolean isOf(Origin.Pod pod, Lease lease) {
        return PodKind.pod(lease)
                .filter(its ->
                        lease.isReservation()
                                || !its.uid().isEmpty() && its.uid().equals(pod.uid()))
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
