package jnvdocker.doctor;

import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.Optional;

/** What the examination of a host asks of a way to GPUs that a lab may do without. */
public interface Examined {
    /** Whether its part works. */
    Check check();

    /** The unit that is to wait for the daemon; empty if none is. */
    default Optional<LaterUnit> later() {
        return Optional.empty();
    }

    /**
     * Whether it gives out this host's GPUs, so that the host needs no Docker engine.
     *
     * @param docker whether an engine of Docker's has our OCI runtime
     * @throws RefusedException when what shows that is damaged
     */
    boolean needsNoDocker(boolean docker) throws IOException, RefusedException;
}
