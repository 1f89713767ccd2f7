package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.lease.text.ContainerOwner.Trust;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Set;
import java.util.function.Supplier;

/** Checks Docker's API for users, {@code jnvdockerd --proxy}. */
final class ProxyCheck {
    private static final String ROOT = "root";
    private static final String UNITS = "jnvdocker-proxy.socket jnvdocker-proxy.service";

    private final DaemonFacts daemon;
    private final Path profile;
    private final DockerEngine engine;
    private final Supplier<Set<Trust>> trusted;

    /**
     * @param profile the script by which the logins of users choose the proxy
     * @param trusted the evidence of a container's owner that counts
     */
    ProxyCheck(
            DaemonFacts daemon, Path profile, DockerEngine engine, Supplier<Set<Trust>> trusted) {
        this.daemon = daemon;
        this.profile = profile;
        this.engine = engine;
        this.trusted = trusted;
    }

    ProxyCheck(Doctor.Surroundings around) {
        this(around.daemon(), DaemonFacts.PROFILE, around.engine(), around.trustedOwners());
    }

    void findings(Findings found) throws IOException {
        Path socket = daemon.proxySocket();
        if (!Files.exists(socket)) {
            absent(socket, found);
            return;
        }
        if (answers(socket, found)) {
            group(socket, found);
            trust(found);
            found.okIfNothingElse("users have Docker's API at " + socket);
        }
    }

    private void absent(Path socket, Findings found) {
        if (!daemon.isElsewhere() && Files.exists(profile, LinkOption.NOFOLLOW_LINKS)) {
            found.hint(
                    "%s is for users of Docker's API at %s, which nothing serves"
                            .formatted(profile, socket),
                    "start it: systemctl enable --now jnvdocker-proxy.socket; or rm " + profile);
        } else {
            found.ok(
                    "Docker's API for users is not served: 'systemctl enable --now"
                            + " jnvdocker-proxy.socket' has containers of compose and SDKs belong"
                            + " to their users");
        }
    }

    /** Whether an engine answers there. Its own check reports an engine that does not. */
    private boolean answers(Path socket, Findings found) throws IOException {
        try (DockerEngine behind = new DockerEngine(socket, socket, _ -> false)) {
            // Starts the service where systemd listens for it, as any user's docker would.
            behind.product();
            return true;
        } catch (EngineException e) {
            if (isEngineThere()) {
                found.wrong(
                        "Docker's API for users fails: " + Finding.failure(e),
                        daemon.service()
                                ? "systemctl restart " + UNITS
                                : "start jnvdockerd --proxy again; its log says why it ended");
            } else {
                found.unknown("the engine behind " + socket + " does not answer");
            }
            return false;
        }
    }

    private boolean isEngineThere() {
        try {
            engine.facts(EngineChecks.LIMIT);
            return true;
        } catch (EngineException e) {
            return false;
        }
    }

    private void group(Path socket, Findings found) throws IOException {
        PosixFileAttributes access = Files.readAttributes(socket, PosixFileAttributes.class);
        Set<PosixFilePermission> permissions = access.permissions();
        boolean isForGroup =
                permissions.contains(PosixFilePermission.GROUP_WRITE)
                        && !access.group().getName().equals(ROOT);
        if (!isForGroup && !permissions.contains(PosixFilePermission.OTHERS_WRITE)) {
            found.hint(
                    "only root may open " + socket,
                    daemon.service()
                            ? "name the users' group: systemctl edit jnvdocker-proxy.socket"
                                    + " (SocketGroup=), and restart it"
                            : "start jnvdockerd --proxy with JNVDOCKER_PROXY_GROUP=GROUP");
        }
    }

    private void trust(Findings found) {
        if (!trusted.get().contains(Trust.LABEL)) {
            found.hint(
                    "the owners that " + daemon.proxySocket() + " names count as guesses",
                    "add \"%s\" to trust_owner in the table [runtime] of the configuration"
                            .formatted(Trust.LABEL.word()));
        }
    }
}
