package jnvdocker.host;

import jnvdocker.posix.Posix;
import jnvdocker.process.Credentials;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The users of a host's driver, and the processes that may use it, as far as the kernel reports
 * them.
 */
public final class DriverUse {
    private static final int READ = 4;
    private static final int NAMED_USER = 2;
    private static final int NAMED_GROUP = 8;
    private static final int ACCESS_ENTRY = 8;
    private static final int BITS_OF_GROUP = 3;
    private static final int BITS_OF_OWNER = 6;

    private final Host host;

    public DriverUse(Host host) {
        this.host = host;
    }

    /**
     * Whether no process has a node of the driver open: every open file counts as a use of its
     * module, and so does each module that needs it. More uses than such modules prove nothing. The
     * graphics nodes are of a module of their own.
     */
    public boolean isUnused() {
        try {
            Path graphics = host.resolve("/sys/module/nvidia_drm");
            return isUnused(host.resolve("/sys/module/nvidia"))
                    && (Files.notExists(graphics) || isUnused(graphics));
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isUnused(Path module) throws IOException {
        Set<String> before = holders(module);
        String uses = KernelText.read(module.resolve("refcnt")).strip();
        // The count may include modules that were loaded in between.
        return uses.equals(String.valueOf(before.size())) && holders(module).equals(before);
    }

    private static Set<String> holders(Path module) throws IOException {
        try (var entries = Files.newDirectoryStream(module.resolve("holders"))) {
            Set<String> names = new HashSet<>();
            entries.forEach(entry -> names.add(entry.getFileName().toString()));
            return names;
        }
    }

    /** Whether an access list lets a process read by its user or a group; a mask is left out. */
    private static boolean isNamed(Credentials process, ByteBuffer list) {
        list.order(ByteOrder.LITTLE_ENDIAN);
        if (list.hasRemaining()) {
            list.getInt(); // Its version: there is one.
        }
        while (list.remaining() >= ACCESS_ENTRY) {
            int tag = list.getShort();
            boolean reads = (list.getShort() & READ) != 0;
            int id = list.getInt();
            boolean its =
                    tag == NAMED_USER && id == process.uid()
                            || tag == NAMED_GROUP && process.groups().contains(id);
            if (its && reads) {
                return true;
            }
        }
        return false;
    }

    /** Whether a process may open the node of a GPU; true as well if that is unknown. */
    public boolean mayOpen(Gpu gpu, Credentials process) {
        try {
            return mayOpen(host.resolve(DeviceNodes.nameOf(gpu)), process);
        } catch (IOException e) {
            return true;
        }
    }

    /** Whether a process may open a graphics node of a GPU; true as well if that is unknown. */
    public boolean mayOpenGraphics(Gpu gpu, Credentials process) {
        try {
            return DrmNodes.of(host, List.of(gpu)).stream()
                    .anyMatch(node -> mayOpen(node.hostPath(), process));
        } catch (IOException e) {
            return true;
        }
    }

    private static boolean mayOpen(Path path, Credentials process) {
        if (process.uid() == 0 || process.readsAll()) {
            return true;
        }
        try {
            Map<String, Object> node = Files.readAttributes(path, "unix:mode,uid,gid");
            if (isNamed(process, ByteBuffer.wrap(Posix.accessList(path)))) {
                return true;
            }
            int mode = (int) node.get("mode");
            if (process.uid() == (int) node.get("uid")) {
                return (mode >> BITS_OF_OWNER & READ) != 0;
            }
            int shift = process.groups().contains((int) node.get("gid")) ? BITS_OF_GROUP : 0;
            return (mode >> shift & READ) != 0;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            return true;
        }
    }
}
