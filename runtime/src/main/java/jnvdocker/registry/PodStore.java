package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;

/** Leases of pods on disk: one for each pod and GPU. */
public final class PodStore {
    private final LeaseRegistry registry;
    private final RegistryDatabase database;

    PodStore(LeaseRegistry registry, RegistryDatabase database) {
        this.registry = registry;
        this.database = database;
    }

    /**
     * Reserves GPUs for a pod that is not known, unless anything has changed on which that was
     * decided.
     *
     * @param basis the facts known then
     * @param claims one for each GPU
     * @return whether it was done
     */
    public boolean reserve(Holdings basis, List<Claim> claims, ProcessId kubelet)
            throws IOException {
        return database.transaction(transaction -> {
            if (!registry.holdings(transaction).decidesLike(basis)) {
                return false;
            }
            for (Claim claim : claims) {
                insert(transaction, claim, new Holder.Kubelet(kubelet), _ -> {});
            }
            return true;
        });
    }

    private void insert(Transaction transaction, Claim claim, Holder holder, Consumer<Lease> told)
            throws SQLException {
        LeaseRows.insertClaim(transaction, claim, Optional.empty());
        registry.insertLease(transaction, claim, holder, told);
    }

    /**
     * Gives GPUs to a pod, unless anything has changed on which that was decided.
     *
     * @param basis the facts known then
     * @param holder with the container that is about to start
     * @param earlier the leases that are the pod's already, or are reserved for a pod
     * @param claims one for each of its other GPUs
     * @return its leases; empty when something has changed
     */
    public Optional<List<Lease>> take(
            Holdings basis,
            Origin.Pod pod,
            Holder.Pod holder,
            List<Lease> earlier,
            List<Claim> claims)
            throws IOException {
        return database.transaction(transaction -> {
            boolean same = registry.holdings(transaction).decidesLike(basis);
            for (Lease lease : earlier) {
                same &= isStill(transaction, lease);
            }
            if (!same) {
                return Optional.empty();
            }
            List<Lease> leases = new ArrayList<>();
            for (Lease lease : earlier) {
                goesOn(transaction, lease, pod, holder);
                leases.add(live(transaction, lease.claim()));
            }
            for (Claim claim : claims) {
                insert(transaction, claim, holder, registry.events()::granted);
                leases.add(live(transaction, claim));
            }
            return Optional.of(List.copyOf(leases));
        });
    }

    /** A reservation may have become another pod's, under the same number. */
    private static boolean isStill(Transaction transaction, Lease seen) throws SQLException {
        return LeaseRows.liveOf(transaction, seen.claim().id())
                .filter(now -> now.id() == seen.id())
                .filter(now -> now.holder().equals(seen.holder()))
                .filter(now -> now.claim().origin().equals(seen.claim().origin()))
                .isPresent();
    }

    private static Lease live(Transaction transaction, Claim claim) throws SQLException {
        return LeaseRows.liveOf(transaction, claim.id()).orElseThrow();
    }

    private void goesOn(Transaction transaction, Lease lease, Origin.Pod pod, Holder.Pod holder)
            throws SQLException {
        if (lease.isReservation()) {
            name(transaction, lease, pod);
            hold(transaction, lease, holder);
            Lease taken = live(transaction, lease.claim());
            transaction.afterwards(() -> registry.events().granted(taken));
            return;
        }
        Holder.Pod merged = merged(lease.holder(), holder);
        if (!merged.equals(lease.holder())) {
            hold(transaction, lease, merged);
        }
    }

    /** With the containers of both. */
    private static Holder.Pod merged(Holder before, Holder.Pod now) {
        return switch (before) {
            case Holder.Pod pod -> {
                Set<String> containers = new LinkedHashSet<>(pod.containers());
                containers.addAll(now.containers());
                yield new Holder.Pod(
                        pod.process(), now.cgroup().or(pod::cgroup), List.copyOf(containers));
            }
            case Holder.Kubelet _,
                    Holder.Client _,
                    Holder.Process _,
                    Holder.MesosContainer _,
                    Holder.Container _,
                    Holder.OciContainer _ ->
                    now;
        };
    }

    private static void name(Transaction transaction, Lease lease, Origin.Pod pod)
            throws SQLException {
        StoredOrigin origin = StoredOrigin.of(pod);
        transaction.update(
                "UPDATE claim SET engine = ?, image = ? WHERE id = ?",
                origin.engine().orElse(null),
                origin.image().orElse(null),
                lease.claim().id());
    }

    private static void hold(Transaction transaction, Lease lease, Holder.Pod holder)
            throws SQLException {
        transaction.update(
                "UPDATE lease SET holder = 'container', pid = ?, start = ? WHERE id = ?",
                holder.process().pid(),
                holder.process().startTime(),
                lease.id());
        set(transaction, lease.id(), holder);
    }

    /** What only a pod's lease has. */
    static void set(Transaction transaction, long lease, Holder.Pod holder) throws SQLException {
        transaction.update(
                "UPDATE lease SET cgroup = ?, containers = ? WHERE id = ?",
                holder.cgroup().orElse(null),
                LeaseRows.containers(holder.containers()),
                lease);
    }

    /** More is known of the pod that has a lease; nothing happens if that has ended meanwhile. */
    public void learn(Lease lease, Origin.Pod pod, Optional<String> cgroup) throws IOException {
        database.transaction(transaction -> {
            if (isStill(transaction, lease)) {
                name(transaction, lease, pod);
                transaction.update(
                        "UPDATE lease SET cgroup = ? WHERE id = ?",
                        cgroup.orElse(null),
                        lease.id());
            }
            return null;
        });
    }

    /**
     * A pod that runs without a lease has its GPU all the same: gives it one, unless another has
     * the GPU, or the pod's own lease of it was released by force.
     */
    public void recover(Claim claim, Holder.Pod holder) throws IOException {
        give(claim, holder, registry.events()::recovered);
    }

    /** The same for a pod that was next in line for the GPU, and has not started. */
    public void grant(Claim claim, Holder.Pod holder) throws IOException {
        give(claim, holder, registry.events()::granted);
    }

    private void give(Claim claim, Holder.Pod holder, Consumer<Lease> told) throws IOException {
        database.transaction(transaction -> {
            if (LeaseRows.liveOn(transaction, claim).isEmpty() && !isReleased(transaction, claim)) {
                insert(transaction, claim, holder, told);
            }
            return null;
        });
    }

    /** Whether that is how the last lease of the same pod and GPU has ended, in this boot. */
    private static boolean isReleased(Transaction transaction, Claim claim) throws SQLException {
        return transaction
                        .first(
                                row -> row.getInt(1),
                                "SELECT released FROM lease JOIN claim ON claim.id = lease.claim"
                                        + " JOIN lease_gpu ON lease_gpu.lease = lease.id"
                                        + " WHERE origin = 'pod' AND engine = ? AND gpu = ?"
                                        + " ORDER BY lease.id DESC LIMIT 1",
                                StoredOrigin.of(claim.origin()).engine().orElse(""),
                                claim.gpus().getFirst().uuid())
                        .orElse(0)
                == 1;
    }
}
