package jnvdocker.posix;

import java.io.IOException;

/** A system call that failed. The message names the call, its object and the error's text. */
public final class PosixException extends IOException {
    private static final long serialVersionUID = 1L;

    private final int errno;

    PosixException(String what, int errno, String text) {
        super(what + ": " + text);
        this.errno = errno;
    }

    /** The error's number, one of {@link Errno}. */
    public int errno() {
        return errno;
    }
}
