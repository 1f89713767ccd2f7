package jnvdocker.words;

import java.io.IOException;

/** A failure with a cause that a user or an administrator can remove. */
public class FailedException extends IOException implements Refused {
    private static final long serialVersionUID = 1L;

    private final transient Refusal refusal;

    public FailedException(String what, String remedy) {
        this(what, remedy, null);
    }

    public FailedException(String what, String remedy, Throwable cause) {
        this(new Refusal(what, remedy), cause);
    }

    protected FailedException(Refusal refusal, Throwable cause) {
        super(refusal.message(), cause);
        this.refusal = refusal;
    }

    @Override
    public final Refusal refusal() {
        return refusal;
    }
}
