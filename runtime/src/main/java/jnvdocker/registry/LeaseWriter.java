package jnvdocker.registry;

import static jnvdocker.registry.FailedStatement.perform;

import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Share;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.ForeignText;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Begins, changes and ends leases, in one transaction: nothing else writes a lease. All that its
 * callers request was decided on {@link #holdings}, which nobody else can change meanwhile.
 */
public final class LeaseWriter {
    private final Transaction transaction;
    private final Holdings now;
    private final BootTime time;
    private final String boot;
    private final LeaseEvents events;

    LeaseWriter(
            Transaction transaction, Holdings now, BootTime time, String boot, LeaseEvents events) {
        this.transaction = transaction;
        this.now = now;
        this.time = time;
        this.boot = boot;
        this.events = events;
    }

    /** The state before this transaction. */
    public Holdings holdings() {
        return now;
    }

    /** The lease that a claim had before this transaction. */
    public Optional<Lease> live(String claim) {
        return now.ofClaim(claim);
    }

    /** The leases on account of which a claim may not have its GPUs, the oldest first. */
    public List<Lease> liveOn(Claim claim) {
        return now.on(claim);
    }

    /** Whether a lease that was seen has neither ended nor become another's. */
    public boolean isStill(Lease seen) {
        return live(seen.claim().id()).filter(lease -> lease.isStill(seen)).isPresent();
    }

    /**
     * Makes a claim that is new.
     *
     * @param request that it was made for, if a later start of its container needs it
     */
    public void add(Claim claim, Optional<GpuRequest> request) {
        add(claim, request, Optional.empty());
    }

    /**
     * Makes a claim likewise.
     *
     * @param time how long each of its leases is to last
     */
    public void add(Claim claim, Optional<GpuRequest> request, Optional<Duration> time) {
        perform(() -> {
            LeaseRows.insertClaim(transaction, claim, request, time);
            return null;
        });
    }

    /** Begins a lease of all GPUs of a claim that is known. */
    public Lease begin(Claim claim, Holder holder) {
        return begin(claim, holder, Optional.empty());
    }

    /**
     * Begins a lease likewise.
     *
     * @param wanted how long it may last, unless its GPUs are booked for another user before that;
     *     nothing when it is overdue already
     */
    public Lease begin(Claim claim, Holder holder, Optional<Duration> wanted) {
        long up = time.up();
        Optional<Duration> lasts = now.at(time.at(up)).time(claim, wanted);
        Lease lease =
                insert(claim, holder, lasts.map(it -> it.isNegative() ? Duration.ZERO : it), up);
        transaction.afterwards(() -> events.granted(lease));
        return lease;
    }

    /** Begins the lease of a holder that has the GPUs already, after its own lease was lost. */
    public Lease recover(Claim claim, Holder holder) {
        Lease lease = insert(claim, holder, Optional.empty(), time.up());
        transaction.afterwards(() -> events.recovered(lease));
        return lease;
    }

    /** Reserves GPUs on a promise that may come to nothing, so that it is not reported. */
    public Lease promise(Claim claim, ProcessId client) {
        return insert(claim, Holder.reserved(client), Optional.empty(), time.up());
    }

    /** Reports a lease as granted that was a {@link #promise} before. */
    public void granted(Lease lease) {
        transaction.afterwards(() -> events.granted(lease));
    }

    /**
     * @param up when it begins, in milliseconds since the boot
     */
    private Lease insert(Claim claim, Holder holder, Optional<Duration> lasts, long up) {
        long id = perform(() -> write(claim, holder, lasts, up));
        return new Lease(id, claim, holder, boot, time.at(up), lasts, 0, Optional.empty());
    }

    private long write(Claim claim, Holder holder, Optional<Duration> lasts, long up)
            throws SQLException {
        long id =
                transaction
                        .first(
                                row -> row.getLong(1),
                                "INSERT INTO lease (claim, holder, boot, pid, start, init_pid,"
                                        + " init_start, cgroup, details, since, since_up, time,"
                                        + " joined) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                                        + " RETURNING id",
                                claim.id(),
                                LeaseRows.word(holder.stage()),
                                boot,
                                holder.process().pid(),
                                holder.process().startTime(),
                                holder.init().map(ProcessId::pid).orElse(null),
                                holder.init().map(ProcessId::startTime).orElse(null),
                                holder.cgroup().orElse(null),
                                LeaseRows.details(holder),
                                time.at(up).toEpochMilli(),
                                up,
                                LeaseRows.millis(lasts),
                                now.beside(claim).isEmpty() ? 0 : 1)
                        .orElseThrow();
        for (ClaimedGpu gpu : claim.gpus()) {
            transaction.update(
                    "INSERT INTO lease_gpu (lease, gpu, parent, share, memory, counts)"
                            + " VALUES (?, ?, ?, ?, ?, ?)",
                    id,
                    gpu.uuid(),
                    gpu.parent().orElse(null),
                    gpu.share().map(share -> share.amount().bytes()).orElse(null),
                    gpu.share().map(Share::memory).orElse(null),
                    gpu.count());
        }
        return id;
    }

    /**
     * Changes the holder of a lease.
     *
     * @param seen the lease, as the change was decided on
     * @return empty when it has ended or changed since it was seen
     */
    public Optional<Lease> hold(Lease seen, Holder holder) {
        Optional<Lease> same = live(seen.claim().id()).filter(lease -> lease.isStill(seen));
        same.ifPresent(_ ->
                perform(() ->
                        transaction.update(
                                "UPDATE lease SET holder = ?, pid = ?, start = ?, init_pid = ?,"
                                        + " init_start = ?, cgroup = ?, details = ? WHERE id = ?",
                                LeaseRows.word(holder.stage()),
                                holder.process().pid(),
                                holder.process().startTime(),
                                holder.init().map(ProcessId::pid).orElse(null),
                                holder.init().map(ProcessId::startTime).orElse(null),
                                holder.cgroup().orElse(null),
                                LeaseRows.details(holder),
                                seen.id())));
        return same.map(lease -> lease.of(holder));
    }

    /**
     * A reservation becomes the lease of the container that it was made for: it goes on under a
     * claim of that container, which is new, and has the same GPUs and the same owner. The claim of
     * the reservation is over, but keeps what was requested.
     *
     * @param seen the reservation, as that was decided on
     * @return empty when it has ended or changed since it was seen
     */
    public Optional<Lease> pass(Lease seen, Claim claim, Holder holder) {
        return hold(seen, holder)
                .map(lease -> {
                    perform(() -> {
                        transaction.update(
                                "UPDATE lease SET claim = ? WHERE id = ?", claim.id(), lease.id());
                        return transaction.update(
                                "UPDATE claim SET container = ?, name = ?, forgotten = ?"
                                        + " WHERE id = ?",
                                claim.container().map(Claim.ContainerRef::id).orElse(null),
                                claim.container().map(Claim.ContainerRef::name).orElse(null),
                                time.now().toEpochMilli(),
                                seen.claim().id());
                    });
                    return lease.of(claim);
                });
    }

    /** How long each lease of a claim is to last, if its user says so. */
    public Optional<Duration> time(Claim claim) {
        return perform(() ->
                transaction
                        .first(LeaseRows::time, "SELECT time FROM claim WHERE id = ?", claim.id())
                        .flatMap(lasts -> lasts));
    }

    /** Whether a lease began while others of its party had its GPUs. */
    public boolean isJoined(Lease lease) {
        return perform(() ->
                transaction
                        .first(
                                row -> row.getBoolean(1),
                                "SELECT joined FROM lease WHERE id = ?",
                                lease.id())
                        .orElse(false));
    }

    /** A live lease may last so long from its beginning on. */
    public void extend(Lease lease, Duration lasts) {
        perform(() ->
                transaction.update(
                        "UPDATE lease SET time = ? WHERE id = ? AND until IS NULL",
                        lasts.toMillis(),
                        lease.id()));
    }

    /** Books GPUs, none of which is booked for a part of that time. */
    public Booking book(Owner owner, List<ClaimedGpu> gpus, Instant from, Instant until) {
        return perform(() -> BookingRows.add(transaction, owner, gpus, from, until, now.now()));
    }

    /**
     * Gives back what is booked.
     *
     * @return whether there was such a booking
     */
    public boolean unbook(long id) {
        return perform(() -> BookingRows.remove(transaction, id));
    }

    /** More is known of the pod that has a lease. */
    public void rename(Lease lease, Origin.Pod pod) {
        StoredOrigin stored = StoredOrigin.of(pod);
        perform(() ->
                transaction.update(
                        "UPDATE claim SET engine = ?, image = ?, owner = ? WHERE id = ?",
                        stored.engine().orElse(null),
                        stored.image().orElse(null),
                        pod.owner().name(),
                        lease.claim().id()));
    }

    /** The container of a claim has become known. */
    public void name(String claim, Claim.ContainerRef container) {
        perform(() ->
                transaction.update(
                        "UPDATE claim SET container = ?, name = ? WHERE id = ?",
                        container.id(),
                        container.name(),
                        claim));
    }

    /**
     * Docker mounts the volume of a claim that has a lease.
     *
     * @param use docker's name for the mount
     */
    public void mount(Claim claim, String use) {
        perform(() -> {
            transaction.update("INSERT INTO mount (claim, use) VALUES (?, ?)", claim.id(), use);
            transaction.update(
                    "UPDATE claim SET released = 0, stopped = 0 WHERE id = ?", claim.id());
            return null;
        });
    }

    /** Whether docker has mounted the volume of a claim under that name. */
    public boolean isMounted(Claim claim, String use) {
        return perform(() ->
                transaction
                        .first(
                                row -> use,
                                "SELECT 1 FROM mount WHERE claim = ? AND use = ?",
                                claim.id(),
                                use)
                        .isPresent());
    }

    /** Whether the last lease of a GPU and an origin of this place was ended by force. */
    public boolean wasReleased(Origin origin, String gpu) {
        StoredOrigin stored = StoredOrigin.of(origin);
        return perform(() ->
                transaction
                                .first(
                                        row -> row.getInt(1),
                                        "SELECT released FROM lease JOIN claim ON claim.id ="
                                            + " lease.claim JOIN lease_gpu ON lease_gpu.lease ="
                                            + " lease.id WHERE origin = ? AND engine = ? AND gpu ="
                                            + " ? ORDER BY lease.id DESC LIMIT 1",
                                        stored.kind().word(),
                                        stored.engine().orElse(""),
                                        gpu)
                                .orElse(0)
                        == 1);
    }

    /** Nothing is kept any more for the owner of a stopped container. */
    public void forgetStop(String claim) {
        perform(() ->
                        transaction.list(
                                row -> row.getString(1),
                                "SELECT uuid FROM gpu WHERE stopped = ?",
                                claim))
                .forEach(this::giveUp);
    }

    /** A free GPU is no longer kept for the owner of the container that has stopped. */
    public void giveUp(String gpu) {
        perform(() -> {
            transaction.update(
                    "UPDATE lease_gpu SET kept = max(0, ?1 - (SELECT idle_since FROM gpu WHERE uuid"
                            + " = lease_gpu.gpu)) WHERE gpu = ?2 AND lease = (SELECT max(id) FROM"
                            + " lease WHERE claim = (SELECT stopped FROM gpu WHERE uuid = ?2))",
                    time.now().toEpochMilli(),
                    gpu);
            return transaction.update("UPDATE gpu SET stopped = NULL WHERE uuid = ?", gpu);
        });
    }

    /**
     * Ends a lease, unless it has ended or become another's since it was seen: a reservation may be
     * a container's by now, or docker may have mounted it again.
     *
     * @return whether it has ended by this
     */
    public boolean end(SeenEnd end) {
        Lease seen = end.lease();
        if (!isStill(seen)) {
            return false;
        }
        String evidence = ForeignText.line(end.evidence());
        // One of another boot has ended before this one began.
        long up = seen.boot().equals(boot) ? time.up() : 0;
        Instant at = time.at(up);
        return perform(() -> {
            boolean ended =
                    transaction.update(
                                    "UPDATE lease SET until = max(since, ?), until_up = ?,"
                                            + " until_boot = ?, evidence = ? WHERE id = ? AND"
                                            + " until IS NULL",
                                    at.toEpochMilli(),
                                    up,
                                    boot,
                                    evidence,
                                    seen.id())
                            == 1;
            if (ended) {
                afterEnd(seen, end.ground());
                transaction.afterwards(() -> events.released(seen, at, evidence));
            }
            return ended;
        });
    }

    private void afterEnd(Lease lease, Ground ground) throws SQLException {
        String claim = lease.claim().id();
        transaction.update("UPDATE claim SET " + ground.mark + " WHERE id = ?", claim);
        if (lease.claim().origin().isOverWithItsLease()) {
            transaction.update(
                    "UPDATE claim SET forgotten = ? WHERE id = ? AND forgotten IS NULL",
                    time.now().toEpochMilli(),
                    claim);
        }
        if (lease.claim().owner().isTrial()) {
            HistoryRows.deleteTrial(transaction, lease);
        }
    }
}
