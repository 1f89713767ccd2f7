package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Refusal;

import java.util.List;
import java.util.Optional;

/**
 * Whether a request can have a GPU, by the {@link Situation} of one moment.
 *
 * @param leases of the GPU: if it is shared, all of them; else the oldest one, and those whose
 *     holders may open it, too
 * @param left how many bytes of its memory may still be given as shares
 * @param reasons why the request cannot have it, in the order of {@link Reason}; none of a GPU that
 *     it can have
 */
public record Verdict(Gpu gpu, List<Lease> leases, long left, List<Reason> reasons) {
    public Verdict {
        leases = List.copyOf(leases);
        reasons = List.copyOf(reasons);
    }

    /** The verdict on a GPU that is held and not there. */
    public static Verdict missing(Gpu gpu, Lease lease) {
        return new Verdict(gpu, List.of(lease), 0, List.of(new Held(false)));
    }

    /** Why a request cannot have a GPU. */
    public sealed interface Reason {}

    /** The driver cannot talk to it. */
    public record Sick(Refusal fault) implements Reason {}

    /**
     * Before anything opens a GPU, the driver shows question marks as its UUID: two such GPUs
     * cannot be distinguished.
     */
    public record Nameless() implements Reason {}

    /** It gets no new lease. */
    public record Cordoned(Cordon cordon) implements Reason {}

    /** The user may have other GPUs only. */
    public record NotAllowed() implements Reason {}

    /**
     * It does not meet the condition of the request.
     *
     * @param unclear whether it may meet it: NVML does not report its memory
     */
    public record Unsuited(boolean unclear) implements Reason {}

    /**
     * Others hold it, or so much of it that too little is left.
     *
     * @param own whether the user of the request holds so much already
     */
    public record Held(boolean own) implements Reason {}

    /** It is kept for a client that waits, for the owner of a stopped container, or booked. */
    public record KeptFor(Kept whom) implements Reason {}

    /**
     * It is used without a lease.
     *
     * @param bars whether that matters to the request, which may name the GPU all the same
     * @param lasts whether no end of a lease can be expected to change that
     */
    public record InUse(List<GpuUse> uses, boolean bars, boolean lasts) implements Reason {
        public InUse {
            uses = List.copyOf(uses);
        }
    }

    /** The reason of a kind. */
    public <R extends Reason> Optional<R> why(Class<R> kind) {
        return reasons.stream().filter(kind::isInstance).map(kind::cast).findFirst();
    }

    /** Whether it has a reason of a kind. */
    public boolean is(Class<? extends Reason> kind) {
        return why(kind).isPresent();
    }

    /** Whether it gets new leases: it is neither sick nor cordoned. */
    public boolean isInService() {
        return !is(Sick.class) && !is(Cordoned.class);
    }

    /** Whether it is out of service, or cannot be held, since nothing says which it is. */
    public boolean isBarred() {
        return !isInService() || is(Nameless.class);
    }

    /** Whether it meets the condition of the request. */
    public boolean isSuited() {
        return !is(Unsuited.class);
    }

    /** Whether it may meet the condition of the request. */
    boolean isUnclear() {
        return why(Unsuited.class).filter(Unsuited::unclear).isPresent();
    }

    /** Whether others have it, or it is kept for others: that may change. */
    public boolean isBusy() {
        return is(Held.class)
                || is(KeptFor.class)
                || why(InUse.class).filter(InUse::bars).isPresent();
    }

    /** Whether it is in service, and nobody has it or is to have it. */
    public boolean isFree() {
        return isInService() && !isBusy() && uses().isEmpty();
    }

    /** Whether the request can have it when the leases of others have ended. */
    boolean mayComeFree() {
        return !isBarred() && !isOwn() && !isUsedForLong();
    }

    /** Whether the user of the request already holds it. */
    public boolean isOwn() {
        return why(Held.class).filter(Held::own).isPresent();
    }

    /** Whether a process uses it whose end is no lease's. */
    public boolean isUsedForLong() {
        return why(InUse.class).filter(InUse::lasts).isPresent();
    }

    /** Whether others have shares of it. */
    public boolean isShared() {
        return leases.stream().anyMatch(lease -> lease.share(gpu.uuid()).isPresent());
    }

    /** The lease for which nobody else may have the whole of it. */
    public Optional<Lease> holder() {
        return leases.stream().findFirst();
    }

    /** For whom it is kept; a client that waits comes before others. */
    public Optional<Kept> kept() {
        return why(KeptFor.class).map(KeptFor::whom);
    }

    /** The waiting client for which it, or the rest of a shared one, is kept. */
    public Optional<Ticket> keptFor() {
        return kept().filter(Ticket.class::isInstance).map(Ticket.class::cast);
    }

    /** Why it gets no new lease. */
    public Optional<Cordon> cordon() {
        return why(Cordoned.class).map(Cordoned::cordon);
    }

    /** Its uses without a lease. */
    public List<GpuUse> uses() {
        return why(InUse.class).map(InUse::uses).orElse(List.of());
    }

    /** The verdict as far as the uses without a lease make it. */
    public Verdict ofUses() {
        return new Verdict(
                gpu, List.of(), left, reasons.stream().filter(InUse.class::isInstance).toList());
    }

    /** The state of a GPU that nobody holds. */
    public GpuStatus.State state() {
        if (is(Sick.class)) {
            return GpuStatus.State.SICK;
        }
        if (is(InUse.class)) {
            return GpuStatus.State.UNMANAGED;
        }
        return is(Cordoned.class) ? GpuStatus.State.CORDONED : GpuStatus.State.FREE;
    }
}
