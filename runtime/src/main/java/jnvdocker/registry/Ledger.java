package jnvdocker.registry;

import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;

import java.sql.SQLException;
import java.time.Instant;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * All that a choice of GPUs is made on, and the claims, in memory, as they were committed last.
 * After each change that which was {@link Touched} is read again.
 *
 * @param claims by their ids
 * @param live the leases that GPUs are held under, the oldest first
 * @param held the same, by the UUIDs of their GPUs; those of one GPU are of one party, or have
 *     shares of it
 * @param idleSince when GPUs were given back, by UUID
 * @param stopped the containers that held these GPUs last, by UUID
 * @param cordoned by command, by UUID
 * @param booked the first to begin first, with those that are over
 */
record Ledger(
        Map<String, Known> claims,
        List<Lease> live,
        Map<String, List<Lease>> held,
        Map<String, Instant> idleSince,
        Map<String, Holdings.Stopped> stopped,
        Map<String, Cordon.ByCommand> cordoned,
        List<Booking> booked) {
    /**
     * A claim that is not forgotten.
     *
     * @param volume whether docker was notified of its volume
     */
    record Known(Claim claim, boolean volume) {}

    /** A ledger that is as the database was when its last transaction was committed. */
    @FunctionalInterface
    interface Source {
        /**
         * @throws RegistryException when the database is damaged
         */
        Ledger present() throws RegistryException;
    }

    /** Reads the whole ledger. */
    static Ledger read(Transaction transaction) throws SQLException {
        return of(LeaseRows.known(transaction), LeaseRows.live(transaction), transaction);
    }

    /** The ledger after a transaction that is about to be committed. */
    Ledger after(Transaction transaction) throws SQLException {
        Set<String> touched = Touched.in(transaction);
        if (touched.isEmpty()) {
            return this;
        }
        Map<String, Known> known = new HashMap<>(claims);
        known.keySet().removeAll(touched);
        known.putAll(LeaseRows.touched(transaction));
        List<Lease> leases =
                Stream.concat(
                                live.stream()
                                        .filter(lease -> !touched.contains(lease.claim().id())),
                                LeaseRows.touchedLive(transaction).stream())
                        .sorted(Comparator.comparingLong(Lease::id))
                        .toList();
        return of(known, leases, transaction);
    }

    private static Ledger of(Map<String, Known> claims, List<Lease> live, Transaction transaction)
            throws SQLException {
        Map<String, Instant> idle = new HashMap<>();
        transaction.list(
                row -> idle.put(row.getString(1), Instant.ofEpochMilli(row.getLong(2))),
                "SELECT uuid, idle_since FROM gpu");
        return new Ledger(
                Collections.unmodifiableMap(claims),
                List.copyOf(live),
                Holdings.byGpu(live),
                Map.copyOf(idle),
                stopped(transaction),
                Map.copyOf(CordonRows.all(transaction)),
                BookingRows.all(transaction));
    }

    private static Map<String, Holdings.Stopped> stopped(Transaction transaction)
            throws SQLException {
        Map<String, Holdings.Stopped> stopped = new HashMap<>();
        transaction.list(
                row ->
                        stopped.put(
                                row.getString("uuid"),
                                new Holdings.Stopped(
                                        row.getString("id"),
                                        new Owner(row.getInt("uid"), row.getString("owner")),
                                        row.getString("name"),
                                        row.getDouble("counts"))),
                // The claim's last lease, if the history has that still.
                "SELECT uuid, claim.id, uid, owner, coalesce(name, id) AS name, ifnull((SELECT"
                        + " counts FROM lease_gpu WHERE gpu = uuid AND lease ="
                        + " (SELECT max(id) FROM lease WHERE claim = gpu.stopped)), 1) AS counts"
                        + " FROM gpu JOIN claim ON claim.id = gpu.stopped");
        return Map.copyOf(stopped);
    }

    Holdings holdings(Instant now) {
        return new Holdings(now, held, idleSince, stopped, cordoned, booked);
    }

    /** Whether a client may get a GPU now that could not before. */
    boolean frees(Ledger before) {
        Set<Long> gone = new HashSet<>(ids(before));
        gone.removeAll(ids(this));
        return !gone.isEmpty()
                || !cordoned.equals(before.cordoned)
                || !booked.containsAll(before.booked)
                || !stopped.keySet().containsAll(before.stopped.keySet());
    }

    private static Set<Long> ids(Ledger ledger) {
        return ledger.live.stream().map(Lease::id).collect(Collectors.toSet());
    }
}
