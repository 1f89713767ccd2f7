package jnvdocker.holder;

import jnvdocker.posix.ProcessId;

/** The state of a lease's holder, as this machine shows it. */
public sealed interface Life {

    /**
     * Something of the holder lives.
     *
     * @param process one of it
     */
    record Running(ProcessId process) implements Life {}

    /**
     * Nothing of the holder lives.
     *
     * @param evidence for people: {@code its first process (pid 4711) is gone}
     */
    record Gone(String evidence) implements Life {}

    /**
     * Docker has mounted the claim, and nothing of it runs: the engine may be about to start it.
     */
    record Starting() implements Life {}

    /** This machine's own evidence is incomplete: nothing that an engine says ends the lease. */
    record Unknown() implements Life {}
}
