package jnvdocker.kubernetes;

import jnvdocker.grant.Grants;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Requested;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A start of a pod's container, by the rules of one moment; or the reservation for a pod that a
 * kubelet admits, of which it is not known yet which it is. A kubelet has chosen the GPUs, so that
 * no user's limits count for a request of them.
 */
final class PodBid implements Grants.Bid<List<Lease>> {
    private static final Requested BY_KUBELET =
            new Requested(new GpuRequest.All(), Owner.KUBERNETES);

    private final PodStart start;
    private final boolean admits;
    private final Addressee.Told kubelet;
    private final Supply.Terms terms;
    private final PodKind pods;
    private final PodReport report;
    private final UnmanagedScan unmanagedScan;
    private Optional<Processes.Group> group = Optional.empty();

    /**
     * @param admits whether the pod is only admitted
     */
    PodBid(
            PodStart start,
            boolean admits,
            Supply.Terms terms,
            PodKind pods,
            PodReport report,
            UnmanagedScan unmanagedScan) {
        this.start = start;
        this.admits = admits;
        kubelet = admits ? Addressee.POD_AT_ADMISSION : Addressee.POD_AT_START;
        this.terms = terms;
        this.pods = pods;
        this.report = report;
        this.unmanagedScan = unmanagedScan;
    }

    /**
     * While others hold the GPUs, their uses do not matter. A pod that was admitted waits at its
     * start until unmanaged uses have ended.
     */
    @Override
    public boolean needsScan(Holdings holdings) {
        return !admits && others(holdings).isEmpty();
    }

    @Override
    public List<GpuUse> scan() throws RefusedException, IOException {
        List<GpuUse> uses = unmanagedScan.scanWithoutEngine(terms.gpus());
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
                                .filter(it ->
                                        admits
                                                ? isFinal(it)
                                                : !start.isOf(it, gpu)
                                                        && !start.opens(
                                                                it, gpu, own(gpu, holdings))))
                .distinct()
                .toList();
    }

    /** Whether a lease does not end soon, as far as a kubelet may wait for that. */
    static boolean isFinal(Lease lease) {
        return !lease.isReservation() && !PodKind.isOfPod(lease);
    }

    /** The lease of a GPU that the pod has already, or that is reserved for one. */
    private Optional<Lease> own(Gpu gpu, Holdings holdings) {
        return holdings.holders(gpu).stream().filter(it -> start.isOf(it, gpu)).findFirst();
    }

    private ClaimedGpu wanted(Gpu gpu) {
        return ClaimedGpu.of(gpu, terms.traits().share(start.filter(gpu), gpu));
    }

    @Override
    public Optional<Grants.Answer<List<Lease>>> decide(
            LeaseWriter leases, Map<String, List<GpuUse>> uses) throws RefusedException {
        Holdings holdings = leases.holdings();
        List<Lease> others = others(holdings);
        if (!others.isEmpty()) {
            return Optional.of(
                    new Grants.Blocked<>(
                            others, () -> report.held(start.whole(), others, kubelet)));
        }
        GpuChoice choice = terms.choice(holdings, terms.unmanaged(uses));
        return Optional.of(
                switch (admits ? admission(holdings, choice) : outcome(holdings, choice)) {
                    case Outcome.Chosen _ ->
                            new Grants.Granted<>(
                                    admits ? promise(leases, holdings) : begin(leases, holdings));
                    case Outcome.Unmet why ->
                            Grants.unmet(
                                    why,
                                    // A limit is no lease's: each attempt scans the host.
                                    !admits && why instanceof Outcome.Taken
                                            ? why.leases()
                                            : List.of(),
                                    () -> new RefusedException(Refusals.of(why, kubelet)));
                });
    }

    private List<Lease> promise(LeaseWriter writer, Holdings before) {
        for (Gpu gpu : free(start.gpus(), before)) {
            Claim claim = report.claim(wanted(gpu), start.pod(), before);
            writer.add(claim, Optional.empty());
            writer.promise(claim, start.request().client());
        }
        return List.of();
    }

    private List<Lease> begin(LeaseWriter writer, Holdings before) {
        Holder holder =
                PodKind.holder(
                        start.request().client(),
                        group.map(Processes.Group::directory),
                        start.details());
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

    private Outcome admission(Holdings holdings, GpuChoice choice) throws RefusedException {
        try {
            return whole(start.gpus(), holdings, choice);
        } catch (RefusedException e) {
            throw new RefusedException(e.refusal().what(), kubelet.advice());
        }
    }

    /** What becomes of the GPUs that no container of the pod may have used so far. */
    private Outcome outcome(Holdings holdings, GpuChoice choice) throws RefusedException {
        List<Gpu> open =
                start.gpus().stream()
                        .filter(gpu -> own(gpu, holdings).filter(PodBid::hasStarted).isEmpty())
                        .toList();
        if (open.isEmpty()) {
            return new Outcome.Chosen(List.of());
        }
        Optional<Outcome.Unmet> barred = barred(open, choice);
        if (barred.isPresent()) {
            return barred.get();
        }
        List<Gpu> whole = open.stream().filter(start.whole()::contains).toList();
        Outcome outcome = whole(whole, holdings, choice);
        for (Gpu gpu : open) {
            if (outcome instanceof Outcome.Chosen && !whole.contains(gpu)) {
                GpuRequest share = new GpuRequest.Count(1, start.filter(gpu));
                outcome = choice.of(BY_KUBELET.with(share, Set.of(gpu.uuid())));
            }
        }
        return outcome instanceof Outcome.Chosen
                ? beyondLimits(open, holdings).<Outcome>map(it -> it).orElse(outcome)
                : outcome;
    }

    /** The outcome for those of GPUs that are requested whole which nobody holds. */
    private static Outcome whole(List<Gpu> gpus, Holdings holdings, GpuChoice choice)
            throws RefusedException {
        List<Gpu> free = free(gpus, holdings);
        return free.isEmpty() ? new Outcome.Chosen(List.of()) : choice.of(requested(free));
    }

    private static List<Gpu> free(List<Gpu> gpus, Holdings holdings) {
        return gpus.stream().filter(gpu -> holdings.of(gpu).isEmpty()).toList();
    }

    private static Requested requested(List<Gpu> gpus) {
        List<String> uuids = gpus.stream().map(Gpu::uuid).toList();
        return BY_KUBELET.with(new GpuRequest.Devices(uuids), Set.of());
    }

    /** What is reserved is checked again for what may have happened since. */
    private static Optional<Outcome.Unmet> barred(List<Gpu> open, GpuChoice choice) {
        Requested requested = requested(open);
        List<Verdict> verdicts = open.stream().map(gpu -> choice.verdict(gpu, requested)).toList();
        Optional<Outcome.Unmet> sick =
                verdicts.stream()
                        .filter(it -> it.is(Verdict.Sick.class))
                        .<Outcome.Unmet>map(it -> new Outcome.Barred(it, List.of()))
                        .findFirst();
        return sick.isPresent()
                ? sick
                : verdicts.stream()
                        .map(Verdict::ofUses)
                        .filter(Verdict::isBusy)
                        .<Outcome.Unmet>map(it ->
                                new Outcome.Taken(requested.request(), List.of(it), List.of()))
                        .findFirst();
    }

    /**
     * Whether the namespace of the pod may not have its GPUs, too. What others have reserved does
     * not count: each of two pods could keep the other from starting.
     */
    private Optional<Outcome.Unmet> beyondLimits(List<Gpu> open, Holdings holdings) {
        Holdings started = holdings.without(lease -> !hasStarted(lease));
        return terms.choice(started, UnmanagedUses.NONE)
                .beyondLimits(start.pod().owner(), open.stream().map(this::wanted).toList());
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
}
