package jnvdocker.command.caller;

import jnvdocker.protocol.ClientRequest;

import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.nio.file.Path;
import java.util.concurrent.Callable;

/** A command of our own. */
public abstract class OwnCommand implements Callable<CommandOutcome> {
    @Spec private CommandSpec spec;

    /** Whether an option was typed, be it with its default value. */
    protected final boolean isTyped(String option) {
        return spec.commandLine().getParseResult().hasMatchedOption(option);
    }

    protected final void print(String line) {
        spec.commandLine().getOut().println(line);
    }

    /** Prints a line on standard error. */
    protected final void warn(String line) {
        spec.commandLine().getErr().println(line);
    }

    /**
     * Returns the absolute path of a directory that the caller names, relative to the caller's own.
     *
     * @throws ParameterException when the name is missing
     */
    protected final Path directory(String name, ClientRequest request) {
        if (name.isEmpty()) {
            throw usage("a directory's name is empty");
        }
        return Path.of(request.directory()).resolve(name).normalize();
    }

    /** Returns the exception for words that do not go together. */
    public final ParameterException usage(String what) {
        return new ParameterException(spec.commandLine(), what);
    }
}
