package jnvdocker.host;

import jnvdocker.posix.Errno;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.ThreadCapabilities;
import jnvdocker.process.Credentials;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Makes missing device nodes as nvidia-modprobe would. */
final class MissingNodes {
    /** World-readable; access is controlled by the device cgroup alone. */
    private static final NodeParameters CAPABILITY = new NodeParameters(true, 0, 0, 0444);

    private static final int DIRECTORY = 0755;

    private static final Path USERS = Path.of("/proc/self/uid_map");

    private final Host host;

    MissingNodes(Host host) {
        this.host = host;
    }

    /**
     * Whether the driver's parameters and this daemon's rights allow that: in a container (LXC,
     * systemd-nspawn) root often may not make device nodes.
     */
    boolean mayMake() throws IOException {
        return NodeParameters.read(host).modifyDeviceFiles() && mayMknod();
    }

    /** A process of another user than root, as in tests, is not asked: the daemon is root's. */
    private static boolean mayMknod() throws IOException {
        return Posix.effectiveUser() != 0 || ThreadCapabilities.mayMknod() && isInHostsNamespace();
    }

    /** In another user namespace mknod(2) is denied; a kernel may have none. */
    private static boolean isInHostsNamespace() throws IOException {
        return Files.notExists(USERS) || Credentials.areAllUsers(KernelText.read(USERS));
    }

    /** Makes a node with the owner and mode that the driver's parameters say. */
    void make(Path path, int major, int minor) throws IOException {
        NodeParameters parameters = NodeParameters.read(host);
        if (!parameters.modifyDeviceFiles()) {
            throw new IOException(
                    path
                            + " is missing, and the driver's parameter ModifyDeviceFiles=0 says"
                            + " that the administrator makes device nodes: mknod "
                            + path
                            + " c "
                            + major
                            + " "
                            + minor);
        }
        make(path, parameters, major, minor);
    }

    /**
     * Makes the node of a capability; the driver's parameters do not concern its owner and mode.
     */
    void makeCapability(Path path, int major, int minor) throws IOException {
        Path directory = path.getParent();
        if (!Files.isDirectory(directory)) {
            Files.createDirectories(directory);
            Posix.chmod(directory, DIRECTORY);
        }
        make(path, CAPABILITY, major, minor);
    }

    private static void make(Path path, NodeParameters parameters, int major, int minor)
            throws IOException {
        try {
            Posix.mknod(path, parameters.mode(), major, minor);
        } catch (PosixException e) {
            if (e.errno() == Errno.EEXIST) {
                return;
            }
            throw new FailedException(
                    "cannot make the missing device node: " + e.getMessage(),
                    "make it by hand (mknod %s c %s %s) or with nvidia-modprobe"
                            .formatted(path, major, minor),
                    e);
        }
        Posix.chmod(path, parameters.mode());
        Posix.chown(path, parameters.uid(), parameters.gid());
    }
}
