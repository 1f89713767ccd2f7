package jnvdocker.command.gpu;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.TimeText;
import jnvdocker.words.Span;

import java.time.Instant;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A lease, as lists show it.
 *
 * @param state of one that lives; empty when it has ended
 * @param tenure of its container, while it lives; it determines the age that is shown, as in {@code
 *     gpu ls}
 */
record LeaseRow(Lease lease, Optional<GpuStatus.State> state, Optional<Tenure> tenure) {
    static LeaseRow live(Lease lease, GpuStatus.State state, Tenure tenure) {
        return new LeaseRow(lease, Optional.of(state), Optional.of(tenure));
    }

    static LeaseRow past(Lease lease) {
        return new LeaseRow(lease, Optional.empty(), Optional.empty());
    }

    String age(Instant now) {
        return tenure.map(it -> Span.between(it.since(), now))
                .orElseGet(() -> Span.between(lease.since(), end().orElseThrow().at()));
    }

    Optional<Lease.End> end() {
        return state.isPresent() ? Optional.empty() : lease.end();
    }

    String note() {
        return Stream.of(tenure.map(GpuLs::restarts).orElse(""), TimeText.due(lease).orElse(""))
                .filter(note -> !note.isEmpty())
                .collect(Collectors.joining(", "));
    }
}
