package jnvdocker.decision;

import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.Journal;
import jnvdocker.registry.LeaseEvents;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;

/**
 * One line for each decision, and in systemd's journal its parts as fields: {@code journalctl -u
 * jnvdocker JNVDOCKER_DECISION=refused JNVDOCKER_USER=alice}.
 */
public final class DecisionLog implements LeaseEvents {
    private static final Logger LOG = LoggerFactory.getLogger(DecisionLog.class);
    private static final String INFORMATIONAL = "6";

    private final Optional<Journal> journal;
    private final DecisionCounts counts = new DecisionCounts();
    private final RecentRefusals refusals = new RecentRefusals();
    private final List<DecisionListener> listeners = new CopyOnWriteArrayList<>();
    private volatile Lines lines = (_, _, _) -> {};

    /**
     * @param journal that standard error goes to; empty if lines are all that is kept
     */
    public DecisionLog(Optional<Journal> journal) {
        this.journal = journal;
    }

    /** Returns how often what was decided. */
    public DecisionCounts counts() {
        return counts;
    }

    /** Returns the latest refusals. */
    public RecentRefusals refusals() {
        return refusals;
    }

    /** Is given each line with its fields by the thread that writes it, which must not wait. */
    @FunctionalInterface
    public interface Lines {
        /**
         * @param decision what was decided, or seen: {@code granted}
         * @param fields as the journal has them
         */
        void accept(String decision, String line, Map<String, String> fields);
    }

    /** Has each line given to a reader from now on. */
    public void read(Lines reader) {
        lines = reader;
    }

    /** Notifies a listener of each decision from now on. */
    public void addListener(DecisionListener listener) {
        listeners.add(listener);
    }

    public void removeListener(DecisionListener listener) {
        listeners.remove(listener);
    }

    @Override
    public void granted(Lease lease) {
        counts.granted();
        listeners.forEach(listener -> listener.granted(lease));
        String line = "granted " + gpus(lease) + " to " + LeaseText.holder(lease);
        write("granted", line + claim(lease), fields(lease));
    }

    @Override
    public void recovered(Lease lease) {
        counts.recovered();
        listeners.forEach(listener -> listener.recovered(lease));
        String line = "recovered " + gpus(lease) + " for " + LeaseText.holder(lease);
        write("recovered", line + claim(lease) + ": the lease was lost", fields(lease));
    }

    @Override
    public void released(Lease lease, Instant at, String evidence) {
        counts.released();
        listeners.forEach(listener -> listener.released(lease, at, evidence));
        Duration held = Duration.between(lease.since(), at);
        Map<String, String> fields = fields(lease);
        fields.put("JNVDOCKER_SECONDS", String.valueOf(Math.max(0, held.toSeconds())));
        fields.put("JNVDOCKER_REASON", evidence);
        write(
                "released",
                "released %s of %s%s after %s: %s"
                        .formatted(
                                gpus(lease),
                                LeaseText.holder(lease),
                                claim(lease),
                                Span.text(held),
                                evidence),
                fields);
    }

    /**
     * GPUs of a lease have not been used for long.
     *
     * @param gpus the idle ones
     * @param time for how long, at least
     * @param reason what shows it: {@code utilization 0}
     */
    public void idle(Lease lease, List<ClaimedGpu> gpus, Duration time, String reason) {
        Map<String, String> fields = fields(lease);
        fields.put("JNVDOCKER_GPUS", uuids(gpus));
        fields.put("JNVDOCKER_SECONDS", String.valueOf(time.toSeconds()));
        fields.put("JNVDOCKER_REASON", reason);
        write(
                "idle",
                gpus(gpus)
                        + " of "
                        + LeaseText.holder(lease)
                        + claim(lease)
                        + (gpus.size() == 1 ? " has" : " have")
                        + " been idle for "
                        + Span.text(time)
                        + ": "
                        + reason,
                fields);
    }

    /**
     * The time of a lease ends soon, or has ended.
     *
     * @param left until then; negative or nothing when it has ended
     */
    public void due(Lease lease, Duration left) {
        boolean over = left.isNegative() || left.isZero();
        write(
                over ? "overdue" : "due",
                gpus(lease)
                        + " of "
                        + LeaseText.holder(lease)
                        + claim(lease)
                        + (over
                                ? ": the time of the lease is over"
                                : ": the time of the lease ends in " + Span.text(left)),
                fields(lease));
    }

    /** A client that waited has its GPUs. */
    public void served(Claim claim, Duration waited) {
        Map<String, String> fields = fields(claim);
        fields.put("JNVDOCKER_SECONDS", String.valueOf(Math.max(0, waited.toSeconds())));
        write(
                "served",
                "%s got %s after %s in the queue (claim %s)"
                        .formatted(
                                Quote.shown(claim.owner().name()),
                                gpus(claim.gpus()),
                                Span.text(waited),
                                claim.id()),
                fields);
    }

    /**
     * The holder of a lease was stopped.
     *
     * @param why for people: {@code the lease is overdue}
     */
    public void stopped(Lease lease, String why) {
        Map<String, String> fields = fields(lease);
        fields.put("JNVDOCKER_REASON", why);
        write("stopped", "stopped " + LeaseText.holder(lease) + claim(lease) + ": " + why, fields);
    }

    /**
     * A command that was submitted has ended.
     *
     * @param how for people: {@code exit code 1}
     * @param ran for how long; empty when it never did
     */
    public void jobEnded(Owner owner, long job, String how, Optional<Duration> ran) {
        Map<String, String> fields = new TreeMap<>();
        putOwner(fields, owner);
        fields.put("JNVDOCKER_PURPOSE", "job " + job);
        fields.put("JNVDOCKER_REASON", how);
        ran.ifPresent(
                it -> fields.put("JNVDOCKER_SECONDS", String.valueOf(Math.max(0, it.toSeconds()))));
        write(
                "ended",
                "job "
                        + job
                        + " of "
                        + Quote.shown(owner.name())
                        + " has ended"
                        + ran.map(it -> " after " + Span.text(it)).orElse(" before it ran")
                        + ": "
                        + how,
                fields);
    }

    /**
     * GPUs were requested and not given.
     *
     * @param purpose the container, or the command of a user: {@code container train-7}
     */
    public void refused(Owner owner, String purpose, RefusedException why) {
        refused(owner, purpose, why.refusal(), RefusalReason.of(why));
    }

    /**
     * Likewise, for a reason that the refusal does not have.
     *
     * @param reason under which the refusal is counted
     */
    public void refused(Owner owner, String purpose, Refusal why, RefusalReason reason) {
        counts.refused(reason);
        refusals.add(Instant.now(), owner, purpose, why.message());
        listeners.forEach(listener -> listener.refused(owner, purpose, why, reason));
        Map<String, String> fields = new TreeMap<>();
        putOwner(fields, owner);
        fields.put("JNVDOCKER_PURPOSE", purpose);
        fields.put("JNVDOCKER_REASON", why.message());
        write(
                "refused",
                "refused " + Quote.shown(owner.name()) + "'s " + purpose + ": " + why.message(),
                fields);
    }

    private void write(String decision, String line, Map<String, String> fields) {
        lines.accept(decision, line, Map.copyOf(fields));
        fields.put("MESSAGE", line);
        fields.put("PRIORITY", INFORMATIONAL);
        fields.put("SYSLOG_IDENTIFIER", "jnvdockerd");
        fields.put("JNVDOCKER_DECISION", decision);
        if (journal.filter(it -> it.send(fields)).isEmpty()) {
            LOG.info(line);
        }
    }

    /** The fields of a lease and its holder. */
    public static Map<String, String> fields(Lease lease) {
        Map<String, String> fields = fields(lease.claim());
        fields.put("JNVDOCKER_LEASE", String.valueOf(lease.id()));
        lease.process().ifPresent(it -> fields.put("JNVDOCKER_PID", String.valueOf(it.pid())));
        lease.claim().origin().hostProgram().ifPresent(it -> fields.put("JNVDOCKER_PROGRAM", it));
        return fields;
    }

    private static Map<String, String> fields(Claim claim) {
        Map<String, String> fields = new TreeMap<>();
        putOwner(fields, claim.owner());
        fields.put("JNVDOCKER_CLAIM", claim.id());
        fields.put("JNVDOCKER_GPUS", uuids(claim.gpus()));
        fields.put("JNVDOCKER_PURPOSE", claim.origin().title());
        claim.container()
                .ifPresent(container -> {
                    fields.put("JNVDOCKER_CONTAINER", container.name());
                    fields.put("JNVDOCKER_CONTAINER_ID", container.id());
                });
        return fields;
    }

    /** Adds the fields of a user. */
    public static void putOwner(Map<String, String> fields, Owner owner) {
        fields.put("JNVDOCKER_USER", owner.name());
        if (!owner.isUnknown() && !owner.isKubernetes()) {
            fields.put("JNVDOCKER_UID", String.valueOf(owner.uid()));
        }
    }

    /** {@code GPU 1 (GPU-5c1a1003)}, or {@code GPUs 0,1}. */
    private static String gpus(Lease lease) {
        return gpus(lease.claim().gpus());
    }

    private static String gpus(List<ClaimedGpu> gpus) {
        return gpus.size() == 1
                ? LeaseText.name(gpus.getFirst().number(), gpus.getFirst().uuid())
                : "GPUs " + Indices.numbers(gpus.stream().map(ClaimedGpu::number));
    }

    private static String uuids(List<ClaimedGpu> gpus) {
        return gpus.stream().map(ClaimedGpu::uuid).collect(Collectors.joining(","));
    }

    private static String claim(Lease lease) {
        return " (claim " + lease.claim().id() + ")";
    }
}
