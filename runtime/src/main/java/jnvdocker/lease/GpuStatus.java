package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The state of one GPU now.
 *
 * @param verdict for anybody
 * @param lease under which it is held; empty when it is not
 * @param idleSince when it was last given back; empty when it is held or used, or never was
 * @param note for people, empty when there is nothing to say
 * @param others its states under the other leases, if it is shared
 */
public record GpuStatus(
        Verdict verdict,
        State state,
        Optional<Lease> lease,
        Optional<Instant> idleSince,
        String note,
        List<GpuStatus> others) {

    public GpuStatus {
        others = List.copyOf(others);
    }

    /** The state of a GPU that nobody shares. */
    public GpuStatus(
            Verdict verdict,
            State state,
            Optional<Lease> lease,
            Optional<Instant> idleSince,
            String note) {
        this(verdict, state, lease, idleSince, note, List.of());
    }

    public Gpu gpu() {
        return verdict.gpu();
    }

    /** Its uses without a lease, be it held or not. */
    public List<GpuUse> unmanaged() {
        return verdict.uses();
    }

    /** Why it gets no new lease, be it held or not; empty when it does. */
    public Optional<Cordon> cordon() {
        return verdict.cordon();
    }

    /**
     * When a GPU was cordoned or got its fault, if that is its state; empty where that is not
     * known.
     */
    public Optional<Instant> stateSince() {
        return switch (state) {
            case CORDONED -> cordon().flatMap(GpuStatus::since);
            case SICK -> gpu().troubleSince();
            case FREE, RESERVED, HELD, STUCK, UNMANAGED, MISSING -> Optional.empty();
        };
    }

    private static Optional<Instant> since(Cordon cordon) {
        return switch (cordon) {
            case Cordon.ByCommand(_, Instant since, _) -> Optional.of(since);
            case Cordon.ByFile _ -> Optional.empty();
        };
    }

    /** The share that is held under the lease. */
    public Optional<Share> share() {
        return lease.flatMap(its -> its.share(gpu().uuid()));
    }

    /** The states under each of the leases. */
    public List<GpuStatus> each() {
        return Stream.concat(Stream.of(this), others.stream()).toList();
    }

    /** A copy with other states under the other leases. */
    public GpuStatus beside(List<GpuStatus> those) {
        return new GpuStatus(verdict, state, lease, idleSince, note, those);
    }

    /** A copy for another lease under which the GPU is held, too. */
    public GpuStatus under(Lease other) {
        List<GpuStatus> its = each().stream().filter(one -> one.isUnder(other)).toList();
        return its.isEmpty()
                ? new GpuStatus(verdict, state, Optional.of(other), idleSince, note, others)
                : its.getFirst()
                        .beside(each().stream().filter(one -> !one.isUnder(other)).toList());
    }

    private boolean isUnder(Lease other) {
        return lease.filter(its -> its.id() == other.id()).isPresent();
    }

    /** A copy with one more note. */
    public GpuStatus noting(String more) {
        String both = note.isEmpty() ? more : note + "; " + more;
        return new GpuStatus(verdict, state, lease, idleSince, both, others);
    }

    /** The use without a lease that is shown; empty when the GPU is held. */
    public Optional<GpuUse> user() {
        return lease.isPresent() ? Optional.empty() : unmanaged().stream().findFirst();
    }

    /** The state of a GPU. */
    public enum State {
        FREE,
        /** Reserved for a docker run that has not started its container yet. */
        RESERVED,
        HELD,
        /**
         * The holder was killed and does not end, or has left a process behind that uses the GPU.
         */
        STUCK,
        /** A process uses it without a lease. */
        UNMANAGED,
        /** An administrator has taken it out: it gets no new lease. */
        CORDONED,
        /** The driver cannot talk to it. */
        SICK,
        /** The GPU is held, and the driver does not show it. */
        MISSING;

        /** Whether nobody can be given the GPU, though nobody holds it. */
        public boolean isTrouble() {
            return this == UNMANAGED || this == CORDONED || this == SICK;
        }
    }
}
