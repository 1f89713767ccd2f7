package jnvdocker.kubernetes;

import java.io.IOException;

/** A kubelet's file that can be read, but not understood. */
public final class MalformedCheckpointException extends IOException {
    private static final long serialVersionUID = 1L;

    MalformedCheckpointException(String message) {
        super(message);
    }
}
