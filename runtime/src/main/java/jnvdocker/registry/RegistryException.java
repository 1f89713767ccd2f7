package jnvdocker.registry;

import jnvdocker.words.FailedException;

/** The registry cannot be opened, read or written. */
public final class RegistryException extends FailedException {
    private static final long serialVersionUID = 1L;

    RegistryException(String what, String remedy) {
        super(what, remedy);
    }

    RegistryException(String what, String remedy, Throwable cause) {
        super(what, remedy, cause);
    }
}
