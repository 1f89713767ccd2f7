package jnvdocker.docker.engine;

import java.io.IOException;

/** The engine did not answer, or not what was asked; the message says what to do. */
public final class EngineException extends IOException {
    private static final long serialVersionUID = 1L;

    EngineException(String message, Throwable cause) {
        super(message, cause);
    }
}
