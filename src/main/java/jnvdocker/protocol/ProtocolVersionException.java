package jnvdocker.protocol;

import jnvdocker.words.FailedException;

/** The client has another version. */
public final class ProtocolVersionException extends FailedException {
    private static final long serialVersionUID = 1L;

    ProtocolVersionException(int version) {
        super(
                "this client speaks protocol version %s and the daemon version %s"
                        .formatted(version, ClientRequest.VERSION),
                "restart jnvdockerd after an upgrade (systemctl restart jnvdocker)");
    }
}
