package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;

import jnvdocker.json.BoundedParser;
import jnvdocker.lease.text.ContainerLabels;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.Set;
import java.util.concurrent.Semaphore;

/**
 * Reads the JSON of an engine, in which any member of the group {@code docker} can have containers
 * described at any length. Unused parts are left out. An answer about one container that is too
 * long all the same fails; in a list, each container has its share. Long answers take turns, and
 * short ones don't wait for them.
 */
final class EngineJson extends JsonFactory {
    private static final long serialVersionUID = 1L;

    private static final int MIB = 1 << 20;

    /** All of this together, once: see the daemon's heap in bin/jnvdockerd. */
    private static final BoundedParser.Limits LIMITS =
            new BoundedParser.Limits(4 * MIB, 24 * MIB, 64 << 10);

    private static final int SHORT = MIB / 2;

    /** Long, set by users, and of no concern to leases. */
    private static final Set<String> UNREAD =
            Set.of(
                    "Args",
                    "Binds",
                    "Cmd",
                    "Command",
                    "CreatedAt",
                    "Destination",
                    "Entrypoint",
                    "ExposedPorts",
                    "ExtraHosts",
                    "GraphDriver",
                    "Health",
                    "Healthcheck",
                    "Mountpoint",
                    "NetworkSettings",
                    "PortBindings",
                    "Ports",
                    "RootFS",
                    "Scope",
                    "Status",
                    "Sysctls",
                    "Tmpfs");

    private final transient Semaphore turn = new Semaphore(1);

    EngineJson() {
        super(BoundedParser.factory());
    }

    @Override
    public JsonParser createParser(InputStream in) throws IOException {
        return new BoundedParser(
                super.createParser(new ClippedStrings(in)), EngineJson::isRead, LIMITS, new Turn());
    }

    private static boolean isRead(String parent, String member) {
        return switch (parent) {
            case "Labels" -> ContainerLabels.areRead(member);
            // An event's attributes: the labels of its container, and the container's name.
            case "Attributes" -> member.equals("name") || ContainerLabels.areRead(member);
            case null, default -> !UNREAD.contains(member);
        };
    }

    /** Reads one answer; long answers are read one at a time. */
    private final class Turn implements BoundedParser.Scale {
        private boolean isTaken;

        @Override
        public void weighs(long bytes) throws IOException {
            if (bytes > SHORT && !isTaken) {
                try {
                    turn.acquire();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new InterruptedIOException("other long answers take too long");
                }
                isTaken = true;
            } else if (bytes == 0 && isTaken) {
                isTaken = false;
                turn.release();
            }
        }
    }
}
