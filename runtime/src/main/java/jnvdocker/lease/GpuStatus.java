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
 * @param lease under which it is held; empty when it is not
 * @param idleSince when it was last given back; empty when it is held or used, or never was
 * @param note for people, empty when there is nothing to say
 * @param unmanaged its uses without a lease, be it held or not
 * @param cordon why it gets no new lease, be it held or not; empty when it does
 * @param others its states under the other leases, if it is shared
 */
public record GpuStatus(
        Gpu gpu,
        State state,
        Optional<Lease> lease,
        Optional<Instant> idleSince,
        String note,
        List<GpuUse> unmanaged,
        Optional<Cordon> cordon,
        List<GpuStatus> others) {

    public GpuStatus {
        unmanaged = List.copyOf(unmanaged);
        others = List.copyOf(others);
    }

    /** The state of a GPU that nobody shares. */
    public GpuStatus(
            Gpu gpu,
            State state,
            Optional<Lease> lease,
            Optional<Instant> idleSince,
            String note,
            List<GpuUse> unmanaged,
            Optional<Cordon> cordon) {
        this(gpu, state, lease, idleSince, note, unmanaged, cordon, List.of());
    }

    /** The share that is held under the lease. */
    public Optional<Share> share() {
        return lease.flatMap(its -> its.share(gpu.uuid()));
    }

    /** The states under each of the leases. */
    public List<GpuStatus> each() {
        return Stream.concat(Stream.of(this), others.stream()).toList();
    }

    /** A copy with other states under the other leases. */
    public GpuStatus beside(List<GpuStatus> those) {
        return new GpuStatus(gpu, state, lease, idleSince, note, unmanaged, cordon, those);
    }

    /** A copy for another lease under which the GPU is held, too. */
    public GpuStatus under(Lease other) {
        List<GpuStatus> its = each().stream().filter(one -> one.isUnder(other)).toList();
        return its.isEmpty()
                ? new GpuStatus(
                        gpu, state, Optional.of(other), idleSince, note, unmanaged, cordon, others)
                : its.getFirst()
                        .beside(each().stream().filter(one -> !one.isUnder(other)).toList());
    }

    private boolean isUnder(Lease other) {
        return lease.filter(its -> its.id() == other.id()).isPresent();
    }

    /** A copy with one more note. */
    public GpuStatus noting(String more) {
        String both = note.isEmpty() ? more : note + "; " + more;
        return new GpuStatus(gpu, state, lease, idleSince, both, unmanaged, cordon, others);
    }

    /** The use without a lease that is shown; empty when the GPU is held. */
    public Optional<GpuUse> user() {
        return lease.isPresent() ? Optional.empty() : unmanaged.stream().findFirst();
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
        MISSING
    }
}
