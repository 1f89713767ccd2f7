package jnvdocker.docker.engine;

import jnvdocker.words.FailedException;

/** The engine did not answer, refused a request, or gave an answer that cannot be used. */
public final class EngineException extends FailedException {
    private static final long serialVersionUID = 1L;

    EngineException(String what, String remedy, Throwable cause) {
        super(what, remedy, cause);
    }
}
