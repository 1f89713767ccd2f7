package jnvdocker.labels;

import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

/**
 * The needs of an image, or the user's variables that replace them, cannot be understood. The
 * refusal says what, where it stands and what to do.
 */
public final class BadImageException extends RefusedException {
    private static final long serialVersionUID = 1;

    BadImageException(String what, String remedy) {
        super(what, remedy);
    }

    BadImageException(String what, String remedy, Throwable cause) {
        super(new Refusal(what, remedy), cause);
    }
}
