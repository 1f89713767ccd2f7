package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * The present and past holders of GPUs, on disk. Each method is one transaction; that a GPU has one
 * holder is the database's own rule. Nothing here looks at processes or engines: what it is told is
 * so.
 */
public final class LeaseRegistry implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseRegistry.class);

    private final RegistryDatabase database;
    private final ClaimStore claims;
    private final LeaseHistory history;
    private final IdleStore idle;
    private final PodStore pods;
    private final String boot;
    private final BootTime time;
    private final Changes changes = new Changes();

    /** Why an end could not be written; empty once one could again. */
    private volatile Optional<String> unwrittenEnd = Optional.empty();

    private boolean following;

    private volatile LeaseEvents events = LeaseEvents.NONE;

    private LeaseRegistry(RegistryDatabase database, String boot, BootTime time) {
        this.database = database;
        this.claims = new ClaimStore(database, boot, time);
        this.history = new LeaseHistory(database, boot, time);
        this.idle = new IdleStore(database, boot);
        this.pods = new PodStore(this, database);
        this.boot = boot;
        this.time = time;
        database.beforeEach(this::followTheClock);
    }

    /**
     * @param folder that has {@code registry.db}, or will have it
     * @param boot this boot's id
     * @throws RegistryException when a newer version has made it, or it cannot be opened; a damaged
     *     one is kept beside, and a new one made
     */
    public static LeaseRegistry open(Path folder, String boot, HostClock clock) throws IOException {
        RegistryDatabase database = RegistryDatabase.open(folder);
        BootTime time;
        try {
            time = database.transaction(transaction -> BootTime.read(transaction, boot, clock));
        } catch (IOException | RuntimeException e) {
            database.close();
            throw e;
        }
        LeaseRegistry registry = new LeaseRegistry(database, boot, time);
        if (database.wasAnother()) {
            LOG.warn(
                    "the registry in {} was replaced or lost a part; asking processes and the"
                            + " engine",
                    folder);
            registry.claims.unreconciled();
        }
        return registry;
    }

    /**
     * Looks through all that is on disk, which may take long; when it is damaged nothing is given
     * out any more, or taken back, until the registry is next opened.
     */
    public void examine() {
        database.examine();
    }

    /** From now on these are told. */
    public void tell(LeaseEvents observer) {
        events = observer;
    }

    /** The claims, with leases or without. */
    public ClaimStore claims() {
        return claims;
    }

    /** The leases that have ended. */
    public LeaseHistory history() {
        return history;
    }

    /** For how long GPUs are held and not used. */
    public IdleStore idle() {
        return idle;
    }

    /** Leases of pods of Kubernetes. */
    public PodStore pods() {
        return pods;
    }

    /** Those that are told. */
    LeaseEvents events() {
        return events;
    }

    /** The boot id that new leases get. */
    public String boot() {
        return boot;
    }

    public Instant now() {
        return time.now();
    }

    /** Before each transaction: ages stay what they are when somebody sets the clock. */
    private void followTheClock() {
        if (following || !time.hasJumped()) {
            return;
        }
        following = true;
        try {
            time.followed(database.transaction(time::follow));
        } catch (IOException e) {
            // Times by the clock of before agree with all others.
            LOG.warn("times stay those of the clock before it was set: {}", e.getMessage());
        } finally {
            following = false;
        }
    }

    /**
     * A new claim that reserves its GPUs.
     *
     * @param holder the client, or the container that is to be created
     * @param request that it was made for, when that is asked for again; else empty
     * @param earlier a lease that ends when this one begins, so that nobody else can get in between
     */
    public record Reservation(
            Claim claim,
            Holder holder,
            Optional<GpuRequest> request,
            Optional<Earlier.Over> earlier) {
        /** For a client. */
        public Reservation(Claim claim, ProcessId client) {
            this(claim, new Holder.Client(client), Optional.empty(), Optional.empty());
        }
    }

    /**
     * Makes a claim and reserves its GPUs, unless anything has changed on which that was decided.
     *
     * @param basis the facts known then
     * @return whether it was done
     */
    public boolean reserve(Holdings basis, Reservation reservation) throws IOException {
        return reserve(basis, reservation, events::granted);
    }

    /** The same for a holder that has the GPUs, and whose lease was lost. */
    public boolean recover(Holdings basis, Reservation reservation) throws IOException {
        return reserve(basis, reservation, events::recovered);
    }

    private boolean reserve(Holdings basis, Reservation reservation, Consumer<Lease> told)
            throws IOException {
        return database.transaction(transaction -> {
            if (!holdings(transaction).decidesLike(basis)) {
                return false;
            }
            Optional<Earlier.Over> earlier = reservation.earlier();
            if (earlier.isPresent()
                    && !end(transaction, earlier.get().lease(), earlier.get().evidence())) {
                return false;
            }
            LeaseRows.insertClaim(transaction, reservation.claim(), reservation.request());
            insertLease(transaction, reservation.claim(), reservation.holder(), told);
            return true;
        });
    }

    /**
     * Docker mounts the claim's volume: its lease begins, or goes on. When an earlier one is over,
     * nobody else can get in between.
     *
     * @param use docker's name for the mount
     * @param engine the process that mounts it
     * @param allowed the holdings on which the policy allows a lease to a claim that has had none
     *     just before; empty if the policy was not asked
     */
    public MountResult mount(
            Claim claim, String use, ProcessId engine, Earlier earlier, Optional<Holdings> allowed)
            throws IOException {
        return database.transaction(transaction -> {
            boolean again =
                    earlier instanceof Earlier.Over(Lease lease, String evidence)
                            && end(transaction, lease, evidence);
            Optional<Lease> own = LeaseRows.liveOf(transaction, claim.id());
            if (own.isPresent()) {
                boolean known = isKnown(transaction, claim.id(), use);
                boolean goesOn = own.get().isReservation() || earlier instanceof Earlier.GoesOn;
                if (!goesOn) {
                    return new MountResult.Another(own.get(), known);
                }
                transaction.update(
                        "UPDATE lease SET holder = 'container', pid = ?, start = ? WHERE id = ?",
                        engine.pid(),
                        engine.startTime(),
                        own.get().id());
                if (!known) {
                    // The first process of before says nothing of the one that is to come.
                    transaction.update(
                            "UPDATE lease SET init_pid = NULL, init_start = NULL, cgroup = NULL"
                                    + " WHERE id = ?",
                            own.get().id());
                }
            } else {
                List<Lease> others = LeaseRows.liveOn(transaction, claim);
                if (!others.isEmpty()) {
                    return new MountResult.Blocked(others);
                }
                Holdings now = holdings(transaction);
                if (!again && allowed.filter(now::decidesLike).isEmpty()) {
                    return new MountResult.Undecided(now);
                }
                insertLease(
                        transaction,
                        claim,
                        new Holder.Container(engine, Optional.empty(), Optional.empty()),
                        events::granted);
            }
            transaction.update("INSERT INTO mount (claim, use) VALUES (?, ?)", claim.id(), use);
            transaction.update(
                    "UPDATE claim SET released = 0, stopped = 0 WHERE id = ?", claim.id());
            return new MountResult.Granted(LeaseRows.liveOf(transaction, claim.id()).orElseThrow());
        });
    }

    private static boolean isKnown(Transaction transaction, String claim, String use)
            throws SQLException {
        return transaction
                .first(row -> use, "SELECT 1 FROM mount WHERE claim = ? AND use = ?", claim, use)
                .isPresent();
    }

    /** Docker takes one mount back. */
    public void unmounted(String claim, String use) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "DELETE FROM mount WHERE rowid = (SELECT rowid FROM mount"
                                + " WHERE claim = ? AND use = ? LIMIT 1)",
                        claim,
                        use));
    }

    /** The first process of a lease's container. */
    public void started(long lease, ProcessId init, Optional<String> cgroup) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE lease SET holder = 'container', init_pid = ?, init_start = ?,"
                                + " cgroup = ? WHERE id = ? AND until IS NULL",
                        init.pid(),
                        init.startTime(),
                        cgroup.orElse(null),
                        lease));
    }

    /** A container runs for which a client has reserved: nobody has seen its mount. */
    public void runs(Lease reservation, Holder.Container holder) throws IOException {
        database.transaction(transaction -> {
            int rows =
                    transaction.update(
                            "UPDATE lease SET holder = 'container', pid = ?, start = ?"
                                    + " WHERE id = ? AND holder = 'client' AND until IS NULL",
                            holder.process().pid(),
                            holder.process().startTime(),
                            reservation.id());
            if (rows == 1) {
                setContainer(transaction, reservation.id(), holder.init(), holder.cgroup());
            }
            return null;
        });
    }

    /**
     * A client becomes the process that uses its GPUs.
     *
     * @param cgroup of it and all that it will start
     * @return whether it had them reserved
     */
    public boolean becomes(String claim, ProcessId client, String cgroup) throws IOException {
        return database.transaction(transaction ->
                transaction.update(
                                "UPDATE lease SET holder = 'process', cgroup = ? WHERE claim = ?"
                                        + " AND holder = 'client' AND pid = ? AND start = ?"
                                        + " AND until IS NULL",
                                cgroup,
                                claim,
                                client.pid(),
                                client.startTime())
                        == 1);
    }

    /**
     * The GPUs that a client has reserved become a Mesos container's.
     *
     * @return whether it had it reserved
     */
    public boolean becomes(
            String claim,
            ProcessId client,
            Claim.ContainerRef container,
            Holder.MesosContainer holder)
            throws IOException {
        return database.transaction(transaction -> {
            transaction.update(
                    "UPDATE claim SET container = ?, name = ? WHERE id = ?",
                    container.id(),
                    container.name(),
                    claim);
            return transaction.update(
                            "UPDATE lease SET holder = 'mesos', pid = ?, start = ?, cgroup = ?,"
                                    + " runtime = ?, devices = ? WHERE claim = ?"
                                    + " AND holder = 'client' AND pid = ? AND start = ?"
                                    + " AND until IS NULL",
                            holder.process().pid(),
                            holder.process().startTime(),
                            holder.freezer(),
                            holder.runtime(),
                            holder.devices(),
                            claim,
                            client.pid(),
                            client.startTime())
                    == 1;
        });
    }

    /** The cgroups of processes whose leases have ended in this boot, as far as they are left. */
    public List<String> groupsOfEnded() throws IOException {
        return database.transaction(transaction ->
                transaction.list(
                        row -> row.getString(1),
                        "SELECT cgroup FROM lease WHERE holder = 'process' AND until IS NOT NULL"
                                + " AND boot = ? AND cgroup IS NOT NULL",
                        boot));
    }

    /** A cgroup of an ended process is not there any more. */
    public void groupIsGone(String cgroup) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE lease SET cgroup = NULL WHERE holder = 'process' AND until IS NOT"
                                + " NULL AND cgroup = ?",
                        cgroup));
    }

    /**
     * A holder that runs without a lease has its GPUs all the same: gives it one, unless others
     * have them.
     */
    public List<Lease> adopt(Claim claim, Holder holder) throws IOException {
        return database.transaction(transaction -> {
            if (LeaseRows.liveOf(transaction, claim.id()).isPresent()) {
                return List.of();
            }
            List<Lease> others = LeaseRows.liveOn(transaction, claim);
            if (others.isEmpty()) {
                insertLease(transaction, claim, holder, events::recovered);
            }
            return others;
        });
    }

    /**
     * Ends a lease, unless that was done already or it is another one by now than was looked at: a
     * reservation may have become a container's, or docker may have mounted it again.
     */
    public boolean end(Lease seen, String evidence) throws IOException {
        return end(seen, evidence, false);
    }

    /**
     * The same.
     *
     * @param said whether its engine says that the container has ended, which it does not when it
     *     has ended with its engine
     */
    public boolean end(Lease seen, String evidence, boolean said) throws IOException {
        boolean ended;
        try {
            ended =
                    database.transaction(transaction -> {
                        boolean done = end(transaction, seen, evidence);
                        if (done) {
                            transaction.update(
                                    "UPDATE claim SET stopped = ? WHERE id = ?",
                                    said ? 1 : 0,
                                    seen.claim().id());
                        }
                        return done;
                    });
        } catch (RegistryException e) {
            unwrittenEnd = Optional.of(e.getMessage());
            throw e;
        }
        if (ended) {
            unwrittenEnd = Optional.empty();
            changes.add();
        }
        return ended;
    }

    /** Why leases are live whose ends were seen; empty when there are none that we know of. */
    public Optional<String> unwrittenEnd() {
        return unwrittenEnd;
    }

    /**
     * Ends a claim's lease though its holder may live; it counts again when it is next started.
     *
     * @return false when the lease has ended meanwhile
     */
    public boolean endByForce(Lease lease, String evidence) throws IOException {
        boolean done =
                database.transaction(transaction -> {
                    boolean ended = endNow(transaction, lease, evidence);
                    if (ended) {
                        transaction.update(
                                "UPDATE claim SET released = 1 WHERE id = ?", lease.claim().id());
                    }
                    return ended;
                });
        if (done) {
            changes.add();
        }
        return done;
    }

    /** Those who wait, in order of their numbers. */
    public List<Ticket> tickets() throws IOException {
        return database.transaction(transaction -> TicketRows.clear(transaction, boot));
    }

    /**
     * Gives a client a number, unless it has one, which it keeps, as it does the time.
     *
     * @param asked without either
     */
    public Ticket addTicket(Ticket asked) throws IOException {
        return database.transaction(transaction -> TicketRows.add(transaction, boot, asked, now()));
    }

    public void removeTicket(long id) throws IOException {
        database.transaction(transaction -> {
            TicketRows.remove(transaction, id);
            return null;
        });
    }

    /** From now on a GPU gets no new lease; one that is cordoned already has this reason now. */
    public void cordon(String gpu, Owner owner, String reason) throws IOException {
        database.transaction(transaction -> {
            CordonRows.put(transaction, gpu, new Cordon.ByCommand(owner, now(), reason));
            return null;
        });
        changes.add();
    }

    /**
     * A GPU gets leases again.
     *
     * @return whether it was cordoned
     */
    public boolean uncordon(String gpu) throws IOException {
        boolean was = database.transaction(transaction -> CordonRows.remove(transaction, gpu));
        changes.add();
        return was;
    }

    /** Each time that a GPU may have become free, since this registry was opened. */
    public Changes changes() {
        return changes;
    }

    /** The lease that a claim has now. */
    public Optional<Lease> liveOf(String claim) throws IOException {
        return database.transaction(transaction -> LeaseRows.liveOf(transaction, claim));
    }

    /** All leases that GPUs are held under, the oldest first. */
    public List<Lease> live() throws IOException {
        return database.transaction(LeaseRows::live);
    }

    /** The leases, and since when the other GPUs are idle. */
    public Holdings holdings() throws IOException {
        return database.transaction(this::holdings);
    }

    /** The leases among these that have not ended meanwhile, as they are now. */
    public List<Lease> stillLive(Collection<Lease> leases) throws IOException {
        List<Long> ids = leases.stream().map(Lease::id).toList();
        return live().stream().filter(lease -> ids.contains(lease.id())).toList();
    }

    Holdings holdings(Transaction transaction) throws SQLException {
        Map<String, Lease> held = new HashMap<>();
        for (Lease lease : LeaseRows.live(transaction)) {
            lease.claim().gpus().forEach(gpu -> held.put(gpu.uuid(), lease));
        }
        Map<String, Instant> idle = new HashMap<>();
        transaction.list(
                row -> idle.put(row.getString(1), Instant.ofEpochMilli(row.getLong(2))),
                "SELECT uuid, idle_since FROM gpu");
        return new Holdings(now(), held, idle, CordonRows.all(transaction));
    }

    void insertLease(Transaction transaction, Claim claim, Holder holder, Consumer<Lease> told)
            throws SQLException {
        long up = time.up();
        long id =
                transaction
                        .first(
                                row -> row.getLong(1),
                                "INSERT INTO lease (claim, holder, boot, pid, start, since,"
                                        + " since_up) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
                                claim.id(),
                                LeaseRows.kind(holder),
                                boot,
                                holder.process().pid(),
                                holder.process().startTime(),
                                time.at(up).toEpochMilli(),
                                up)
                        .orElseThrow();
        switch (holder) {
            case Holder.Client _, Holder.Kubelet _ -> {}
            case Holder.Pod pod -> PodStore.set(transaction, id, pod);
            case Holder.Process(ProcessId _, String cgroup) ->
                    transaction.update("UPDATE lease SET cgroup = ? WHERE id = ?", cgroup, id);
            case Holder.MesosContainer container ->
                    transaction.update(
                            "UPDATE lease SET cgroup = ?, runtime = ?, devices = ? WHERE id = ?",
                            container.freezer(),
                            container.runtime(),
                            container.devices(),
                            id);
            case Holder.Container(ProcessId _, Optional<ProcessId> init, Optional<String> cgroup) ->
                    setContainer(transaction, id, init, cgroup);
            case Holder.OciContainer(
                            ProcessId _,
                            Optional<ProcessId> init,
                            Optional<String> cgroup) ->
                    setContainer(transaction, id, init, cgroup);
        }
        for (ClaimedGpu gpu : claim.gpus()) {
            transaction.update(
                    "INSERT INTO lease_gpu (lease, gpu, parent) VALUES (?, ?, ?)",
                    id,
                    gpu.uuid(),
                    gpu.parent().orElse(null));
        }
        Lease lease = new Lease(id, claim, holder, boot, time.at(up), 0, Optional.empty());
        transaction.afterwards(() -> told.accept(lease));
    }

    private static void setContainer(
            Transaction transaction, long lease, Optional<ProcessId> init, Optional<String> cgroup)
            throws SQLException {
        transaction.update(
                "UPDATE lease SET init_pid = ?, init_start = ?, cgroup = ? WHERE id = ?",
                init.map(ProcessId::pid).orElse(null),
                init.map(ProcessId::startTime).orElse(null),
                cgroup.orElse(null),
                lease);
    }

    private boolean end(Transaction transaction, Lease seen, String evidence) throws SQLException {
        Optional<Lease> same =
                LeaseRows.liveOf(transaction, seen.claim().id())
                        .filter(now -> now.id() == seen.id())
                        .filter(now -> now.holder().equals(seen.holder()))
                        .filter(now -> now.mounts() == seen.mounts());
        return same.isPresent() && endNow(transaction, same.get(), evidence);
    }

    private boolean endNow(Transaction transaction, Lease lease, String evidence)
            throws SQLException {
        if (lease.claim().origin().isOverWithItsLease()) {
            transaction.update(
                    "UPDATE claim SET forgotten = ? WHERE forgotten IS NULL"
                            + " AND id = (SELECT claim FROM lease WHERE id = ? AND until IS NULL)",
                    now().toEpochMilli(),
                    lease.id());
        }
        // One of another boot has ended before this one began.
        long up = time.up();
        boolean ended =
                transaction.update(
                                "UPDATE lease SET until = max(since, iif(boot = ?1, ?2, ?3)),"
                                        + " until_up = iif(boot = ?1, ?4, 0), until_boot = ?1,"
                                        + " evidence = ?5 WHERE id = ?6 AND until IS NULL",
                                boot,
                                time.at(up).toEpochMilli(),
                                time.at(0).toEpochMilli(),
                                up,
                                evidence,
                                lease.id())
                        == 1;
        if (ended) {
            Instant at = time.at(lease.boot().equals(boot) ? up : 0);
            transaction.afterwards(() -> events.released(lease, at, evidence));
        }
        return ended;
    }

    @Override
    public void close() throws IOException {
        database.close();
    }
}
