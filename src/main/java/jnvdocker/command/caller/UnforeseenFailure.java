package jnvdocker.command.caller;

import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;
import jnvdocker.words.Refused;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.security.SecureRandom;
import java.util.HexFormat;

/**
 * The one handler of the failures of a command. A failure that nobody has foreseen is a fault of
 * ours: the daemon's log has all of it, and the user gets one line with a reference to it.
 */
public final class UnforeseenFailure {
    private static final Logger LOG = LoggerFactory.getLogger(UnforeseenFailure.class);
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int REFERENCE_BYTES = 4;

    private UnforeseenFailure() {}

    /** Returns the message for the user. */
    public static String message(Throwable failure) {
        return switch (failure) {
            case Refused refused -> refused.refusal().message();
            case IOException failed -> FileErrors.describe(failed);
            case UncheckedIOException failed -> FileErrors.describe(failed.getCause());
            default -> unforeseen(failure);
        };
    }

    private static String unforeseen(Throwable failure) {
        byte[] reference = new byte[REFERENCE_BYTES];
        RANDOM.nextBytes(reference);
        String text = HexFormat.of().formatHex(reference);
        LOG.error("a client's request failed, internal error {}", text, failure);
        return new Refusal(
                        "internal error " + text,
                        "'journalctl -u jnvdocker' says more under that number; please report it")
                .message();
    }
}
