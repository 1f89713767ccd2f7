package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.posix.ProcessId;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Claims and leases as objects, out of their rows. */
final class LeaseRows {
    /** A claim's GPUs come as one text, so that a list takes one query and not one more a claim. */
    private static final String CLAIM =
            "claim.id AS claim_id, engine, uid, owner, image, created, container, name,"
                    + " (SELECT group_concat(gpu || ' ' || position || ' ' || minor, ',')"
                    + " FROM (SELECT * FROM claim_gpu WHERE claim = claim.id ORDER BY position))"
                    + " AS gpus";

    private static final String LEASE =
            "SELECT lease.id AS lease_id, holder, boot, pid, start, init_pid, init_start, cgroup,"
                    + " runtime, devices, since, until, evidence,"
                    + " (SELECT count(*) FROM mount WHERE mount.claim = lease.claim) AS mounts, "
                    + CLAIM
                    + " FROM lease JOIN claim ON claim.id = lease.claim ";

    private LeaseRows() {}

    static Optional<Claim> claim(Transaction transaction, String id) throws SQLException {
        return transaction.first(
                LeaseRows::claim,
                "SELECT " + CLAIM + " FROM claim WHERE id = ? AND forgotten IS NULL",
                id);
    }

    static List<Claim> claims(Transaction transaction) throws SQLException {
        return transaction.list(
                LeaseRows::claim,
                "SELECT " + CLAIM + " FROM claim WHERE forgotten IS NULL ORDER BY created, id");
    }

    static List<Claim> claimsWithVolume(Transaction transaction) throws SQLException {
        return transaction.list(
                LeaseRows::claim,
                "SELECT " + CLAIM + " FROM claim WHERE forgotten IS NULL AND volume ORDER BY id");
    }

    static List<Claim> unused(Transaction transaction) throws SQLException {
        return transaction.list(
                LeaseRows::claim,
                "SELECT "
                        + CLAIM
                        + " FROM claim WHERE forgotten IS NULL AND container IS NULL"
                        + " AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.claim = claim.id"
                        + " AND until IS NULL)");
    }

    static Optional<Lease> liveOf(Transaction transaction, String claim) throws SQLException {
        return transaction.first(
                LeaseRows::lease, LEASE + "WHERE lease.claim = ? AND until IS NULL", claim);
    }

    static List<Lease> live(Transaction transaction) throws SQLException {
        return transaction.list(LeaseRows::lease, LEASE + "WHERE until IS NULL ORDER BY lease.id");
    }

    /** Those that hold any of these GPUs. */
    static List<Lease> liveOn(Transaction transaction, Collection<String> gpus)
            throws SQLException {
        return live(transaction).stream()
                .filter(lease ->
                        lease.claim().gpus().stream().anyMatch(gpu -> gpus.contains(gpu.uuid())))
                .toList();
    }

    /** Those that have ended, of a smaller number than that one, the latest first. */
    static List<Lease> past(Transaction transaction, long before, int limit) throws SQLException {
        // By its number and by no other index, so that the next ones begin where these end.
        return transaction.list(
                LeaseRows::lease,
                LEASE + "WHERE +until IS NOT NULL AND lease.id < ? ORDER BY lease.id DESC LIMIT ?",
                before,
                limit);
    }

    /**
     * Likewise of one GPU, and of those that have ended since then.
     *
     * @param uids of the only owners that count; empty when all do
     */
    static List<Lease> pastOf(
            Transaction transaction,
            String gpu,
            Instant from,
            Optional<Set<Integer>> uids,
            long before,
            int limit)
            throws SQLException {
        String owners =
                uids.map(set ->
                                set.stream()
                                        .map(String::valueOf)
                                        .collect(Collectors.joining(",", " AND +uid IN (", ")")))
                        .orElse("");
        return transaction.list(
                LeaseRows::lease,
                LEASE
                        + "WHERE lease.id IN (SELECT lease_gpu.lease FROM lease_gpu"
                        + " CROSS JOIN lease ON lease.id = lease_gpu.lease"
                        + " CROSS JOIN claim ON claim.id = lease.claim"
                        + " WHERE gpu = ? AND lease_gpu.lease < ? AND +until > ?"
                        + owners
                        + " ORDER BY lease_gpu.lease DESC LIMIT ?) ORDER BY lease.id DESC",
                gpu,
                before,
                from.toEpochMilli(),
                limit);
    }

    private static Claim claim(ResultSet row) throws SQLException {
        return new Claim(
                row.getString("claim_id"),
                row.getString("engine"),
                new Owner(row.getInt("uid"), row.getString("owner")),
                gpus(row.getString("gpus")),
                row.getString("image"),
                Instant.ofEpochMilli(row.getLong("created")),
                container(row));
    }

    private static List<ClaimedGpu> gpus(String text) {
        List<ClaimedGpu> gpus = new ArrayList<>();
        for (String gpu : text.split(",")) {
            String[] words = gpu.split(" ");
            gpus.add(
                    new ClaimedGpu(
                            words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2])));
        }
        return gpus;
    }

    private static Optional<Claim.ContainerRef> container(ResultSet row) throws SQLException {
        String id = row.getString("container");
        return id == null
                ? Optional.empty()
                : Optional.of(new Claim.ContainerRef(id, row.getString("name")));
    }

    private static Lease lease(ResultSet row) throws SQLException {
        return new Lease(
                row.getLong("lease_id"),
                claim(row),
                holder(row),
                row.getString("boot"),
                Instant.ofEpochMilli(row.getLong("since")),
                row.getInt("mounts"),
                end(row));
    }

    /** What a row calls such a holder. */
    static String kind(Holder holder) {
        return switch (holder) {
            case Holder.Client _ -> "client";
            case Holder.Container _ -> "container";
            case Holder.MesosContainer _ -> "mesos";
            case Holder.Process _ -> "process";
        };
    }

    private static Holder holder(ResultSet row) throws SQLException {
        ProcessId process = new ProcessId(row.getInt("pid"), row.getLong("start"));
        switch (row.getString("holder")) {
            case "client" -> {
                return new Holder.Client(process);
            }
            case "process" -> {
                return new Holder.Process(
                        process, Objects.requireNonNullElse(row.getString("cgroup"), ""));
            }
            case "mesos" -> {
                return new Holder.MesosContainer(
                        process,
                        row.getString("runtime"),
                        row.getString("cgroup"),
                        row.getString("devices"));
            }
            default -> {}
        }
        int init = row.getInt("init_pid");
        return new Holder.Container(
                process,
                row.wasNull()
                        ? Optional.empty()
                        : Optional.of(new ProcessId(init, row.getLong("init_start"))),
                Optional.ofNullable(row.getString("cgroup")));
    }

    private static Optional<Lease.End> end(ResultSet row) throws SQLException {
        String evidence = row.getString("evidence");
        return evidence == null
                ? Optional.empty()
                : Optional.of(new Lease.End(Instant.ofEpochMilli(row.getLong("until")), evidence));
    }

    static void insertClaim(Transaction transaction, Claim claim) throws SQLException {
        transaction.update(
                "INSERT INTO claim (id, engine, uid, owner, image, created, container, name)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                claim.id(),
                claim.engine(),
                claim.owner().uid(),
                claim.owner().name(),
                claim.image(),
                claim.created().toEpochMilli(),
                claim.container().map(Claim.ContainerRef::id).orElse(null),
                claim.container().map(Claim.ContainerRef::name).orElse(null));
        for (ClaimedGpu gpu : claim.gpus()) {
            transaction.update(
                    "INSERT INTO claim_gpu (claim, gpu, position, minor) VALUES (?, ?, ?, ?)",
                    claim.id(),
                    gpu.uuid(),
                    gpu.index(),
                    gpu.minor());
        }
    }
}
