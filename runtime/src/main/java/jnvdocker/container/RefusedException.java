package jnvdocker.container;

/** A container that we won't start; the message says why, with which value, and what to do. */
public final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    public RefusedException(String message) {
        super(message);
    }
}
