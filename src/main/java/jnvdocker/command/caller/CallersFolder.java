package jnvdocker.command.caller;

import jnvdocker.protocol.ClientRequest;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

import java.nio.file.Path;

/** A directory named by the caller, relative to the caller's own working directory. */
public final class CallersFolder {
    private CallersFolder() {}

    /**
     * @return its absolute path
     * @throws ParameterException when the name is missing
     */
    public static Path of(String name, ClientRequest request, CommandSpec spec) {
        if (name.isEmpty()) {
            throw new ParameterException(spec.commandLine(), "a directory's name is empty");
        }
        return Path.of(request.folder()).resolve(name).normalize();
    }
}
