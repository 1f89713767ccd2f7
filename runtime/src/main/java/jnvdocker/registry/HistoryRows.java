package jnvdocker.registry;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The totals of past leases, added up by the database, and their end. */
final class HistoryRows {
    /** Uses of unknown users are distinguished by their names, which are guesses, or all pods'. */
    private static final String UNKNOWN_NAME =
            "iif(uid = " + Owner.UNKNOWN.uid() + ", owner, NULL)";

    /** In milliseconds. */
    private static final long HOUR = 3_600_000;

    /**
     * When a lease has a GPU for itself: what others of its party that began before it have it for
     * is theirs. They may live on, as far as the window goes.
     */
    private static final String ALONE =
            "iif(joined, ifnull((SELECT max(ifnull(earlier.until, ?2)) FROM lease_gpu its"
                    + " JOIN lease earlier ON earlier.id = its.lease"
                    + " JOIN claim theirs ON theirs.id = earlier.claim"
                    + " WHERE its.gpu = lease_gpu.gpu AND its.lease < lease.id"
                    + " AND theirs.party = claim.party), 0), 0)";

    /**
     * The time for which the GPUs of containers were kept after a stop, at most ?3: until the next
     * lease, or until they were given up. A container that others of its party outlast keeps none.
     */
    private static final String KEPT =
            " UNION ALL SELECT uid, owner, NULL, NULL, max(until, ?1), min(?2, until + min(?3,"
                    + " ifnull(kept, ?3)), ifnull((SELECT since FROM lease_gpu its"
                    + " JOIN lease later ON later.id = its.lease WHERE its.gpu = lease_gpu.gpu"
                    + " AND its.lease > lease.id AND later.since >= lease.until"
                    + " ORDER BY its.lease LIMIT 1), ?2)),"
                    + " 0, 0, 0, counts FROM lease JOIN claim ON claim.id = lease.claim"
                    + " JOIN lease_gpu ON lease_gpu.lease = lease.id"
                    + " WHERE until > ?1 - ?3 AND holder = 'held' AND share IS NULL"
                    + " AND origin IN ('engine', 'oci')"
                    + " AND evidence NOT LIKE 'released by force%'"
                    + " AND NOT EXISTS (SELECT 1 FROM claim theirs"
                    + " JOIN lease other ON other.claim = theirs.id"
                    + " WHERE theirs.party = claim.party AND theirs.id <> claim.id"
                    + " AND other.since <= lease.until AND (other.until IS NULL"
                    + " OR (other.until, other.id) > (lease.until, lease.id)))";

    private HistoryRows() {}

    /**
     * Adds up what each user has had since then, and for how long GPUs were kept for the user after
     * the stop of a container.
     *
     * @param afterStop for how long they are kept at most; empty keeps none
     */
    static List<GpuTime.Use> useWithKept(
            Transaction transaction, Instant from, Instant until, Optional<Duration> afterStop)
            throws SQLException {
        List<Object> parameters =
                new ArrayList<>(List.of(from.toEpochMilli(), until.toEpochMilli()));
        afterStop.ifPresent(time -> parameters.add(time.toMillis()));
        return use(
                transaction,
                false,
                Optional.empty(),
                afterStop.isPresent() ? KEPT : "",
                parameters);
    }

    /**
     * @param ends whether later leases do not count; else, they are those of a clock set back
     * @param gpu the UUID of the one that counts; empty counts all
     */
    static List<GpuTime.Use> use(
            Transaction transaction,
            Instant from,
            Instant until,
            boolean ends,
            Optional<String> gpu)
            throws SQLException {
        List<Object> parameters =
                new ArrayList<>(List.of(from.toEpochMilli(), until.toEpochMilli()));
        gpu.ifPresent(parameters::add);
        return use(transaction, ends, gpu, "", parameters);
    }

    /**
     * @param more rows of other times
     */
    private static List<GpuTime.Use> use(
            Transaction transaction,
            boolean ends,
            Optional<String> gpu,
            String more,
            List<Object> parameters)
            throws SQLException {
        // A lease has a row for each of its GPUs. The name is of the row with the latest end:
        // beside a single max() SQLite takes plain columns from the row that has it.
        String begun = ends ? " AND since <= ?2" : "";
        String leases =
                "SELECT uid, owner"
                        + ", iif(holder = 'reserved', NULL, lease.id) AS id, iif(holder <>"
                        + " 'reserved' AND engine IS NOT NULL, lease.claim, NULL) AS container,"
                        + " max(since, ?1, "
                        + ALONE
                        + ") AS first_ms, min(ifnull(until, ?2), ?2) AS last_ms, 0"
                        + " AS millis, 0 AS idle, (until IS NULL OR until > ?2)"
                        + " AND (NOT joined OR "
                        + ALONE
                        + " < ?2) AS live, counts FROM lease"
                        + " JOIN claim ON claim.id = lease.claim JOIN lease_gpu ON"
                        + " lease_gpu.lease = lease.id WHERE (until IS NULL OR until > ?1)"
                        + begun
                        + (gpu.isPresent() ? " AND gpu = ?3" : "");
        String reserved =
                "SELECT uid, owner"
                        + ", NULL, NULL, last, last, millis, 0, 0, 1 FROM reserved"
                        + " WHERE last > ?1"
                        + (ends ? " AND last <= ?2" : "")
                        + " AND gpu = "
                        + (gpu.isPresent() ? "?3" : "''");
        // No more than what the window has of an hour, be it the lease's last.
        String idle =
                "SELECT uid, owner"
                        + ", NULL, NULL, 0, 0, 0, max(0, min(idle.millis,"
                        + " min(ifnull(until, ?2), ?2, since + (hour + 1) * "
                        + HOUR
                        + ") - max(since + hour * "
                        + HOUR
                        + ", ?1))), 0, counts FROM lease JOIN claim ON claim.id = lease.claim"
                        + " JOIN idle ON idle.lease = lease.id"
                        + " JOIN lease_gpu ON lease_gpu.lease = lease.id AND lease_gpu.gpu ="
                        + " idle.gpu"
                        + " WHERE (until IS NULL OR until > ?1)"
                        + begun
                        + (gpu.isPresent() ? " AND lease_gpu.gpu = ?3" : "");
        String sql =
                "SELECT uid, owner, max(last_ms) AS last, CAST(round(sum(max(0, last_ms - first_ms)"
                    + " * counts)) AS INTEGER) + sum(millis) AS millis, CAST(round(sum(idle *"
                    + " counts)) AS INTEGER) AS idle, count(DISTINCT id) AS leases, count(DISTINCT"
                    + " container) AS containers, sum(live * counts) AS held FROM ("
                        + leases
                        + " UNION ALL "
                        + reserved
                        + " UNION ALL "
                        + idle
                        + more
                        + ") GROUP BY uid, "
                        + UNKNOWN_NAME
                        + " ORDER BY millis DESC, last DESC, uid";
        return transaction.list(HistoryRows::use, sql, parameters.toArray());
    }

    private static GpuTime.Use use(ResultSet row) throws SQLException {
        return new GpuTime.Use(
                new Owner(row.getInt("uid"), row.getString("owner")),
                Duration.ofMillis(row.getLong("millis")),
                Duration.ofMillis(row.getLong("idle")),
                row.getInt("leases"),
                row.getInt("containers"),
                row.getDouble("held"),
                Instant.ofEpochMilli(row.getLong("last")));
    }

    /** Deletes a lease that has just ended, and its claim if no other lease has that. */
    static void deleteTrial(Transaction transaction, Lease lease) throws SQLException {
        String claim = lease.claim().id();
        transaction.update("UPDATE gpu SET stopped = NULL WHERE stopped = ?", claim);
        transaction.update("DELETE FROM lease_gpu WHERE lease = ?", lease.id());
        transaction.update("DELETE FROM idle WHERE lease = ?", lease.id());
        transaction.update("DELETE FROM lease WHERE id = ?", lease.id());
        deleteAlone(transaction, claim);
    }

    /**
     * The UUIDs of GPUs that were given back once, also of those that the host has not any more.
     */
    static List<String> gpus(Transaction transaction) throws SQLException {
        return transaction.list(row -> row.getString(1), "SELECT uuid FROM gpu ORDER BY uuid");
    }

    /** The latest end that was written in another boot than that. */
    static Optional<Instant> latestNotOf(Transaction transaction, String boot) throws SQLException {
        return transaction.first(
                row -> Instant.ofEpochMilli(row.getLong(1)),
                "SELECT until FROM lease WHERE until IS NOT NULL AND until_boot IS NOT ?"
                        + " ORDER BY until DESC LIMIT 1",
                boot);
    }

    /**
     * Deletes leases that had ended by then, and claims that were forgotten by then and have no
     * lease left. Of each no more than a limit: others wait for the registry meanwhile.
     *
     * @return how many leases and claims
     */
    static int deleteUntil(Transaction transaction, Instant then, int limit) throws SQLException {
        long time = then.toEpochMilli();
        transaction.update("DELETE FROM reserved WHERE hour < ?", time / HOUR);
        return deleteLeases(transaction, "until < ?", time, limit)
                + deleteClaims(transaction, time, limit);
    }

    /**
     * Deletes the oldest leases above a number, and the claims that only they have.
     *
     * @return how many leases and claims
     */
    static int deleteBeyond(Transaction transaction, int most, int limit) throws SQLException {
        int ended = count(transaction, "SELECT count(*) FROM lease WHERE until IS NOT NULL");
        int leases = Math.min(ended - most, limit);
        int gone = leases > 0 ? deleteLeases(transaction, "until <= ?", Long.MAX_VALUE, leases) : 0;
        int forgotten =
                count(transaction, "SELECT count(*) FROM claim WHERE forgotten IS NOT NULL");
        int claims = Math.min(forgotten - most, limit);
        return gone + (claims > 0 ? deleteClaims(transaction, Long.MAX_VALUE, claims) : 0);
    }

    private static int count(Transaction transaction, String sql) throws SQLException {
        return transaction.first(row -> row.getInt(1), sql).orElseThrow();
    }

    private static int deleteLeases(Transaction transaction, String which, long until, int limit)
            throws SQLException {
        String leases = "(SELECT id FROM lease WHERE " + which + " ORDER BY until, id LIMIT ?)";
        for (String part : List.of("lease_gpu", "idle")) {
            transaction.update("DELETE FROM " + part + " WHERE lease IN " + leases, until, limit);
        }
        return transaction.update("DELETE FROM lease WHERE id IN " + leases, until, limit);
    }

    private static int deleteClaims(Transaction transaction, long forgotten, int limit)
            throws SQLException {
        String claims =
                "(SELECT id FROM claim WHERE forgotten < ? AND NOT EXISTS"
                        + " (SELECT 1 FROM lease WHERE lease.claim = claim.id)"
                        // What was requested for a container, whose leases are of other claims.
                        + " AND (request IS NULL OR container IS NULL OR NOT EXISTS"
                        + " (SELECT 1 FROM lease JOIN claim its ON its.id = lease.claim"
                        + " WHERE its.container = claim.container))"
                        + " ORDER BY forgotten, rowid LIMIT ?)";
        for (String child : List.of("mount", "claim_gpu", "refused_start")) {
            transaction.update(
                    "DELETE FROM " + child + " WHERE claim IN " + claims, forgotten, limit);
        }
        return transaction.update("DELETE FROM claim WHERE id IN " + claims, forgotten, limit);
    }

    /**
     * Adds up reservations that had ended by then without having become anything, by user, GPU and
     * hour. The claims that only they have go with them, unless a container has the claim: each of
     * its starts depends on what was requested.
     *
     * @return how many
     */
    static int fold(Transaction transaction, Instant then, int limit) throws SQLException {
        List<Long> ids =
                transaction.list(
                        row -> row.getLong(1),
                        "SELECT id FROM lease WHERE holder = 'reserved' AND until IS NOT NULL"
                                + " AND until < ? AND evidence NOT LIKE 'released by force%'"
                                + " ORDER BY until LIMIT ?",
                        then.toEpochMilli(),
                        limit);
        if (ids.isEmpty()) {
            return 0;
        }
        String those = ids.stream().map(String::valueOf).collect(Collectors.joining(",", "(", ")"));
        String one = " lease JOIN claim ON claim.id = lease.claim";
        add(
                transaction,
                "lease_gpu.gpu",
                "counts",
                one + " JOIN lease_gpu ON lease = lease.id",
                those);
        add(
                transaction,
                "''",
                "(SELECT sum(counts) FROM lease_gpu WHERE lease = lease.id)",
                one,
                those);
        List<String> claims =
                transaction.list(
                        row -> row.getString(1),
                        "SELECT claim FROM lease JOIN claim ON claim.id = claim WHERE lease.id IN "
                                + those
                                + " AND forgotten IS NOT NULL"
                                + " AND (request IS NULL OR container IS NULL)");
        transaction.update("DELETE FROM lease_gpu WHERE lease IN " + those);
        transaction.update("DELETE FROM lease WHERE id IN " + those);
        for (String claim : claims) {
            deleteAlone(transaction, claim);
        }
        return ids.size();
    }

    private static void add(
            Transaction transaction, String gpu, String gpus, String from, String those)
            throws SQLException {
        transaction.update(
                "INSERT INTO reserved (uid, gpu, hour, owner, leases, millis, last) SELECT uid, "
                        + gpu
                        + ", until / "
                        + HOUR
                        + ", owner, 1, CAST(round((until - since) * "
                        + gpus
                        + ") AS INTEGER), until FROM"
                        + from
                        + " WHERE lease.id IN "
                        + those
                        + " ON CONFLICT DO UPDATE SET leases = leases + 1, millis = millis +"
                        + " excluded.millis, last = max(last, excluded.last)");
    }

    private static void deleteAlone(Transaction transaction, String claim) throws SQLException {
        boolean used =
                transaction
                        .first(row -> claim, "SELECT 1 FROM lease WHERE claim = ?", claim)
                        .isPresent();
        if (!used) {
            transaction.update("DELETE FROM mount WHERE claim = ?", claim);
            transaction.update("DELETE FROM claim_gpu WHERE claim = ?", claim);
            transaction.update("DELETE FROM refused_start WHERE claim = ?", claim);
            transaction.update("DELETE FROM claim WHERE id = ?", claim);
        }
    }
}
