package jnvdocker.command.caller;

import jnvdocker.protocol.ExitCode;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;

/** What becomes of the client, once a command has written its output. */
public sealed interface CommandOutcome {
    /** The client ends without a failure. */
    CommandOutcome OK = new Exit(ExitCode.OK);

    /** The client ends. */
    record Exit(ExitCode code) implements CommandOutcome {}

    /**
     * The client becomes a program.
     *
     * @param start keeps nothing of the parsed command line: many clients may wait in it for a long
     *     time
     */
    record Become(Start start) implements CommandOutcome {}

    /**
     * The client repeats its request.
     *
     * @param interval the pause before that
     * @param json whether the output is a document on one line
     */
    record Again(Duration interval, boolean json) implements CommandOutcome {}

    /** The daemon ends, and the client with it. */
    record StopDaemon() implements CommandOutcome {}

    /** Sends the frame by which the client becomes a program, when there are GPUs for that. */
    @FunctionalInterface
    interface Start {
        void run() throws IOException, RefusedException;
    }
}
