package jnvdocker.process;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Searches a mountinfo for mounts. The file may be as long as the kernel allows: of each line no
 * more than the device and the root is kept, and of those only the matching ones.
 */
final class MountScan {
    /** Fields are counted from 0; those after the root are skipped. */
    private static final int DEVICE = 2;

    private static final int ROOT = 3;

    private final Limits limits;
    private final Predicate<String> root;
    private final Set<MountedDirectory> found = new LinkedHashSet<>();
    private final ByteArrayOutputStream device = new ByteArrayOutputStream();
    private final ByteArrayOutputStream path = new ByteArrayOutputStream();
    private int field;
    private long bytes;

    /**
     * How much of a namespace is read.
     *
     * @param bytes of its mountinfo
     * @param found the number of matching mounts
     */
    record Limits(long bytes, int found) {
        /**
         * As many lines of usual length as the kernel allows a namespace (fs.mount-max), and more
         * claims than any container has.
         */
        static final Limits USUAL = new Limits(16L << 20, 1000);
    }

    MountScan(Limits limits, Predicate<String> root) {
        this.limits = limits;
        this.root = root;
    }

    /**
     * Reads a mountinfo.
     *
     * @return false when the limits do not allow reading all of it
     */
    boolean read(InputStream mountinfo) throws IOException {
        byte[] buffer = new byte[1 << 14];
        int count;
        while ((count = mountinfo.read(buffer)) >= 0) {
            bytes += count;
            for (int i = 0; i < count; i++) {
                take(buffer[i]);
            }
            if (bytes > limits.bytes() || found.size() > limits.found()) {
                return false;
            }
        }
        return true;
    }

    /** Returns the mounts with a matching root, as far as they were read. */
    Set<MountedDirectory> found() {
        return found;
    }

    /** Returns how many bytes were read. */
    long bytes() {
        return bytes;
    }

    private void take(byte character) {
        if (character == '\n') {
            endLine();
        } else if (character == ' ') {
            field++;
        } else if (field == DEVICE) {
            device.write(character);
        } else if (field == ROOT) {
            path.write(character);
        }
    }

    private void endLine() {
        if (field > ROOT) {
            String mounted = Mount.root(path.toString(StandardCharsets.UTF_8));
            if (root.test(mounted)) {
                found.add(
                        new MountedDirectory(device.toString(StandardCharsets.US_ASCII), mounted));
            }
        }
        field = 0;
        device.reset();
        path.reset();
    }
}
