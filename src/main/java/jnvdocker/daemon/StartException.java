package jnvdocker.daemon;

import jnvdocker.words.FailedException;
import jnvdocker.words.Refusal;

/** The daemon cannot start. */
final class StartException extends FailedException {
    private static final long serialVersionUID = 1L;

    StartException(String what, String remedy) {
        super(what, remedy);
    }

    StartException(String what, String remedy, Throwable cause) {
        super(what, remedy, cause);
    }

    StartException(Refusal refusal, Throwable cause) {
        super(refusal, cause);
    }
}
