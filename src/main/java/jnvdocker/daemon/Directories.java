package jnvdocker.daemon;

import jnvdocker.command.caller.Installation;
import jnvdocker.config.StartException;
import jnvdocker.doctor.DaemonFacts;
import jnvdocker.host.Host;
import jnvdocker.web.ListenAddress;
import jnvdocker.words.InvalidValueException;
import jnvdocker.words.Quote;

import java.io.IOException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/**
 * The places of the daemon's files. Each has a variable that moves it, for tests and unusual hosts;
 * the client reads the same variables.
 *
 * @param run the lock and the log ({@code JNVDOCKER_RUN_DIR})
 * @param socket the socket for clients ({@code JNVDOCKER_SOCKET})
 * @param state the registry, the claims, the driver volumes ({@code JNVDOCKER_STATE_DIR})
 * @param cache the classes for the daemon's next start, which {@code bin/jnvdockerd} manages
 *     ({@code JNVDOCKER_CACHE_DIR})
 * @param config the configuration file ({@code JNVDOCKER_CONFIG})
 * @param configNamed whether the variable names it, so that it must exist
 * @param plugins the directory where dockerd finds plugins' sockets ({@code JNVDOCKER_PLUGIN_DIR})
 * @param pluginName the name of the volume plugin ({@code JNVDOCKER_PLUGIN_NAME})
 * @param hostRoot the directory that counts as {@code /} ({@code JNVDOCKER_HOST_ROOT})
 * @param dockerSocket the engine's socket ({@code JNVDOCKER_DOCKER_SOCKET})
 * @param proxySocket the socket of {@code jnvdockerd --proxy}, unless systemd has made it ({@code
 *     JNVDOCKER_PROXY_SOCKET})
 * @param cdi the directory where runtimes find the CDI file of pods ({@code JNVDOCKER_CDI_DIR})
 * @param listen the address for questions over TCP, in place of the configuration's ({@code
 *     JNVDOCKER_LISTEN})
 */
record Directories(
        Path run,
        Path socket,
        Path state,
        Path cache,
        Path config,
        boolean configNamed,
        Path plugins,
        String pluginName,
        Path hostRoot,
        Path dockerSocket,
        Path proxySocket,
        Path cdi,
        Optional<ListenAddress> listen) {

    static Directories of(Map<String, String> environment) throws StartException {
        Path run = path(environment, "JNVDOCKER_RUN_DIR", "/run/jnvdocker");
        return new Directories(
                run,
                path(environment, "JNVDOCKER_SOCKET", run + "/jnvdocker.sock"),
                path(environment, "JNVDOCKER_STATE_DIR", "/var/lib/jnvdocker"),
                path(environment, "JNVDOCKER_CACHE_DIR", "/var/cache/jnvdocker"),
                path(environment, "JNVDOCKER_CONFIG", "/etc/jnvdocker/config.toml"),
                !environment.getOrDefault("JNVDOCKER_CONFIG", "").isEmpty(),
                path(environment, "JNVDOCKER_PLUGIN_DIR", "/run/docker/plugins"),
                name(environment, "JNVDOCKER_PLUGIN_NAME", "nvidia-docker"),
                path(environment, "JNVDOCKER_HOST_ROOT", "/"),
                path(environment, "JNVDOCKER_DOCKER_SOCKET", "/var/run/docker.sock"),
                path(environment, "JNVDOCKER_PROXY_SOCKET", run + "/docker.sock"),
                path(environment, "JNVDOCKER_CDI_DIR", "/var/run/cdi"),
                listen(environment));
    }

    /**
     * Returns the directory with one file for each container that the daemon has edited, named by
     * its id: our OCI runtime queries the daemon about commands that are run in such a container.
     */
    Path markers() {
        return run.resolve("runtime");
    }

    /** Returns the socket to which our OCI runtime reports containers that are being deleted. */
    Path wake() {
        return run.resolve("runtime.wake");
    }

    /**
     * Opens the host.
     *
     * @throws StartException when there is none at that place
     */
    Host host() throws StartException {
        if (hostRoot.toString().contains(":")) {
            throw new StartException(
                    "JNVDOCKER_HOST_ROOT="
                            + hostRoot
                            + " has a colon in it, which docker takes for the end of a path",
                    "use another directory");
        }
        try {
            return Host.at(hostRoot);
        } catch (IOException e) {
            throw new StartException(
                    "JNVDOCKER_HOST_ROOT=" + hostRoot + " does not exist",
                    "make it, or unset the variable",
                    e);
        }
    }

    Path pluginSocket() {
        return plugins.resolve(pluginName + ".sock");
    }

    /** Returns the daemon's places, for the checks of {@code doctor}. */
    DaemonFacts facts(Installation installation) {
        return new DaemonFacts(
                installation.service(),
                Main.version(),
                installation.tree(),
                run,
                state,
                pluginSocket(),
                pluginName,
                proxySocket);
    }

    private static Path path(Map<String, String> environment, String variable, String standard)
            throws StartException {
        String text = environment.getOrDefault(variable, "");
        try {
            Path path = Path.of(text.isEmpty() ? standard : text);
            if (path.isAbsolute()) {
                return path;
            }
        } catch (InvalidPathException e) {
            throw new StartException(
                    variable + " is no path in UTF-8: " + Quote.quoted(text),
                    "set it to another",
                    e);
        }
        throw new StartException(
                variable + "=" + text + " is not an absolute path", "begin it with /");
    }

    private static Optional<ListenAddress> listen(Map<String, String> environment)
            throws StartException {
        String text = environment.getOrDefault("JNVDOCKER_LISTEN", "");
        try {
            return text.isEmpty() ? Optional.empty() : Optional.of(ListenAddress.parse(text));
        } catch (InvalidValueException e) {
            throw new StartException(e.refusal().precededBy("JNVDOCKER_LISTEN = "), e);
        }
    }

    private static String name(Map<String, String> environment, String variable, String standard)
            throws StartException {
        String text = environment.getOrDefault(variable, "");
        String name = text.isEmpty() ? standard : text;
        if (!name.matches("[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}")) {
            throw new StartException(
                    variable + "=" + text + " is no name for a plugin",
                    "use letters, digits, - and _, at most 63");
        }
        return name;
    }
}
