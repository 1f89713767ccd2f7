package jnvdocker.daemon;

import jnvdocker.config.StartException;
import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * Keeps a daemon out of containers, where it would see neither the host's daemon nor the processes
 * that use GPUs, and would give the same GPUs out a second time. The client checks the same before
 * it starts a daemon ({@code native/client/start.c}).
 */
final class HostNamespaces {
    /**
     * Set to {@code own} for a machine in namespaces of its own that has its GPUs to itself: a
     * system container, or a test's.
     */
    static final String VARIABLE = "JNVDOCKER_NAMESPACES";

    /** The kernel's first PID namespace has this inode since Linux 3.8. */
    private static final String FIRST_PIDS = "pid:[4026531836]";

    /** The kernel's first mount namespace has this inode since Linux 6.18. */
    private static final String FIRST_MOUNTS = "mnt:[4026531832]";

    private HostNamespaces() {}

    /**
     * Checks the namespaces of this process.
     *
     * @param proc {@code /proc}
     * @throws StartException when they are not those of the host's first process
     */
    static void check(Path proc, Map<String, String> environment) throws StartException {
        if (!environment.getOrDefault(VARIABLE, "").equals("own") && !areTheHosts(proc)) {
            throw new StartException(
                    "this is a container, or another place with processes or mounts of its own,"
                            + " where the uses of the host's GPUs are not seen",
                    "run jnvdockerd on the host; set "
                            + VARIABLE
                            + "=own only where no other machine uses these GPUs");
        }
    }

    /**
     * The link of the first process is read only where the number does not decide: root with fewer
     * capabilities than that process may not read it.
     */
    private static boolean areTheHosts(Path proc) throws StartException {
        try {
            String mounts = link(proc.resolve("self/ns/mnt"));
            return link(proc.resolve("self/ns/pid")).equals(FIRST_PIDS)
                    && (mounts.equals(FIRST_MOUNTS)
                            || mounts.equals(link(proc.resolve("1/ns/mnt"))));
        } catch (IOException e) {
            throw new StartException(
                    "cannot see whether this is a container: " + FileErrors.describe(e),
                    "run jnvdockerd as root of the host, with /proc mounted",
                    e);
        }
    }

    private static String link(Path link) throws IOException {
        return Files.readSymbolicLink(link).toString();
    }
}
