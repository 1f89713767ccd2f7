package jnvdocker.words;

/** What somebody has written is not what is read there; whoever reads it knows where it stands. */
public final class InvalidValueException extends IllegalArgumentException implements Refused {
    private static final long serialVersionUID = 1L;

    private final transient Refusal refusal;

    public InvalidValueException(String what, String remedy) {
        this(new Refusal(what, remedy));
    }

    public InvalidValueException(Refusal refusal) {
        super(refusal.message());
        this.refusal = refusal;
    }

    @Override
    public Refusal refusal() {
        return refusal;
    }
}
