package jnvdocker.tests.world;

import org.sqlite.SQLiteConfig;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** A daemon's registry, read beside the daemon, which must have created it. */
public final class Registry {
    private final Path file;

    public Registry(TestDaemon daemon) {
        file = daemon.state().resolve("registry.db");
    }

    /**
     * A period of holding GPUs that has not ended.
     *
     * @param container its name, {@code "?"} as long as it is unknown
     * @param minors of its GPUs' nodes, by the GPUs' indices
     * @param pid of the client for a reservation, otherwise of the engine that has mounted the
     *     claim
     * @param init the container's first process, 0 as long as it is unknown
     */
    public record Lease(
            long id,
            String claim,
            String container,
            Map<Integer, Integer> minors,
            boolean reservation,
            int pid,
            int init) {}

    /** The leases that have not ended, the oldest first. */
    public List<Lease> live() {
        return rows(
                """
                SELECT lease.id, claim.id AS claim, ifnull(name, '?') AS name, holder, pid,
                  ifnull(init_pid, 0) AS init,
                  (SELECT group_concat(position || ' ' || minor) FROM claim_gpu
                    WHERE claim_gpu.claim = claim.id) AS gpus
                FROM lease JOIN claim ON claim.id = lease.claim
                WHERE until IS NULL ORDER BY lease.id\
                """,
                row ->
                        new Lease(
                                row.getLong("id"),
                                row.getString("claim"),
                                row.getString("name"),
                                minors(row.getString("gpus")),
                                row.getString("holder").equals("reserved"),
                                row.getInt("pid"),
                                row.getInt("init")));
    }

    private static Map<Integer, Integer> minors(String gpus) {
        Map<Integer, Integer> minors = new TreeMap<>();
        for (String gpu : gpus.split(",")) {
            String[] words = gpu.split(" ");
            minors.put(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
        }
        return minors;
    }

    public Optional<Lease> liveOf(String container) {
        return live().stream().filter(lease -> lease.container().equals(container)).findFirst();
    }

    /** The names of the containers that hold GPUs, by the GPUs' indices. */
    public Map<Integer, String> holders() {
        Map<Integer, String> holders = new TreeMap<>();
        for (Lease lease : live()) {
            String holder = lease.reservation() ? "reservation" : lease.container();
            for (int gpu : lease.minors().keySet()) {
                holders.merge(gpu, holder, (one, other) -> one + " and " + other);
            }
        }
        return holders;
    }

    /** The reasons for which the leases of a container have ended, the latest first. */
    public List<String> ends(String container) {
        return rows(
                "SELECT evidence FROM lease JOIN claim ON claim.id = lease.claim WHERE name = '"
                        + container
                        + "' AND until IS NOT NULL ORDER BY lease.id DESC",
                row -> row.getString(1));
    }

    /** The id of a claim, and its secret. */
    public String key(String claim) {
        return rows(
                        "SELECT id || '-' || secret FROM claim WHERE id = '" + claim + "'",
                        row -> row.getString(1))
                .getFirst();
    }

    /** The latest claim of a container, be it forgotten. */
    public String claimOf(String container) {
        return rows(
                        "SELECT id FROM claim WHERE name = '"
                                + container
                                + "' ORDER BY created DESC",
                        row -> row.getString(1))
                .getFirst();
    }

    /** Claims that are not forgotten. */
    public Set<String> claims() {
        return new TreeSet<>(
                rows("SELECT id FROM claim WHERE forgotten IS NULL", row -> row.getString(1)));
    }

    /** Whether there are claims, forgotten ones included. */
    public boolean hasClaims() {
        return rows("SELECT count(*) FROM claim", row -> row.getLong(1)).getFirst() > 0;
    }

    /** UUIDs of GPUs that more than one party of claims holds, unless these are shares that fit. */
    public List<String> heldTwice() {
        return rows(
                """
                SELECT gpu FROM lease_gpu JOIN lease ON lease.id = lease
                  JOIN claim ON claim.id = claim
                WHERE until IS NULL GROUP BY gpu HAVING count(DISTINCT party) > 1
                  AND (count(share) < count(*) OR total(share) > max(memory))\
                """,
                row -> row.getString(1));
    }

    /**
     * Gives a GPU to a pod, as if a kubelet had requested it. The daemon must not run.
     *
     * @param boot its host's boot id
     */
    public void holdForPod(String uid, String name, String gpu, int index, String boot) {
        String id = String.format("%012x", System.nanoTime() & 0xffffffffffffL);
        long now = System.currentTimeMillis();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement statement = connection.createStatement()) {
            statement.executeUpdate(
                    "INSERT INTO claim (id, origin, engine, image, uid, owner, created) VALUES ('%s',"
                                    .formatted(id)
                            + " 'pod', '%s', '%s', 0, 'root', %d)".formatted(uid, name, now));
            statement.executeUpdate(
                    "INSERT INTO claim_gpu (claim, gpu, position, minor) VALUES ('%s', '%s', %d, %d)"
                            .formatted(id, gpu, index, index));
            statement.executeUpdate(
                    "INSERT INTO lease (claim, holder, boot, pid, start, since, since_up) VALUES"
                            + " ('%s', 'held', '%s', 1, 1, %d, 1)".formatted(id, boot, now));
            statement.executeUpdate(
                    "INSERT INTO lease_gpu (lease, gpu) SELECT max(id), '%s' FROM lease"
                            .formatted(gpu));
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The number of clients that wait for GPUs. */
    public long tickets() {
        return rows("SELECT count(*) FROM ticket", row -> row.getLong(1)).getFirst();
    }

    /** Changes it by hand, while no daemon runs. */
    public void change(String sql) {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        } catch (SQLException e) {
            throw new AssertionError("cannot change " + file, e);
        }
    }

    @FunctionalInterface
    private interface Row<T> {
        T of(ResultSet row) throws SQLException;
    }

    private <T> List<T> rows(String query, Row<T> reader) {
        SQLiteConfig config = new SQLiteConfig();
        config.setReadOnly(true);
        config.setBusyTimeout(10_000);
        try (Connection connection =
                        DriverManager.getConnection("jdbc:sqlite:" + file, config.toProperties());
                var statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            List<T> all = new ArrayList<>();
            while (rows.next()) {
                all.add(reader.of(rows));
            }
            return all;
        } catch (SQLException e) {
            throw new AssertionError("cannot read " + file, e);
        }
    }
}
