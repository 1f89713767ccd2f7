package jnvdocker.words;

/** A text is not a valid value of its kind. The caller knows where it was written. */
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
