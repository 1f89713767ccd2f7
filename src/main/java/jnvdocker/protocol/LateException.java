package jnvdocker.protocol;

import jnvdocker.words.FailedException;

import java.time.Duration;

/** A client has not sent an expected message in time; the message is for its user. */
public final class LateException extends FailedException {
    private static final long serialVersionUID = 1L;

    LateException(Duration time) {
        super("the client sent no request within " + time.toSeconds() + " s", "try again");
    }
}
