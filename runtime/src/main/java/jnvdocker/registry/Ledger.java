package jnvdocker.registry;

import jnvdocker.lease.Booking;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;

import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * All that a choice of GPUs is made on, in memory, as it was committed last. It is read again after
 * each change, so that it cannot differ from what is on disk.
 *
 * @param live the leases that GPUs are held under, the oldest first
 * @param idleSince when GPUs were given back, by UUID
 * @param stopped the containers that held these GPUs last, by UUID
 * @param cordoned by command, by UUID
 * @param booked the first to begin first, with those that are over
 */
record Ledger(
        List<Lease> live,
        Map<String, Lease> held,
        Map<String, Instant> idleSince,
        Map<String, Holdings.Stopped> stopped,
        Map<String, Cordon.ByCommand> cordoned,
        List<Booking> booked) {
    static Ledger read(Transaction transaction) throws SQLException {
        List<Lease> live = LeaseRows.live(transaction);
        Map<String, Lease> held = new HashMap<>();
        for (Lease lease : live) {
            lease.claim().gpus().forEach(gpu -> held.put(gpu.uuid(), lease));
        }
        Map<String, Instant> idle = new HashMap<>();
        transaction.list(
                row -> idle.put(row.getString(1), Instant.ofEpochMilli(row.getLong(2))),
                "SELECT uuid, idle_since FROM gpu");
        return new Ledger(
                List.copyOf(live),
                Map.copyOf(held),
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
                                        row.getString("name"))),
                "SELECT uuid, claim.id, uid, owner, coalesce(name, id) AS name FROM gpu"
                        + " JOIN claim ON claim.id = gpu.stopped");
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
