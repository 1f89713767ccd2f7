package jnvdocker.decision;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.function.Predicate;

/** GPUs are requested that cannot be had. */
public final class UnavailableException extends RefusedException {
    private static final long serialVersionUID = 1L;

    private final transient Cause cause;

    private UnavailableException(Refusal refusal, Cause cause) {
        super(refusal);
        this.cause = cause;
    }

    private record Cause(Outcome outcome, boolean byEngine) {}

    /**
     * @param byEngine whether the request comes from an engine, which does not wait
     * @param remark what else is to be reported about their holders
     */
    public static UnavailableException of(Outcome.Busy busy, boolean byEngine, String remark) {
        Refusal words = byEngine ? ChoiceText.refusalOfStart(busy) : ChoiceText.refusal(busy);
        Refusal refusal = new Refusal(words.what() + remark, words.remedy());
        return new UnavailableException(refusal, new Cause(busy, byEngine));
    }

    public static UnavailableException of(Outcome.Impossible why) {
        return new UnavailableException(ChoiceText.refusal(why), new Cause(why, false));
    }

    /**
     * A copy for a request that came from the image, not from the user: a default says how many
     * GPUs it gets.
     */
    public UnavailableException ofDefault(GpuRequest request) {
        return new UnavailableException(
                ChoiceText.refusalOfDefault(request, cause.outcome(), cause.byEngine()), cause);
    }

    /**
     * A copy for a service of compose.
     *
     * @param isPartner whether a claim is of another service of its project
     */
    public UnavailableException ofService(Predicate<Claim> isPartner) {
        return cause.outcome() instanceof Outcome.Busy busy
                ? withRemedy(ChoiceText.remedyOfService(busy, isPartner))
                : this;
    }

    /**
     * A copy with another remedy, for a container that waits or is started again in a way of its
     * own; the same if its GPUs are not merely held.
     */
    public UnavailableException withRemedy(String remedy) {
        return cause.outcome() instanceof Outcome.Busy
                ? new UnavailableException(new Refusal(refusal().what(), remedy), cause)
                : this;
    }

    RefusalReason reason() {
        return RefusalReason.of(cause.outcome());
    }
}
