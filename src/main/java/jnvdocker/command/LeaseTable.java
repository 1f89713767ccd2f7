package jnvdocker.command;

import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Refusals;
import jnvdocker.lease.Span;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** Leases, a line each. */
final class LeaseTable {
    private static final List<String> TITLES =
            List.of("LEASE", "CLAIM", "USER", "CONTAINER", "GPUS", "STATE", "SINCE", "AGE");

    private final TextTable table;
    private final Instant now;
    private final boolean withEnds;

    private LeaseTable(Instant now, boolean withEnds, List<String> titles) {
        this.table = new TextTable(titles.toArray(String[]::new));
        this.now = now;
        this.withEnds = withEnds;
    }

    /** For leases that GPUs are held under. */
    static LeaseTable ofLive(Instant now) {
        return new LeaseTable(now, false, TITLES);
    }

    /** For leases that have ended as well, with when and why. */
    static LeaseTable withEnds(Instant now) {
        List<String> titles = new ArrayList<>(TITLES);
        titles.addAll(List.of("UNTIL", "EVIDENCE"));
        return new LeaseTable(now, true, titles);
    }

    void live(Lease lease, GpuStatus.State state) {
        row(lease, state.toString(), Span.between(lease.since(), now), "-", "-");
    }

    /**
     * @param lease one that has ended; its age is how long it lasted
     */
    void past(Lease lease) {
        Lease.End end = lease.end().orElseThrow();
        String age = Span.between(lease.since(), end.at());
        row(lease, "ENDED", age, Refusals.time(end.at()), end.evidence());
    }

    private void row(Lease lease, String state, String age, String until, String evidence) {
        List<Object> cells = new ArrayList<>();
        cells.add(lease.id());
        cells.add(lease.claim().id());
        cells.add(Holding.user(lease));
        cells.add(Holding.container(lease));
        cells.add(Holding.indices(lease));
        cells.add(state);
        cells.add(Refusals.time(lease.since()));
        cells.add(age);
        if (withEnds) {
            cells.add(until);
            cells.add(evidence);
        }
        table.row(cells.toArray());
    }

    List<String> lines() {
        return table.lines();
    }
}
