package jnvdocker.words;

/**
 * A container that won't be started. The message is for its user: what is wrong, with which value,
 * and what to do.
 */
public class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    public RefusedException(String message) {
        super(message);
    }

    protected RefusedException(String message, Throwable cause) {
        super(message, cause);
    }
}
