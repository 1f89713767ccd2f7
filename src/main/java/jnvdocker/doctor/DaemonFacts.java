package jnvdocker.doctor;

import java.nio.file.Path;

/**
 * The start of this daemon, and its places.
 *
 * @param service whether systemd runs it as {@code jnvdocker.service}
 * @param version of jnvdocker
 * @param tree the directory of the programs
 * @param run the directory with the file {@code jnvdockerd.pid}
 * @param state the directory of the registry and the volumes
 * @param pluginSocket the socket at which dockerd finds the volume plugin
 * @param proxySocket the socket of {@code jnvdockerd --proxy}, which need not run
 */
public record DaemonFacts(
        boolean service,
        String version,
        Path tree,
        Path run,
        Path state,
        Path pluginSocket,
        String pluginName,
        Path proxySocket) {
    /** The link by which the logins of users choose {@code jnvdockerd --proxy}. */
    public static final Path PROFILE = Path.of("/etc/profile.d/jnvdocker.sh");

    static final Path USUAL_RUN = Path.of("/run/jnvdocker");
    static final String UNITS = "jnvdocker.socket jnvdocker.service";

    /** Whether it runs beside the daemon that the units start. */
    boolean isElsewhere() {
        return !service && !run.equals(USUAL_RUN);
    }

    /** Returns how to stop it. */
    String stop() {
        return service ? "systemctl stop " + UNITS : "kill $(cat " + run + "/jnvdockerd.pid)";
    }

    /** Returns how to restart it. */
    String restart() {
        return service
                ? "restart jnvdocker: systemctl restart " + UNITS
                : "restart jnvdocker: " + stop() + ", and root's next jnvdocker gpu ls starts it";
    }
}
