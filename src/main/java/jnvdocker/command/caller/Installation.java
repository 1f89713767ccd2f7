package jnvdocker.command.caller;

import jnvdocker.doctor.DaemonFacts;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ExitCode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What an administrator has put on this host, and how it is ended for good.
 *
 * @param service whether the daemon is systemd's service {@code jnvdocker}
 * @param tree the directory of the programs
 * @param config the configuration file
 * @param state the directory of the volumes and the registry
 * @param cache the directory of the files that the daemon recreates when they are missing
 * @param stop ends the daemon; returns at once
 */
public record Installation(
        boolean service, Path tree, Path config, Path state, Path cache, Runnable stop) {
    /** The directory of the tree in the Debian package and the RPM. */
    private static final Path PACKAGED = Path.of("/usr/lib/jnvdocker");

    /** A dockerd remembers each plugin until it is restarted. */
    private static final String DOCKER_FORGETS =
            "systemctl restart docker   # when convenient: until then Docker's volume commands wait"
                    + " 15 seconds for us";

    /** The directory of the programs that this process is one of. */
    public static Path thisTree() {
        return Path.of(System.getProperty("java.home")).getParent();
    }

    /**
     * Shell commands for what is left when the daemon has stopped.
     *
     * @param removed whether a package manager does its part
     * @param engine whether there is an engine
     */
    public List<String> leftByHand(boolean removed, boolean engine) {
        List<String> commands = new ArrayList<>();
        if (engine) {
            commands.add(DOCKER_FORGETS);
        }
        if (removed) {
            return commands;
        }
        if (tree.equals(PACKAGED)) {
            commands.add(
                    "apt purge jnvdocker   # the programs, the configuration and the history: who"
                            + " had which GPU");
            commands.add(
                    "dnf remove jnvdocker && rm -r %s %s   # the same, where the package is an RPM"
                            .formatted(state, config.getParent()));
            return commands;
        }
        if (Files.exists(DaemonFacts.PROFILE, LinkOption.NOFOLLOW_LINKS)) {
            commands.add("rm " + DaemonFacts.PROFILE + "   # DOCKER_HOST of users");
        }
        if (service) {
            commands.add(
                    "systemctl disable --now jnvdocker.socket jnvdocker.service"
                            + " jnvdocker-nodes.service jnvdocker-proxy.socket"
                            + " jnvdocker-proxy.service");
            commands.add("rm /etc/systemd/system/jnvdocker* && systemctl daemon-reload");
        }
        commands.add("rm -r " + tree + "   # the programs; and links to them in your PATH");
        commands.add("rm -f " + config + "   # the configuration");
        commands.add("rm -rf " + cache + "   # what makes the daemon start quicker");
        commands.add("rm -r " + state + "   # the history: who had which GPU");
        return commands;
    }

    /**
     * Stops the daemon once the client has received everything. A service is stopped by the client,
     * which becomes systemctl: systemd would start again what ends by itself. The socket goes with
     * it: docker's next request to it would start the daemon, too.
     */
    public void leave(ClientConnection client) throws IOException {
        if (service) {
            client.exec(List.of("systemctl", "stop", "jnvdocker.socket", "jnvdocker.service"));
        } else {
            client.exit(ExitCode.OK);
            stop.run();
        }
    }
}
