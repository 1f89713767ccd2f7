package jnvdocker.decision;

import jnvdocker.lease.Outcome;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

/** GPUs are requested that cannot be had. */
public final class UnavailableException extends RefusedException {
    private static final long serialVersionUID = 1L;

    private final transient Outcome.Unmet unmet;
    private final transient Addressee reader;
    private final String remark;

    /**
     * @param to who is going to read it, as far as that is known
     * @param remark what else is to be reported about the holders of the GPUs; may be empty
     */
    public UnavailableException(Outcome.Unmet unmet, Addressee to, String remark) {
        super(refusal(unmet, to, remark));
        this.unmet = unmet;
        reader = to;
        this.remark = remark;
    }

    private static Refusal refusal(Outcome.Unmet unmet, Addressee to, String remark) {
        Refusal words = Refusals.of(unmet, to);
        return new Refusal(words.what() + remark, words.remedy());
    }

    /** A copy for another reader. */
    public UnavailableException to(Addressee other) {
        return new UnavailableException(unmet, other, remark);
    }

    /** A copy with another advice, for one whose container waits in a way of its own. */
    public UnavailableException advising(String advice) {
        return to(new Addressee.Told(reader, advice, false));
    }

    RefusalReason reason() {
        return RefusalReason.of(unmet);
    }
}
