package jnvdocker.config;

import jnvdocker.words.FailedException;
import jnvdocker.words.Refusal;

/** The daemon cannot start. */
public final class StartException extends FailedException {
    private static final long serialVersionUID = 1L;

    public StartException(String what, String remedy) {
        super(what, remedy);
    }

    public StartException(String what, String remedy, Throwable cause) {
        super(what, remedy, cause);
    }

    public StartException(Refusal refusal, Throwable cause) {
        super(refusal, cause);
    }
}
