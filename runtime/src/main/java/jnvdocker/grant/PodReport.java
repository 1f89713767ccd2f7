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
    private final LeaseEnder ender;
    private final ClaimVolumes.Inventory inventory;

    PodReport(
            LeaseRegistry registry,
            Evidence evidence,
            PodSights sights,
            LeaseEnder ender,
            ClaimVolumes.Inventory inventory) {
        this.registry = registry;
        this.evidence = evidence;
        this.sights = sights;
        this.ender = ender;
        this.inventory = inventory;
    }

    /** The pod that a lease is of. */
    static Optional<Origin.Pod> pod(Lease lease) {
        return switch (lease.claim().origin()) {
            case Origin.Pod pod -> Optional.of(pod);
            case Origin.DockerContainer _,
                    Origin.HostProcess _,
                    Origin.MesosTask _,
                    Origin.OciContainer _ ->
                    Optional.empty();
        };
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
        return switch (lease.holder()) {
            case Holder.Pod pod ->
                    !pod.containers().isEmpty()
                            || pod(lease).filter(it -> it.uid().isEmpty()).isPresent();
            case Holder.Kubelet _ -> false;
            case Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _ ->
                    true;
        };
    }

    /** See {@link PodLeases#told}. */
    void told(PodSights.Answer answer) throws IOException {
        sights.told(answer);
        Map<String, Processes.Group> groups = evidence.pods().groups();
        List<Lease> pods = new ArrayList<>();
        for (Lease lease : registry.live()) {
            Optional<Origin.Pod> pod = pod(lease);
            if (pod.isPresent()) {
                pods.add(lease);
                learn(lease, pod.get(), answer, groups);
            }
        }
        ender.end(pods, LeaseEnder.Caller.WAITER);
        // Most have waited for those that have just ended; one whose lease was lost looks the same.
        give(answer.listed(), groups, registry.pods()::grant);
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
        if (!known.equals(pod) || group.isPresent() && cgroup(lease).isEmpty()) {
            registry.pods().learn(lease, known, group.or(() -> cgroup(lease)));
        }
    }

    private static Optional<String> cgroup(Lease lease) {
        return switch (lease.holder()) {
            case Holder.Pod pod -> pod.cgroup();
            case Holder.Kubelet _,
                    Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _ ->
                    Optional.empty();
        };
    }

    private static Origin.Pod merged(Origin.Pod one, Origin.Pod other) {
        Origin.Pod named = one.name().isEmpty() ? other : one;
        return new Origin.Pod(
                one.uid().isEmpty() ? other.uid() : one.uid(), named.namespace(), named.name());
    }

    /** See {@link PodLeases#stop}. */
    void stop() throws IOException {
        sights.stop();
        ender.end(
                registry.live().stream().filter(lease -> pod(lease).isPresent()).toList(),
                LeaseEnder.Caller.WAITER);
    }

    /** See {@link PodLeases#restore}. */
    void restore(Map<String, Set<Origin.Pod>> remembered) throws IOException {
        give(remembered, evidence.pods().groups(), registry.pods()::recover);
    }

    /** How a pod gets a lease. */
    @FunctionalInterface
    private interface Gift {
        void give(Claim claim, Holder.Pod holder) throws IOException;
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
                gift.give(
                        claim(gpu, pod, holdings),
                        new Holder.Pod(group.process(), Optional.of(group.folder()), List.of()));
            }
        }
    }
}
