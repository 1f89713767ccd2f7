package jnvdocker.labels;

import jnvdocker.words.RefusedException;

/**
 * What an image asks for, or what the user's variables put over it, can't be understood. The
 * message says what, where it stands and what to do.
 */
public final class BadImageException extends RefusedException {
    private static final long serialVersionUID = 1;

    BadImageException(String message) {
        super(message);
    }

    BadImageException(String message, Throwable cause) {
        super(message, cause);
    }
}
