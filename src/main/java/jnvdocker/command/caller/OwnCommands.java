package jnvdocker.command.caller;

import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.RefusedException;

import picocli.CommandLine;

import java.io.IOException;
import java.util.List;

/** A group of our own commands, which begin with its name. */
public interface OwnCommands {
    /** The word behind {@code jnvdocker}. */
    String name();

    /**
     * @param arguments the arguments after the name
     */
    void run(List<String> arguments, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException;

    /** The commands that people type, for inspection: they must not be run. */
    CommandLine commands(ClientRequest request, ClientConnection client);
}
