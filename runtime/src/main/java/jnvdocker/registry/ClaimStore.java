package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.Owner;
import jnvdocker.lease.RefusedStart;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Claims on disk: which there are, which containers they belong to, and what has become of those.
 * Those that are not forgotten are read from the {@link Ledger}. A claim without a lease is here
 * alone.
 */
public final class ClaimStore {
    private final RegistryDatabase database;
    private final Ledger.Source ledger;
    private final String boot;
    private final BootTime time;
    private final Map<String, Integer> madeAgain = new ConcurrentHashMap<>();

    ClaimStore(RegistryDatabase database, Ledger.Source ledger, String boot, BootTime time) {
        this.database = database;
        this.ledger = ledger;
        this.boot = boot;
        this.time = time;
    }

    /**
     * Puts a claim back that was lost, without a lease. Of one that is known only the volume may
     * have been lost.
     *
     * @return whether it was not known
     */
    public boolean restore(Claim claim, boolean volume) throws IOException {
        return database.transaction(transaction -> {
            boolean lost = LeaseRows.claim(transaction, claim.id()).isEmpty();
            if (lost) {
                int revived =
                        transaction.update(
                                "UPDATE claim SET forgotten = NULL WHERE id = ?", claim.id());
                if (revived == 0) {
                    LeaseRows.insertClaim(transaction, claim, Optional.empty(), Optional.empty());
                }
            }
            if (volume) {
                setVolume(transaction, claim.id());
            }
            return lost;
        });
    }

    /**
     * Restores a claim that was forgotten although a process still has it mounted.
     *
     * @return whether it was known once
     */
    public boolean revive(String claim) throws IOException {
        return database.transaction(transaction ->
                transaction.update(
                                "UPDATE claim SET forgotten = NULL, volume = 1 WHERE id = ?", claim)
                        == 1);
    }

    /**
     * Restores a claim that was forgotten with its container and its volume, for a container that
     * is made with the same volume: programs that update containers remove them and make them
     * again.
     *
     * @return whether it was known once, with that secret
     */
    public boolean madeAgain(ClaimKey claim) throws IOException {
        boolean again =
                database.transaction(transaction ->
                        transaction.update(
                                        "UPDATE claim SET forgotten = NULL, container = NULL"
                                                + " WHERE id = ? AND secret = ? AND volume = 1"
                                                + " AND forgotten IS NOT NULL",
                                        claim.id(),
                                        claim.secret())
                                == 1);
        if (again) {
            madeAgain.merge(claim.id(), 1, Integer::sum);
        }
        return again;
    }

    /** Whether the container of a claim was removed, and none has taken its place. */
    public boolean isOver(String claim) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                row -> claim,
                                "SELECT 1 FROM claim WHERE id = ? AND container IS NULL"
                                        + " AND name IS NOT NULL",
                                claim)
                        .isPresent());
    }

    /** How often a claim was made again since the daemon started. */
    public int timesMadeAgain(String claim) {
        return madeAgain.getOrDefault(claim, 0);
    }

    /** Whether a claim is known, be it forgotten. */
    public boolean knew(String claim) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(row -> claim, "SELECT 1 FROM claim WHERE id = ?", claim)
                        .isPresent());
    }

    /** The id of the container of a claim, be the claim forgotten. */
    public Optional<String> containerOf(String claim) throws IOException {
        return database.transaction(transaction ->
                transaction.first(
                        row -> row.getString("container"),
                        "SELECT container FROM claim WHERE id = ? AND container IS NOT NULL",
                        claim));
    }

    /** Records that docker was notified of the claim's volume, and remembers it. */
    public boolean created(ClaimKey claim) throws IOException {
        return claim(claim).isPresent()
                && database.transaction(transaction -> setVolume(transaction, claim.id()) == 1);
    }

    /**
     * The first container of a claim: no later one takes its place, also when that one is removed.
     */
    public void bound(String claim, Claim.ContainerRef container) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE claim SET container = ?, name = ? WHERE id = ?"
                                + " AND container IS NULL AND name IS NULL",
                        container.id(),
                        container.name(),
                        claim));
    }

    /** The container of a claim, and its present name. */
    public void named(String claim, Claim.ContainerRef container) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE claim SET container = ?, name = ? WHERE id = ?"
                                + " AND (container, name) IS NOT (?, ?)",
                        container.id(),
                        container.name(),
                        claim,
                        container.id(),
                        container.name()));
    }

    /** A container, of whatever claims, has another name now. */
    public void renamed(Claim.ContainerRef container) throws IOException {
        database.transaction(transaction ->
                transaction.update(
                        "UPDATE claim SET name = ? WHERE container = ? AND name IS NOT ?"
                                + " AND forgotten IS NULL",
                        container.name(),
                        container.id(),
                        container.name()));
    }

    /** The claim's container is gone; others may still mount its volume. */
    public void unnamed(String claim) throws IOException {
        database.transaction(transaction ->
                transaction.update("UPDATE claim SET container = NULL WHERE id = ?", claim));
    }

    /**
     * Whether a claim, be it forgotten, was released by force, and what runs of it did so then. The
     * registry may not know of a start since.
     *
     * @param process the oldest of its holder
     */
    public boolean isReleased(String claim, ProcessId process) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                row -> claim,
                                "SELECT 1 FROM claim WHERE id = ? AND released = 1 AND NOT EXISTS"
                                        + " (SELECT 1 FROM lease WHERE lease.id = (SELECT max(id)"
                                        + " FROM lease WHERE lease.claim = claim.id) AND (boot <> ?"
                                        + " OR (init_pid, init_start) <> (?, ?)))",
                                claim,
                                boot,
                                process.pid(),
                                process.startTime())
                        .isPresent());
    }

    /** The claim's container is gone, and so is its volume. Its leases stay, as history. */
    public void forget(String claim) throws IOException {
        database.transaction(transaction -> {
            RefusedRows.remove(transaction, claim);
            return transaction.update(
                    "UPDATE claim SET forgotten = ? WHERE id = ? AND forgotten IS NULL",
                    time.now().toEpochMilli(),
                    claim);
        });
    }

    /**
     * Docker was refused to mount a claim.
     *
     * @param starts whether its engine is just starting: then its container is to be started later
     */
    public void refusedStart(String claim, Refusal why, boolean starts) throws IOException {
        database.transaction(transaction -> {
            RefusedRows.add(transaction, claim, why, starts, time.now());
            return null;
        });
    }

    /**
     * Docker could not mount a claim when it started, since nobody served it.
     *
     * @param error as docker keeps it
     * @param what that means
     */
    public void missedStart(String claim, String error, String what) throws IOException {
        database.transaction(transaction -> {
            RefusedRows.addMissed(transaction, claim, error, what, time.now());
            return null;
        });
    }

    /** The containers that are to be started when they can have their GPUs, the oldest first. */
    public List<RefusedStart> refusedStarts() throws IOException {
        return database.transaction(RefusedRows::all);
    }

    /** Docker's word on one of them. */
    public void seen(String claim, RefusedStart.Seen seen) throws IOException {
        database.transaction(transaction -> {
            RefusedRows.seen(transaction, claim, seen);
            return null;
        });
    }

    /** Stops waiting to start the claim's container. */
    public void notRefused(String claim) throws IOException {
        database.transaction(transaction -> {
            RefusedRows.remove(transaction, claim);
            return null;
        });
    }

    /** A claim that is not forgotten. */
    public Optional<Claim> claim(String id) throws IOException {
        return known(id).map(Ledger.Known::claim);
    }

    /** Whether a claim, be it forgotten, is for a GPU, or for any of its parts. */
    public boolean wasClaimed(ClaimKey claim, String gpu) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                row -> gpu,
                                "SELECT 1 FROM claim_gpu JOIN claim ON claim.id = claim"
                                        + " WHERE claim = ? AND secret = ? AND ? IN (gpu, parent)",
                                claim.id(),
                                claim.secret(),
                                gpu)
                        .isPresent());
    }

    /** Likewise, if it has that secret. */
    public Optional<Claim> claim(ClaimKey key) throws IOException {
        return claim(key.id()).filter(claim -> claim.key().equals(key));
    }

    /**
     * The request of a claim.
     *
     * @param container the container that it belongs to; empty as long as there is none
     * @param isOver whether its container was removed: who has the claim's label need not be the
     *     claim's owner, since everybody who may inspect containers has seen the label
     */
    public record Made(
            GpuRequest request,
            Owner owner,
            Optional<Claim.ContainerRef> container,
            boolean isOver) {
        /** Whether it belongs to this container. */
        public boolean isOf(String id) {
            return container.filter(it -> it.id().equals(id)).isPresent();
        }
    }

    /**
     * The request of a claim, even of a removed one; empty when it is not known, or has another
     * secret.
     */
    public Optional<Made> made(ClaimKey claim) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                LeaseRows::made,
                                "SELECT uid, owner, request, container, name"
                                        + " FROM claim WHERE id = ? AND secret = ?"
                                        + " AND request IS NOT NULL",
                                claim.id(),
                                claim.secret())
                        .flatMap(made -> made));
    }

    /** Whether the request of a claim, even of a removed one, is known. */
    public boolean hasRequest(String claim) throws IOException {
        return database.transaction(transaction ->
                transaction
                        .first(
                                row -> claim,
                                "SELECT 1 FROM claim WHERE id = ? AND request IS NOT NULL",
                                claim)
                        .isPresent());
    }

    /** Whether docker was notified of the claim's volume. */
    public boolean hasVolume(String claim) throws IOException {
        return known(claim).filter(Ledger.Known::volume).isPresent();
    }

    /** All claims that are not forgotten, the oldest first. */
    public List<Claim> all() throws IOException {
        return listed(_ -> true);
    }

    /** The claims that are not forgotten and have a volume that docker was notified of. */
    public List<Claim> withVolume() throws IOException {
        return listed(Ledger.Known::volume);
    }

    /** The forgotten claims with a volume that docker was notified of, the latest first. */
    public List<Claim> forgottenWithVolume(int limit) throws IOException {
        return database.transaction(
                transaction -> LeaseRows.forgottenWithVolume(transaction, limit));
    }

    /** The claims without a known container and without a lease, which may be obsolete. */
    public List<Claim> unused() throws IOException {
        Ledger present = ledger.present();
        Set<String> leased =
                present.live().stream()
                        .map(lease -> lease.claim().id())
                        .collect(Collectors.toSet());
        return listed(known ->
                known.claim().container().isEmpty() && !leased.contains(known.claim().id()));
    }

    private Optional<Ledger.Known> known(String claim) throws IOException {
        return Optional.ofNullable(ledger.present().claims().get(claim));
    }

    private List<Claim> listed(Predicate<Ledger.Known> which) throws IOException {
        return ledger.present().claims().values().stream()
                .filter(which)
                .map(Ledger.Known::claim)
                .sorted(Comparator.comparing(Claim::created).thenComparing(Claim::id))
                .toList();
    }

    private static int setVolume(Transaction transaction, String claim) throws SQLException {
        return transaction.update(
                "UPDATE claim SET volume = 1 WHERE id = ? AND forgotten IS NULL", claim);
    }
}
