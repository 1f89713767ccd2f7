package jnvdocker.daemon;

import java.io.IOException;

/** The daemon can't start; the message says why and what to do. */
final class StartException extends IOException {
    private static final long serialVersionUID = 1L;

    StartException(String message) {
        super(message);
    }

    StartException(String message, Throwable cause) {
        super(message, cause);
    }
}
