package jnvdocker.registry;

import java.io.IOException;

/** The registry can't be opened, read or written; the message says what to do. */
public final class RegistryException extends IOException {
    private static final long serialVersionUID = 1L;

    RegistryException(String message, Throwable cause) {
        super(message, cause);
    }

    RegistryException(String message) {
        super(message);
    }
}
