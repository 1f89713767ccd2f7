package jnvdocker.registry;

import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * The present and past holders of GPUs, on disk. Each change is one transaction; that a GPU has one
 * holder is the database's own rule. Nothing here inspects processes or engines: what callers
 * report is taken as true.
 */
public final class LeaseRegistry implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseRegistry.class);

    private final RegistryDatabase database;
    private final ClaimStore claims;
    private final ClaimRequests requests;
    private final LeaseHistory history;
    private final IdleStore idle;
    private final Timeline timeline;
    private final String boot;
    private final BootTime time;
    private final RandomGenerator random;
    private final boolean isNew;
    private final Changes changes = new Changes();
    private boolean following;

    /** The live leases as they are on disk. */
    private volatile Ledger ledger;

    private volatile LeaseEvents events = LeaseEvents.NONE;

    private LeaseRegistry(
            RegistryDatabase database,
            String boot,
            BootTime time,
            RandomGenerator random,
            Ledger ledger,
            boolean isNew) {
        this.database = database;
        this.isNew = isNew;
        this.ledger = ledger;
        this.claims = new ClaimStore(database, this::present, boot, time);
        this.requests = new ClaimRequests(database, claims, time);
        this.history = new LeaseHistory(database, boot, time);
        this.idle = new IdleStore(database, boot);
        this.timeline = new Timeline(database, time);
        this.boot = boot;
        this.time = time;
        this.random = random;
        database.beforeEach(this::followTheClock);
        database.follow(this::read);
    }

    /**
     * @param directory that has {@code registry.db}, or will have it
     * @param boot this boot's id
     * @param random for the keys of new claims
     * @throws RegistryException when a newer version has made it, or it cannot be opened; a damaged
     *     one is kept beside, and a new one made
     */
    public static LeaseRegistry open(
            Path directory, String boot, HostClock clock, RandomGenerator random)
            throws IOException {
        boolean isNew = Files.notExists(directory.resolve(RegistryDatabase.NAME));
        RegistryDatabase database = RegistryDatabase.open(directory);
        BootTime time;
        Ledger ledger;
        try {
            time = database.transaction(transaction -> BootTime.read(transaction, boot, clock));
            ledger = database.transaction(Ledger::read);
        } catch (IOException | RuntimeException e) {
            database.close();
            throw e;
        }
        return new LeaseRegistry(database, boot, time, random, ledger, isNew);
    }

    /** Whether there was no file of it when it was opened. */
    public boolean isNew() {
        return isNew;
    }

    /** Notifies a listener of every lease that begins or ends. */
    public void addListener(LeaseEvents observer) {
        events = observer;
    }

    /** The claims, with leases or without. */
    public ClaimStore claims() {
        return claims;
    }

    /** What was requested for containers. */
    public ClaimRequests requests() {
        return requests;
    }

    /** The leases that have ended. */
    public LeaseHistory history() {
        return history;
    }

    /** Returns the store of idle times. */
    public IdleStore idle() {
        return idle;
    }

    /** The use of each GPU over time. */
    public Timeline timeline() {
        return timeline;
    }

    /** The boot id that new leases get. */
    public String boot() {
        return boot;
    }

    public Instant now() {
        return time.now();
    }

    /** Returns the key of a new claim. */
    public ClaimKey newKey() {
        return ClaimKey.make(random);
    }

    /** When this boot began, by the same clock. */
    public Instant bootBegan() {
        return time.at(0);
    }

    /** Called before each transaction, so that ages do not change when the clock is set. */
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

    /** Docker takes one mount back. */
    public void unmounted(String claim, String use) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "DELETE FROM mount WHERE rowid = (SELECT rowid FROM mount"
                                + " WHERE claim = ? AND use = ? LIMIT 1)",
                        claim,
                        use));
    }

    /**
     * A decision on the leases of this moment, and its writes. Nobody else can begin or end a lease
     * while it is made, so it reads nothing but what it is given.
     */
    @FunctionalInterface
    public interface Decision<T> {
        T on(LeaseWriter leases);
    }

    /**
     * Decides and writes in one step.
     *
     * @throws RegistryException when that cannot be written: then nothing is
     */
    public <T> T decide(Decision<T> decision) throws IOException {
        return database.transaction(transaction ->
                decision.on(new LeaseWriter(transaction, holdingsNow(), time, boot, events)));
    }

    /** The tickets of waiting clients, in order of their numbers. */
    public List<Ticket> tickets() throws IOException {
        return database.transaction(transaction -> TicketRows.clear(transaction, boot));
    }

    /** Gives a client a place in the queue. One that has a place keeps its number and its time. */
    public Ticket addTicket(Request request, int priority) throws IOException {
        return database.transaction(
                transaction -> TicketRows.add(transaction, boot, request, priority, now()));
    }

    public void removeTicket(long id) throws IOException {
        database.transaction(transaction -> {
            TicketRows.remove(transaction, id);
            return null;
        });
    }

    /** Cordons a GPU: it gets no new lease. A reason, if not empty, replaces that of before. */
    public void cordon(String gpu, Owner owner, String reason) throws IOException {
        database.transaction(transaction -> {
            CordonRows.put(transaction, gpu, new Cordon.ByCommand(owner, now(), reason));
            return null;
        });
    }

    /**
     * A GPU gets leases again.
     *
     * @return whether it was cordoned
     */
    public boolean uncordon(String gpu) throws IOException {
        return database.transaction(transaction -> CordonRows.remove(transaction, gpu));
    }

    /** Each time that a GPU may have become free, since this registry was opened. */
    public Changes changes() {
        return changes;
    }

    /** The lease that a claim has now. */
    public Optional<Lease> liveOf(String claim) throws IOException {
        return live().stream().filter(lease -> lease.claim().id().equals(claim)).findFirst();
    }

    /** All leases that GPUs are held under, the oldest first. */
    public List<Lease> live() throws IOException {
        return present().live();
    }

    /** All leases that GPUs are held under, by the ids of their claims. */
    public Map<String, Lease> liveByClaim() throws IOException {
        Map<String, Lease> leases = new HashMap<>();
        live().forEach(lease -> leases.put(lease.claim().id(), lease));
        return leases;
    }

    /** The leases, and since when the other GPUs are idle. */
    public Holdings holdings() throws IOException {
        return present().holdings(time.now());
    }

    /**
     * Reads what decides about GPUs from the disk again.
     *
     * @throws RegistryException when the file is damaged, or is not the one that was opened
     */
    public void examine() throws IOException {
        database.examine();
    }

    /** The ledger of this moment, which needs no transaction. */
    Ledger present() throws RegistryException {
        database.check();
        if (time.hasJumped()) {
            history.followTheClock();
        }
        return ledger;
    }

    private Holdings holdingsNow() {
        return ledger.holdings(time.now());
    }

    /** The leases among these that have not ended meanwhile, as they are now. */
    public List<Lease> stillLive(Collection<Lease> leases) throws IOException {
        List<Long> ids = leases.stream().map(Lease::id).toList();
        return live().stream().filter(lease -> ids.contains(lease.id())).toList();
    }

    /**
     * Reads the state to be committed. What it returns wakes the clients that wait if a GPU has
     * become free, or may have.
     */
    private Runnable read(Transaction transaction) throws SQLException {
        Ledger next = ledger.after(transaction);
        return () -> {
            boolean freed = next.frees(ledger);
            ledger = next;
            if (freed) {
                changes.add();
            }
        };
    }

    @Override
    public void close() throws IOException {
        database.close();
    }
}
