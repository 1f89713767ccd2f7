package jnvdocker.host;

import jnvdocker.words.FailedException;

/** This host has no usable NVIDIA driver. */
public final class NoDriverException extends FailedException {
    private static final long serialVersionUID = 1L;

    NoDriverException(String what, String remedy) {
        super(what, remedy);
    }

    NoDriverException(String what, String remedy, Throwable cause) {
        super(what, remedy, cause);
    }
}
