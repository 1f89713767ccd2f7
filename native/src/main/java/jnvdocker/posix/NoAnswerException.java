package jnvdocker.posix;

/** The answer has not come in time. */
public final class NoAnswerException extends Exception {
    private static final long serialVersionUID = 1L;

    NoAnswerException() {
        super("no answer in time");
    }
}
