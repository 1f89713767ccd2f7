package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The state of one GPU now.
 *
 * @param lease under which it is held; empty when it is not
 * @param idleSince when it was last given back; empty when it is held or used, or never was
 * @param note for people, empty when there is nothing to say
 * @param unmanaged its uses without a lease, be it held or not
 * @param cordon why it gets no new lease, be it held or not; empty when it does
 */
public record GpuStatus(
        Gpu gpu,
        State state,
        Optional<Lease> lease,
        Optional<Instant> idleSince,
        String note,
        List<GpuUse> unmanaged,
        Optional<Cordon> cordon) {

    public GpuStatus {
        unmanaged = List.copyOf(unmanaged);
    }

    /** A copy for another lease under which the GPU is held, too. */
    public GpuStatus under(Lease other) {
        return new GpuStatus(gpu, state, Optional.of(other), idleSince, note, unmanaged, cordon);
    }

    /** A copy with one more note. */
    public GpuStatus noting(String more) {
        String both = note.isEmpty() ? more : note + "; " + more;
        return new GpuStatus(gpu, state, lease, idleSince, both, unmanaged, cordon);
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
