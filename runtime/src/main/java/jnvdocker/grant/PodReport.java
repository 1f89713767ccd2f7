package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Brings the leases of pods into line with what the kubelet has told of them. */
final class PodReport {
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final PodSights sights;
    private final Keeper keeper;
    private final ClaimVolumes.Inventory inventory;

    PodReport(
            LeaseRegistry registry,
            Evidence evidence,
            PodSights sights,
            Keeper keeper,
            ClaimVolumes.Inventory inventory) {
        this.registry = registry;
        this.evidence = evidence;
        this.sights = sights;
        this.keeper = keeper;
        this.inventory = inventory;
    }

    /** A new claim of one GPU. */
    static Claim claim(Gpu gpu, Origin.Pod pod, Holdings holdings) {
        return new Claim(
                Claim.newId(),
                pod,
                Owner.KUBERNETES,
                List.of(ClaimedGpu.of(gpu)),
                holdings.now(),
                Optional.empty());
    }

    /**
     * Whether a container may have used the GPU under this lease. One that {@link #told} has given
     * to a known pod has been checked by nobody yet.
     */
    static boolean hasStarted(Lease lease) {
        Optional<Origin.Pod> pod = PodKind.pod(lease);
        return pod.isEmpty()
                || !lease.isReservation()
                        && (!lease.holder().details().isEmpty() || pod.get().uid().isEmpty());
    }

    /** See {@link PodLeases#told}. */
    void told(PodSights.Answer answer) throws IOException {
        sights.told(answer);
        Map<String, Processes.Group> groups = evidence.pods().groups();
        List<Lease> pods = new ArrayList<>();
        for (Lease lease : registry.live()) {
            Optional<Origin.Pod> pod = PodKind.pod(lease);
            if (pod.isPresent()) {
                pods.add(lease);
                learn(lease, pod.get(), answer, groups);
            }
        }
        keeper.end(pods, Keeper.Caller.WAITER);
        // Most have waited for those that have just ended; one whose lease was lost looks the same.
        give(answer.listed(), groups, LeaseWriter::begin);
    }

    private void learn(
            Lease lease,
            Origin.Pod pod,
            PodSights.Answer answer,
            Map<String, Processes.Group> groups)
            throws IOException {
        if (lease.isReservation() || answer.begun().newest() < lease.id()) {
            return;
        }
        Set<Origin.Pod> told =
                answer.listed().getOrDefault(lease.claim().gpus().getFirst().uuid(), Set.of());
        List<Origin.Pod> its = told.stream().filter(other -> PodSights.mayBe(pod, other)).toList();
        Origin.Pod known = its.size() == 1 ? merged(pod, its.getFirst()) : pod;
        Optional<String> group =
                Optional.ofNullable(groups.get(known.uid())).map(it -> it.folder());
        Holder holder = lease.holder();
        if (!known.equals(pod) || group.isPresent() && holder.cgroup().isEmpty()) {
            Holder found =
                    PodKind.holder(holder.process(), group.or(holder::cgroup), holder.details());
            registry.decide(leases -> {
                if (leases.isStill(lease)) {
                    leases.rename(lease, known);
                    leases.hold(lease, found);
                }
                return null;
            });
        }
    }

    private static Origin.Pod merged(Origin.Pod one, Origin.Pod other) {
        Origin.Pod named = one.name().isEmpty() ? other : one;
        return new Origin.Pod(
                one.uid().isEmpty() ? other.uid() : one.uid(), named.namespace(), named.name());
    }

    /** See {@link PodLeases#stop}. */
    void stop() throws IOException {
        sights.stop();
        keeper.end(
                registry.live().stream().filter(lease -> PodKind.pod(lease).isPresent()).toList(),
                Keeper.Caller.WAITER);
    }

    /** See {@link PodLeases#restore}. */
    void restore(Map<String, Set<Origin.Pod>> remembered) throws IOException {
        give(remembered, evidence.pods().groups(), LeaseWriter::recover);
    }

    /** How a pod gets a lease. */
    @FunctionalInterface
    interface Gift {
        Lease give(LeaseWriter leases, Claim claim, Holder holder);
    }

    /**
     * Gives a lease to each pod that runs without one. Pods that have ended may be in the kubelet's
     * file, too.
     */
    private void give(
            Map<String, Set<Origin.Pod>> listed, Map<String, Processes.Group> groups, Gift gift)
            throws IOException {
        Holdings holdings = registry.holdings();
        for (Gpu gpu : inventory.gpus()) {
            Optional<Origin.Pod> running =
                    listed.getOrDefault(gpu.uuid(), Set.of()).stream()
                            .filter(pod -> groups.containsKey(pod.uid()))
                            .findFirst();
            if (holdings.of(gpu).isEmpty() && running.isPresent()) {
                Origin.Pod pod = running.get();
                Processes.Group group = groups.get(pod.uid());
                give(
                        registry,
                        claim(gpu, pod, holdings),
                        PodKind.holder(group.process(), Optional.of(group.folder()), List.of()),
                        gift);
            }
        }
    }

    /**
     * A pod that runs without a lease has its GPU all the same: gives it one, unless another has
     * the GPU, or the pod's own lease of it was released by force.
     */
    static void give(LeaseRegistry registry, Claim claim, Holder holder, Gift gift)
            throws IOException {
        registry.decide(leases -> {
            if (leases.liveOn(claim).isEmpty()
                    && !leases.wasReleased(claim.origin(), claim.gpus().getFirst().uuid())) {
                leases.add(claim, Optional.empty());
                gift.give(leases, claim, holder);
            }
            return null;
        });
    }
}
