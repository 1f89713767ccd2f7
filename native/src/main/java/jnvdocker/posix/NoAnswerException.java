package jnvdocker.posix;

/** Whoever knows has not answered in time. */
public final class NoAnswerException extends Exception {
    private static final long serialVersionUID = 1L;

    NoAnswerException() {
        super("no answer in time");
    }
}
