package jnvdocker.archive;

import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

/**
 * An archive out of which no image can be read. The refusal says what is wrong with it and what to
 * do; the caller knows which file it is.
 */
public final class BadArchiveException extends RefusedException {
    private static final long serialVersionUID = 1;

    static final String SAVE_AGAIN = "save the image again with docker save";
    static final String LOAD = "load it (docker load -i FILE) and name the image instead";

    BadArchiveException(String wrong, String remedy) {
        super(wrong, remedy);
    }

    BadArchiveException(String wrong, String remedy, Throwable cause) {
        super(new Refusal(wrong, remedy), cause);
    }
}
