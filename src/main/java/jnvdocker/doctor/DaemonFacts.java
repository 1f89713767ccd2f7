package jnvdocker.doctor;

import java.nio.file.Path;

/**
 * How this daemon was started, and where it is.
 *
 * @param service whether systemd runs it as {@code jnvdocker.service}
 * @param tree the folder of the programs
 * @param run the folder with the file {@code jnvdockerd.pid}
 * @param state the folder of the registry and the volumes
 * @param pluginSocket where dockerd finds the volume plugin
 */
public record DaemonFacts(
        boolean service, Path tree, Path run, Path state, Path pluginSocket, String pluginName) {
    static final Path USUAL_RUN = Path.of("/run/jnvdocker");
    static final String UNITS = "jnvdocker.socket jnvdocker.service";

    /** Whether it stands beside the one that the units are for. */
    boolean isElsewhere() {
        return !service && !run.equals(USUAL_RUN);
    }

    /** How to stop it. */
    String stop() {
        return service ? "systemctl stop " + UNITS : "kill $(cat " + run + "/jnvdockerd.pid)";
    }

    /** How to have it start again. */
    String restart() {
        return service
                ? "restart jnvdocker: systemctl restart " + UNITS
                : "restart jnvdocker: " + stop() + ", and root's next jnvdocker gpu ls starts it";
    }
}
