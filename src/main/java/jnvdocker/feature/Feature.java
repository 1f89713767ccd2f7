package jnvdocker.feature;

import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.runtime.PodContainers;
import jnvdocker.config.ConfigTable;
import jnvdocker.doctor.Examined;
import jnvdocker.holder.HolderKind;
import jnvdocker.upkeep.Uninstall;

import java.io.IOException;
import java.util.Optional;

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
    interface Running extends Examined, Uninstall.Part, AutoCloseable {
        /** Its commands. */
        OwnCommands commands();

        /** The pods whose containers our OCI runtime gives their pod's GPUs; empty without pods. */
        default Optional<PodContainers.Pods> pods() {
            return Optional.empty();
        }

        /** The configuration may have changed. */
        default void reloaded() {}

        @Override
        default void close() {}
    }
}
