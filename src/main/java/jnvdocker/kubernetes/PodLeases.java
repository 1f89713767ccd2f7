package jnvdocker.kubernetes;

import jnvdocker.core.LeaseParts;
import jnvdocker.grant.Grants;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.posix.ProcessId;
import jnvdocker.supply.Supply;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
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

    @Override
    public void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException {
        PodStart pod = new PodStart(gpus, Origin.Pod.UNKNOWN, Optional.empty(), kubelet);
        grants.take(
                () -> decide(pod, true, parts.queue().all()),
                grants.patience(Duration.ZERO, Optional.empty(), _ -> false));
    }

    private Grants.Answer<List<Lease>> decide(PodStart start, boolean admits, List<Ticket> before)
            throws RefusedException, IOException {
        Supply.Terms terms = parts.supply().terms(start.pod().owner(), before);
        return grants.decide(new PodBid(start, admits, terms, pods, report, parts.unmanagedScan()));
    }

    @Override
    public List<Lease> take(PodStart start, Duration patience)
            throws RefusedException, IOException {
        return grants.take(
                () -> attempt(start),
                grants.patience(
                        Duration.ZERO,
                        Optional.of(pace.nanos() + patience.toNanos()),
                        by -> by.stream().noneMatch(PodBid::isFinal)));
    }

    /**
     * A pod that must wait has a place in the queue from then on, by its oldest process: its
     * sandbox runs before the first container starts. Nothing of it runs yet when a resource claim
     * is prepared.
     */
    private Grants.Answer<List<Lease>> attempt(PodStart start)
            throws RefusedException, IOException {
        WaitingQueue queue = parts.queue();
        Optional<Request> place =
                start.shares().isEmpty()
                        ? pods.group(start.pod().uid()).map(group -> start.place(group.process()))
                        : Optional.empty();
        List<Ticket> before = place.map(its -> queue.before(its.client())).orElseGet(queue::all);
        Grants.Answer<List<Lease>> outcome = decide(start, false, before);
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

    private boolean hasAll(PodStart start) throws IOException {
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
