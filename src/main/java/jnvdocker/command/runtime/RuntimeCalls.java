package jnvdocker.command.runtime;

import jnvdocker.command.caller.Caller;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import java.util.regex.Pattern;

/** Checks of every call that an engine makes through our runtime. */
final class RuntimeCalls {
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9_+-][A-Za-z0-9_.+-]{0,1023}");

    private RuntimeCalls() {}

    /** Engines and their shims run as root, and other users must not get the GPUs of containers. */
    static void refuseOthersThanEngines(ClientRequest request) throws RefusedException {
        if (!Caller.isRoot(request)) {
            throw new RefusedException(
                    "only an engine that runs as root can start containers with GPUs: without"
                            + " root's rights a container has no device rules",
                    "run it with the host's engine");
        }
    }

    static boolean isId(String container) {
        return ID.matcher(container).matches();
    }

    static void refuseUnless(boolean wellFormed) throws RefusedException {
        if (!wellFormed) {
            throw new RefusedException(
                    "'runtime create', 'exec', 'hook' and 'wait' are for programs of jnvdocker's"
                            + " alone",
                    "see 'jnvdocker runtime --help' for the commands");
        }
    }
}
