package jnvdocker.feature;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.config.ConfigTable;
import jnvdocker.doctor.Examined;
import jnvdocker.holder.HolderKind;

import java.io.IOException;

/**
 * A way to GPUs that a lab may do without: all of it is in one directory, and the daemon's list of
 * features names it in one line. Each serves one daemon.
 */
public interface Feature {
    /** Its table of the configuration. */
    ConfigTable<?> table();

    /** The kind of those who hold its leases. */
    HolderKind kind();

    /**
     * Starts it, before docker or a client is answered.
     *
     * @throws IOException naming the obstacle: the daemon does not start then
     */
    Running start(Core core) throws IOException;

    /** It runs, until it is closed. */
    interface Running extends Examined, AutoCloseable {
        /** Its commands. */
        OwnCommands commands();

        @Override
        default void close() {}
    }
}
