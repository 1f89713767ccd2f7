package jnvdocker.registry;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.LeaseBar.Stretch;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Trouble;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Leases as bars, and troubles of GPUs, out of their rows. */
final class TimelineRows {
    private static final Duration HOUR = Duration.ofHours(1);

    /** A GPU that changes its state each minute may not fill the disk. */
    private static final int MOST_TROUBLES = 20_000;

    /** Of different names in one answer, in characters. A name beyond that is {@code …}. */
    static final int MOST_TEXT = 1 << 20;

    /** Of the latest leases: a year of some GPUs. */
    private static final int MOST_HOURS = 60_000;

    private TimelineRows() {}

    /** The texts of an answer, each kept once, however many rows have it. */
    private static final class Texts {
        private final Map<String, String> kept = new HashMap<>();
        private int characters;

        String of(String text) {
            String same = kept.get(text);
            if (same != null) {
                return same;
            }
            characters += text.length();
            if (characters > MOST_TEXT) {
                characters -= text.length();
                return "…";
            }
            kept.put(text, text);
            return text;
        }
    }

    record Key(long lease, String gpu) {}

    /**
     * @param hour since the lease began
     */
    record IdleHour(Key key, long hour, Duration idle) {}

    record Bar(Key key, Owner owner, String name, Instant since, Optional<Instant> until) {
        LeaseBar with(List<IdleHour> idle, Instant now) {
            return new LeaseBar(
                    key.lease(),
                    key.gpu(),
                    owner,
                    name,
                    since,
                    until,
                    stretches(idle, since, until.orElse(now)));
        }
    }

    static List<Bar> bars(Transaction transaction, Instant from, int most) throws SQLException {
        Texts texts = new Texts();
        return transaction.list(
                row -> bar(row, texts),
                "SELECT lease.id, gpu, uid, owner, coalesce(name, image, ''), since, until"
                        + " FROM lease JOIN claim ON claim.id = lease.claim"
                        + " JOIN lease_gpu ON lease_gpu.lease = lease.id"
                        + " WHERE (until IS NULL OR until > ?)"
                        + " AND (until IS NULL OR holder <> 'reserved')"
                        + " ORDER BY lease.id DESC, gpu LIMIT ?",
                from.toEpochMilli(),
                most);
    }

    private static Bar bar(ResultSet row, Texts texts) throws SQLException {
        long until = row.getLong(7);
        return new Bar(
                new Key(row.getLong(1), row.getString(2)),
                new Owner(row.getInt(3), texts.of(row.getString(4))),
                texts.of(row.getString(5)),
                Instant.ofEpochMilli(row.getLong(6)),
                until == 0 ? Optional.empty() : Optional.of(Instant.ofEpochMilli(until)));
    }

    static List<IdleHour> idle(Transaction transaction, Instant from) throws SQLException {
        Map<String, String> gpus = new HashMap<>();
        return transaction.list(
                row ->
                        new IdleHour(
                                new Key(
                                        row.getLong(1),
                                        gpus.computeIfAbsent(row.getString(2), gpu -> gpu)),
                                row.getLong(3),
                                Duration.ofMillis(row.getLong(4))),
                "SELECT idle.lease, idle.gpu, hour, millis FROM lease"
                        + " JOIN idle ON idle.lease = lease.id"
                        + " WHERE (until IS NULL OR until > ?1) AND since + (hour + 1) * "
                        + HOUR.toMillis()
                        + " > ?1 ORDER BY lease.id DESC LIMIT ?2",
                from.toEpochMilli(),
                MOST_HOURS);
    }

    /**
     * An hour is known by how long the GPU was idle in it. That is put at the hour's end if the
     * next one begins idle, too, else at its beginning: so what lasts over hours is in one piece.
     */
    private static List<Stretch> stretches(List<IdleHour> hours, Instant since, Instant until) {
        List<IdleHour> sorted =
                hours.stream().sorted(Comparator.comparingLong(IdleHour::hour)).toList();
        List<Stretch> stretches = new ArrayList<>();
        for (int i = 0; i < sorted.size(); i++) {
            IdleHour hour = sorted.get(i);
            Instant begin = since.plus(HOUR.multipliedBy(hour.hour()));
            Instant end = min(begin.plus(HOUR), until);
            boolean goesOn = i + 1 < sorted.size() && sorted.get(i + 1).hour() == hour.hour() + 1;
            Instant from = goesOn ? max(begin, end.minus(hour.idle())) : begin;
            Instant to = goesOn ? end : min(end, begin.plus(hour.idle()));
            Stretch last = stretches.isEmpty() ? null : stretches.getLast();
            if (last != null && !from.isAfter(last.until())) {
                stretches.removeLast();
                from = last.from();
            }
            if (to.isAfter(from)) {
                stretches.add(new Stretch(from, to));
            }
        }
        return stretches;
    }

    private static Instant min(Instant one, Instant other) {
        return one.isBefore(other) ? one : other;
    }

    private static Instant max(Instant one, Instant other) {
        return one.isAfter(other) ? one : other;
    }

    static List<Trouble> troubles(Transaction transaction, Instant from, int most)
            throws SQLException {
        Texts texts = new Texts();
        return transaction
                .list(
                        row -> trouble(row, texts),
                        "SELECT gpu, state, user, since, until FROM trouble WHERE until > ?"
                                + " ORDER BY until DESC LIMIT ?",
                        from.toEpochMilli(),
                        most)
                .reversed();
    }

    private static Trouble trouble(ResultSet row, Texts texts) throws SQLException {
        return new Trouble(
                row.getString(1),
                GpuStatus.State.valueOf(row.getString(2).toUpperCase(Locale.ROOT)),
                Optional.ofNullable(row.getString(3)).map(texts::of),
                Instant.ofEpochMilli(row.getLong(4)),
                Instant.ofEpochMilli(row.getLong(5)));
    }

    static void write(Transaction transaction, Trouble trouble, Duration gap) throws SQLException {
        String state = trouble.state().name().toLowerCase(Locale.ROOT);
        String user = trouble.user().orElse(null);
        long now = trouble.until().toEpochMilli();
        int going =
                transaction.update(
                        "UPDATE trouble SET until = ?1 WHERE gpu = ?2 AND state = ?3"
                                + " AND user IS ?4 AND until BETWEEN ?5 AND ?1",
                        now,
                        trouble.gpu(),
                        state,
                        user,
                        now - gap.toMillis());
        if (going == 0) {
            transaction.update(
                    "INSERT INTO trouble (gpu, state, user, since, until) VALUES (?, ?, ?, ?, ?)"
                            + " ON CONFLICT DO NOTHING",
                    trouble.gpu(),
                    state,
                    user,
                    trouble.since().toEpochMilli(),
                    now);
        }
    }

    static void deleteOld(Transaction transaction, Optional<Instant> then) throws SQLException {
        if (then.isPresent()) {
            transaction.update("DELETE FROM trouble WHERE until < ?", then.get().toEpochMilli());
        }
        transaction.update(
                "DELETE FROM trouble WHERE until <= (SELECT until FROM trouble"
                        + " ORDER BY until DESC LIMIT 1 OFFSET ?)",
                MOST_TROUBLES);
    }
}
