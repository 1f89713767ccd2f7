package jnvdocker.registry;

import jnvdocker.lease.Booking;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Owner;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The bookings of GPUs, in the registry: a row for each GPU. */
final class BookingRows {
    private BookingRows() {}

    /** All of them, those that are over too until the next is made; the first to begin first. */
    static List<Booking> all(Transaction transaction) throws SQLException {
        Map<Long, Booking> bookings = new TreeMap<>();
        transaction.list(
                row ->
                        bookings.merge(
                                row.getLong("id"),
                                new Booking(
                                        row.getLong("id"),
                                        new Owner(row.getInt("uid"), row.getString("owner")),
                                        Set.of(row.getString("gpu")),
                                        parents(row),
                                        Instant.ofEpochMilli(row.getLong("since")),
                                        Instant.ofEpochMilli(row.getLong("until"))),
                                BookingRows::with),
                "SELECT id, gpu, parent, uid, owner, since, until FROM booking");
        return bookings.values().stream().sorted(Comparator.comparing(Booking::from)).toList();
    }

    private static Booking with(Booking one, Booking other) {
        Set<String> gpus = new HashSet<>(one.gpus());
        gpus.addAll(other.gpus());
        Set<String> parents = new HashSet<>(one.parents());
        parents.addAll(other.parents());
        return new Booking(one.id(), one.owner(), gpus, parents, one.from(), one.until());
    }

    private static Set<String> parents(ResultSet row) throws SQLException {
        String parent = row.getString("parent");
        return parent == null ? Set.of() : Set.of(parent);
    }

    /**
     * Adds a booking, under a number of its own, and removes those that are over.
     *
     * @throws SQLException when one of its GPUs, the GPU that it is a part of, or a part of it is
     *     booked already for a part of that time
     */
    static Booking add(
            Transaction transaction,
            Owner owner,
            List<ClaimedGpu> gpus,
            Instant from,
            Instant until,
            Instant now)
            throws SQLException {
        transaction.update("DELETE FROM booking WHERE until <= ?", now.toEpochMilli());
        long id =
                transaction
                        .first(
                                row -> row.getLong(1),
                                "UPDATE booking_number SET last = last + 1 RETURNING last")
                        .orElseThrow();
        for (ClaimedGpu gpu : gpus) {
            transaction.update(
                    "INSERT INTO booking (id, gpu, parent, uid, owner, since, until)"
                            + " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    id,
                    gpu.uuid(),
                    gpu.parent().orElse(null),
                    owner.uid(),
                    owner.name(),
                    from.toEpochMilli(),
                    until.toEpochMilli());
        }
        return Booking.of(id, owner, gpus, from, until);
    }

    static boolean remove(Transaction transaction, long id) throws SQLException {
        return transaction.update("DELETE FROM booking WHERE id = ?", id) > 0;
    }
}
