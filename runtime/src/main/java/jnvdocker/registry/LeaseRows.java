package jnvdocker.registry;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Tenure;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.InvalidGpuRequestException;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Claims and leases as objects, out of their rows. */
final class LeaseRows {
    /** A claim's GPUs come as one text, so that a list takes one query and not one more a claim. */
    private static final String CLAIM =
            "claim.id AS claim_id, secret, origin, engine, image, uid, owner, created, container,"
                    + " name, party, (SELECT group_concat(gpu || ' ' || position || ' ' || minor ||"
                    + " coalesce(' ' || part, ''), ',') FROM (SELECT * FROM claim_gpu WHERE claim ="
                    + " claim.id ORDER BY position)) AS gpus";

    private static final String LEASE =
            "SELECT lease.id AS lease_id, holder, boot, pid, start, init_pid, init_start, cgroup,"
                    + " details, since, lease.time AS time, until, evidence,"
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

    static List<Claim> forgottenWithVolume(Transaction transaction, int limit) throws SQLException {
        return transaction.list(
                LeaseRows::claim,
                "SELECT "
                        + CLAIM
                        + " FROM claim WHERE forgotten IS NOT NULL AND volume"
                        + " ORDER BY forgotten DESC LIMIT ?",
                limit);
    }

    /** The claims that are not forgotten, by their ids. */
    static Map<String, Ledger.Known> known(Transaction transaction) throws SQLException {
        return known(transaction, "TRUE");
    }

    /** Those of them that were {@link Touched}. */
    static Map<String, Ledger.Known> touched(Transaction transaction) throws SQLException {
        return known(transaction, "claim.id " + Touched.IS_TOUCHED);
    }

    private static Map<String, Ledger.Known> known(Transaction transaction, String which)
            throws SQLException {
        Map<String, Ledger.Known> known = new HashMap<>();
        transaction.list(
                row -> known.put(row.getString("claim_id"), known(row)),
                "SELECT " + CLAIM + ", volume FROM claim WHERE forgotten IS NULL AND " + which);
        return known;
    }

    private static Ledger.Known known(ResultSet row) throws SQLException {
        return new Ledger.Known(claim(row), row.getBoolean("volume"));
    }

    /** The live leases, the oldest first. */
    static List<Lease> live(Transaction transaction) throws SQLException {
        return transaction.list(LeaseRows::lease, LEASE + "WHERE until IS NULL ORDER BY lease.id");
    }

    /** Those of them whose claims were {@link Touched}. */
    static List<Lease> touchedLive(Transaction transaction) throws SQLException {
        return transaction.list(
                LeaseRows::lease,
                LEASE + "WHERE until IS NULL AND lease.claim " + Touched.IS_TOUCHED);
    }

    /** Ended leases with a number less than {@code before}, the latest first. */
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
     * @param owners the only ones that count, whatever their names were; empty when all do
     */
    static List<Lease> pastOf(
            Transaction transaction,
            String gpu,
            Instant from,
            Optional<Set<Owner>> owners,
            long before,
            int limit)
            throws SQLException {
        List<Object> parameters = new ArrayList<>(List.of(gpu, before, from.toEpochMilli()));
        String counts = owners.map(those -> isOneOf(those, parameters)).orElse("");
        parameters.add(limit);
        return transaction.list(
                LeaseRows::lease,
                LEASE
                        + "WHERE lease.id IN (SELECT lease_gpu.lease FROM lease_gpu"
                        + " CROSS JOIN lease ON lease.id = lease_gpu.lease"
                        + " CROSS JOIN claim ON claim.id = lease.claim"
                        + " WHERE gpu = ? AND lease_gpu.lease < ? AND +until > ?"
                        + counts
                        + " ORDER BY lease_gpu.lease DESC LIMIT ?) ORDER BY lease.id DESC",
                parameters.toArray());
    }

    /** Users of a uid may have had several names; those without one have nothing but a name. */
    private static String isOneOf(Set<Owner> owners, List<Object> parameters) {
        List<String> those = new ArrayList<>(List.of("FALSE"));
        for (Owner owner : owners) {
            parameters.add(owner.uid());
            those.add("+uid = ?");
            if (owner.uid() == Owner.UNKNOWN.uid()) {
                parameters.add(owner.name());
                those.add(those.removeLast() + " AND owner = ?");
            }
        }
        return " AND (" + String.join(" OR ", those) + ")";
    }

    /** The last lease that has ended of a container in such a place. */
    static Optional<Lease> lastOf(Transaction transaction, StoredOrigin origin, String container)
            throws SQLException {
        return transaction.first(
                LeaseRows::lease,
                LEASE
                        + "WHERE claim.container = ? AND claim.origin = ? AND claim.engine = ?"
                        + " AND +until IS NOT NULL ORDER BY lease.id DESC LIMIT 1",
                container,
                origin.kind().word(),
                origin.engine().orElse(""));
    }

    /** Reservations that came to nothing do not count. */
    static Tenure tenure(Transaction transaction, Lease lease) throws SQLException {
        Tenure own = new Tenure(lease.since(), 0);
        Optional<Claim.ContainerRef> container = lease.claim().container();
        if (container.isEmpty()) {
            return own;
        }
        return transaction
                .first(
                        row ->
                                new Tenure(
                                        Instant.ofEpochMilli(row.getLong("first")),
                                        row.getInt("leases") - 1),
                        "SELECT min(since) AS first, count(*) AS leases FROM lease JOIN claim ON"
                                + " claim.id = lease.claim WHERE claim.container = ? AND lease.id"
                                + " <= ? AND holder <> 'reserved'",
                        container.get().id(),
                        lease.id())
                .filter(tenure -> tenure.restarts() >= 0)
                .orElse(own);
    }

    private static Claim claim(ResultSet row) throws SQLException {
        return new Claim(
                new ClaimKey(row.getString("claim_id"), row.getString("secret")),
                origin(row)
                        .orElseThrow(() ->
                                RegistryExamination.damage("a claim has no origin that is known")),
                new Owner(row.getInt("uid"), row.getString("owner")),
                gpus(row.getString("gpus")),
                Instant.ofEpochMilli(row.getLong("created")),
                container(row),
                row.getString("party"));
    }

    /** Reads the origin of a claim, or of a place in the queue; empty if it is unknown. */
    static Optional<Origin> origin(ResultSet row) throws SQLException {
        Optional<String> engine = Optional.ofNullable(row.getString("engine"));
        Optional<String> image = Optional.ofNullable(row.getString("image"));
        return Origin.Kind.of(row.getString("origin"))
                .flatMap(kind -> new StoredOrigin(kind, engine, image).origin());
    }

    /** Empty when what was requested cannot be read. */
    static Optional<ClaimStore.Made> made(ResultSet row) throws SQLException {
        try {
            GpuRequest request = GpuRequest.parseOption(row.getString("request"));
            Owner owner = new Owner(row.getInt("uid"), row.getString("owner"));
            Optional<Claim.ContainerRef> container = container(row);
            boolean isOver = container.isEmpty() && row.getString("name") != null;
            return Optional.of(new ClaimStore.Made(request, owner, container, isOver));
        } catch (InvalidGpuRequestException e) {
            return Optional.empty();
        }
    }

    private static List<ClaimedGpu> gpus(String text) {
        List<ClaimedGpu> gpus = new ArrayList<>();
        for (String gpu : text.split(",")) {
            String[] words = gpu.split(" ");
            gpus.add(
                    ClaimedGpu.read(
                            words[0],
                            Integer.parseInt(words[1]),
                            Integer.parseInt(words[2]),
                            Stream.of(words).skip(3).findFirst()));
        }
        gpus.sort(ClaimedGpu.ORDER);
        return gpus;
    }

    private static Optional<Claim.ContainerRef> container(ResultSet row) throws SQLException {
        String id = row.getString("container");
        return id == null
                ? Optional.empty()
                : Optional.of(new Claim.ContainerRef(id, row.getString("name")));
    }

    private static Lease lease(ResultSet row) throws SQLException {
        Claim claim = claim(row);
        return new Lease(
                row.getLong("lease_id"),
                claim,
                holder(row),
                row.getString("boot"),
                Instant.ofEpochMilli(row.getLong("since")),
                time(row),
                row.getInt("mounts"),
                end(row));
    }

    /** The column {@code time}, a duration. */
    static Optional<Duration> time(ResultSet row) throws SQLException {
        long millis = row.getLong("time");
        return row.wasNull() ? Optional.empty() : Optional.of(Duration.ofMillis(millis));
    }

    /** A duration as it is stored; null when there is none. */
    static Long millis(Optional<Duration> time) {
        return time.map(Duration::toMillis).orElse(null);
    }

    /** The name of a stage in a row, in small letters. */
    static String word(Holder.Stage stage) {
        return stage.name().toLowerCase(Locale.ROOT);
    }

    private static Holder holder(ResultSet row) throws SQLException {
        String word = row.getString("holder");
        String details = row.getString("details");
        return new Holder(
                Arrays.stream(Holder.Stage.values())
                        .filter(stage -> word(stage).equals(word))
                        .findFirst()
                        .orElseThrow(() ->
                                RegistryExamination.damage("a lease has no stage that is known")),
                new ProcessId(row.getInt("pid"), row.getLong("start")),
                init(row),
                Optional.ofNullable(row.getString("cgroup")),
                details == null ? List.of() : List.of(details.split("\n", -1)));
    }

    /** The details of a holder in one text; null when there are none. */
    static String details(Holder holder) {
        return holder.details().isEmpty() ? null : String.join("\n", holder.details());
    }

    private static Optional<ProcessId> init(ResultSet row) throws SQLException {
        int pid = row.getInt("init_pid");
        return row.wasNull()
                ? Optional.empty()
                : Optional.of(new ProcessId(pid, row.getLong("init_start")));
    }

    private static Optional<Lease.End> end(ResultSet row) throws SQLException {
        String evidence = row.getString("evidence");
        return evidence == null
                ? Optional.empty()
                : Optional.of(new Lease.End(Instant.ofEpochMilli(row.getLong("until")), evidence));
    }

    /**
     * @param request that it was made for, if a later start of its container needs it
     * @param time how long each of its leases is to last
     */
    static void insertClaim(
            Transaction transaction,
            Claim claim,
            Optional<GpuRequest> request,
            Optional<Duration> time)
            throws SQLException {
        StoredOrigin origin = StoredOrigin.of(claim.origin());
        transaction.update(
                "INSERT INTO claim"
                        + " (id, secret, origin, engine, image, uid, owner, request, time, created,"
                        + " container, name, beside)"
                        + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                claim.id(),
                claim.key().secret(),
                origin.kind().word(),
                origin.engine().orElse(null),
                origin.image().orElse(null),
                claim.owner().uid(),
                claim.owner().name(),
                request.map(GpuRequest::toString).orElse(null),
                millis(time),
                claim.created().toEpochMilli(),
                claim.container().map(Claim.ContainerRef::id).orElse(null),
                claim.container().map(Claim.ContainerRef::name).orElse(null),
                claim.party().equals(claim.id()) ? null : claim.party());
        for (ClaimedGpu gpu : claim.gpus()) {
            transaction.update(
                    "INSERT INTO claim_gpu (claim, gpu, position, minor, parent, part)"
                            + " VALUES (?, ?, ?, ?, ?, ?)",
                    claim.id(),
                    gpu.uuid(),
                    gpu.index(),
                    gpu.minor(),
                    gpu.parent().orElse(null),
                    gpu.partWord().orElse(null));
        }
    }
}
