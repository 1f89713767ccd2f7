package jnvdocker.command.gpu.change;

import jnvdocker.words.RefusedException;

import java.io.IOException;

/** A command after which the client becomes a program, as soon as there are GPUs for it. */
public interface Successor {
    /** Whether the command was typed, and correctly. */
    boolean isReady();

    /**
     * Has the client become the program. The parsed command line is not needed for that: many
     * clients may wait for a long time.
     */
    void start() throws IOException, RefusedException;
}
