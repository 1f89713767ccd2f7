package jnvdocker.host;

import java.io.IOException;

/** This host has no usable NVIDIA driver; the message says what is missing and what to do. */
public final class NoDriverException extends IOException {
    private static final long serialVersionUID = 1L;

    NoDriverException(String message) {
        super(message);
    }

    NoDriverException(String message, Throwable cause) {
        super(message, cause);
    }
}
