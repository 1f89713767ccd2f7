package jnvdocker.lease.text;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.words.Span;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;

/** Says how long users may hold GPUs, and wait for them. */
public final class TimeText {
    private TimeText() {}

    /** {@code until 17:12}, or {@code overdue since 17:12}; empty for a lease without an end. */
    public static Optional<String> due(Lease lease) {
        return lease.due()
                .map(due ->
                        (lease.isOverdue(Instant.now()) ? "overdue since " : "until ")
                                + LeaseText.time(due));
    }

    /** {@code nobody may wait for GPUs longer than 12h (limits.*.max_wait in …)}. */
    public static String longestWait(Rule<Duration> rule) {
        String span = Span.spelled(rule.limit());
        return (rule.subject().kind() == Subject.Kind.EVERYBODY
                        ? "nobody may wait for GPUs longer than " + span
                        : QuotaText.subject(rule) + " may wait for GPUs for " + span + " at most")
                + QuotaText.key(rule);
    }

    /** {@code each member of students may hold GPUs for 8h at most (…)}. */
    public static String longestHold(Rule<Duration> rule) {
        return QuotaText.subject(rule)
                + " may hold GPUs for "
                + Span.spelled(rule.limit())
                + " at most"
                + QuotaText.key(rule);
    }
}
