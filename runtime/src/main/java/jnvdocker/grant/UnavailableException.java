package jnvdocker.grant;

import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

/** GPUs are requested that can't be had. */
public final class UnavailableException extends RefusedException {
    private static final long serialVersionUID = 1L;

    private final transient GpuChoice.Outcome outcome;
    private final boolean byEngine;

    private UnavailableException(Refusal refusal, GpuChoice.Outcome outcome, boolean byEngine) {
        super(refusal);
        this.outcome = outcome;
        this.byEngine = byEngine;
    }

    /**
     * @param byEngine whether an engine asks, which does not wait
     */
    static UnavailableException of(GpuChoice.Busy busy, boolean byEngine) {
        return new UnavailableException(
                byEngine ? ChoiceText.refusalOfStart(busy) : ChoiceText.refusal(busy),
                busy,
                byEngine);
    }

    static UnavailableException of(GpuChoice.Impossible why) {
        return new UnavailableException(ChoiceText.refusal(why), why, false);
    }

    /**
     * The same in words for somebody who has requested nothing: the image has, and its default says
     * how many.
     */
    public RefusedException ofDefault(GpuRequest request) {
        return new RefusedException(ChoiceText.refusalOfDefault(request, outcome, byEngine));
    }
}
