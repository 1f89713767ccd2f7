package jnvdocker.words;

/** A container that won't be started, or a command that won't be obeyed. */
public class RefusedException extends Exception implements Refused {
    private static final long serialVersionUID = 1L;

    private final transient Refusal refusal;

    public RefusedException(String what, String remedy) {
        this(new Refusal(what, remedy));
    }

    public RefusedException(Refusal refusal) {
        this(refusal, null);
    }

    protected RefusedException(Refusal refusal, Throwable cause) {
        super(refusal.message(), cause);
        this.refusal = refusal;
    }

    @Override
    public final Refusal refusal() {
        return refusal;
    }
}
