package jnvdocker.command.runtime;

import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.List;

/** {@code jnvdocker runtime …}: what our OCI runtime asks. */
public final class RuntimeCommand {
    private final RuntimeCreate create;
    private final RuntimeExec exec;

    public RuntimeCommand(RuntimeCreate create, RuntimeExec exec) {
        this.create = create;
        this.exec = exec;
    }

    /**
     * @param arguments those after {@code runtime}
     */
    public void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        switch (arguments.isEmpty() ? "" : arguments.getFirst()) {
            case RuntimeCreate.WORD -> create.run(arguments, request, client);
            case RuntimeExec.WORD -> exec.run(arguments, request, client);
            default -> RuntimeCreate.refuseUnless(false);
        }
    }
}
