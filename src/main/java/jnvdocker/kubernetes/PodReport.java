package jnvdocker.kubernetes;

import jnvdocker.core.LeaseParts;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.supply.Supply;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * Brings the leases of pods into line with what the kubelet reports of them, and with what runs.
 */
public final class PodReport {
    private static final Logger LOG = LoggerFactory.getLogger(PodReport.class);

    private final LeaseRegistry registry;
    private final Keeper keeper;
    private final Supply supply;
    private final PodKind pods;
    private volatile Set<String> warned = Set.of();

    PodReport(LeaseParts parts, PodKind pods) {
        registry = parts.registry();
        keeper = parts.keeper();
        supply = parts.supply();
        this.pods = pods;
    }

    /**
     * The moment at which a kubelet was queried: leases that are made later are not in its answer.
     *
     * @param newest the number of the last lease that had been made
     */
    public record Sight(long newest, Instant time) {}

    /** The current moment, to be taken before the kubelet is queried. */
    public Sight observe() throws IOException {
        return new Sight(
                registry.live().stream().mapToLong(Lease::id).max().orElse(0), registry.now());
    }

    /**
     * Learns which pods have resource claims, and warns of each that has joined another's.
     *
     * @param claims the uids of the pods of each claim, by the claim's uid
     */
    void know(Map<String, Set<String>> claims) throws IOException {
        pods.sights().know(claims);
        Set<String> joined = new TreeSet<>(joined());
        joined.stream().filter(text -> !warned.contains(text)).forEach(LOG::warn);
        warned = joined;
    }

    /** Says of each pod that has joined another's resource claim which GPUs both use. */
    public List<String> joined() throws IOException {
        return leases().stream().flatMap(pods::joinedText).toList();
    }

    /**
     * Applies an answer of the kubelet: ends the leases that are over, learns the names of pods,
     * and restores the lost leases of running pods.
     *
     * @param listed by UUID, the pods that the kubelet lists with a GPU; the uid is empty where
     *     only the name is known
     * @param remembered likewise the pods of the kubelet's own file, some of which may be gone
     */
    public void update(
            Sight begun,
            Map<String, Set<Origin.Pod>> listed,
            Map<String, Set<Origin.Pod>> remembered)
            throws IOException {
        PodSights.Answer answer = new PodSights.Answer(begun, listed, remembered);
        pods.sights().update(answer);
        Map<String, Processes.Group> groups = pods.groups();
        List<Lease> live = leases();
        for (Lease lease : live) {
            learn(lease, PodKind.pod(lease).orElseThrow(), answer, groups);
        }
        keeper.end(live, Keeper.Caller.WAITER);
        // Most have waited for leases that have just ended; a pod that has lost its lease cannot be
        // distinguished from them.
        give(listed, groups, LeaseWriter::begin);
    }

    /** The leases of pods, and those that are reserved for one. */
    List<Lease> leases() throws IOException {
        return registry.live().stream().filter(PodKind::isOfPod).toList();
    }

    private void learn(
            Lease lease,
            Origin.Pod pod,
            PodSights.Answer answer,
            Map<String, Processes.Group> groups)
            throws IOException {
        if (answer.begun().newest() < lease.id()) {
            return;
        }
        List<Origin.Pod> its =
                PodSights.pods(answer.listed(), lease)
                        .filter(other -> lease.isReservation() || PodSights.mayBe(pod, other))
                        .distinct()
                        .toList();
        Origin.Pod known = its.size() == 1 ? PodSights.known(its.getFirst(), pod) : pod;
        Holder holder = lease.holder();
        Optional<String> group =
                holder.cgroup()
                        .or(() ->
                                Optional.ofNullable(groups.get(known.uid()))
                                        .map(Processes.Group::directory));
        Holder found =
                lease.isReservation()
                        ? holder
                        : PodKind.holder(holder.process(), group, holder.details());
        if (!known.equals(pod) || !found.equals(holder)) {
            registry.decide(leases -> {
                if (leases.isStill(lease)) {
                    leases.rename(lease, known);
                    leases.hold(lease, found);
                }
                return null;
            });
        }
    }

    /**
     * No kubelet of this host is queried any more, and none gets GPUs: pods that have some keep
     * them as long as they run.
     */
    public void stop() throws IOException {
        pods.sights().stop();
        keeper.end(leases(), Keeper.Caller.WAITER);
    }

    /**
     * A kubelet is queried from now on. Restores the lost leases of running pods before it answers.
     *
     * @param remembered by UUID, the pods of the kubelet's own file
     */
    public void restore(Map<String, Set<Origin.Pod>> remembered) throws IOException {
        pods.sights().start();
        give(remembered, pods.groups(), LeaseWriter::recover);
    }

    /** How a pod gets a lease. */
    @FunctionalInterface
    private interface Gift {
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
        for (Gpu gpu : supply.gpus()) {
            Optional<Origin.Pod> running =
                    listed.getOrDefault(gpu.uuid(), Set.of()).stream()
                            .filter(pod -> groups.containsKey(pod.uid()))
                            .findFirst();
            if (holdings.of(gpu).isEmpty() && running.isPresent()) {
                Origin.Pod pod = running.get();
                Processes.Group group = groups.get(pod.uid());
                give(gpu, pod, group, gift);
            }
        }
    }

    /**
     * A pod that runs without a lease has its GPU all the same: gives it one, unless another has
     * the GPU, or the pod's own lease of it was released by force.
     */
    private void give(Gpu gpu, Origin.Pod pod, Processes.Group group, Gift gift)
            throws IOException {
        Holder holder = PodKind.holder(group.process(), Optional.of(group.directory()), List.of());
        registry.decide(leases -> {
            Claim claim = claim(ClaimedGpu.of(gpu), pod, leases.holdings());
            if (leases.liveOn(claim).isEmpty() && !leases.wasReleased(pod, gpu.uuid())) {
                leases.add(claim, Optional.empty());
                gift.give(leases, claim, holder);
            }
            return null;
        });
    }

    /** The refusal of GPUs that others hold. */
    RefusedException held(List<Gpu> gpus, List<Lease> by, Addressee.Told to) {
        return new RefusedException(
                Refusals.held(
                        gpus.stream().map(ClaimedGpu::of).toList(), by, keeper.remark(by), to));
    }

    /** A new claim of one GPU. */
    Claim claim(ClaimedGpu gpu, Origin.Pod pod, Holdings holdings) {
        return new Claim(
                registry.newKey(),
                pod,
                pod.owner(),
                List.of(gpu),
                holdings.now(),
                Optional.empty());
    }
}
