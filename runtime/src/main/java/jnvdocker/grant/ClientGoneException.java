package jnvdocker.grant;

import jnvdocker.posix.ProcessId;

import java.io.IOException;

/** The client has ended meanwhile, and needs no answer. */
final class ClientGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    ClientGoneException(ProcessId client) {
        super("the client (pid " + client.pid() + ") is gone");
    }
}
