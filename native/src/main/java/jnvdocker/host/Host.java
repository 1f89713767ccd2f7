package jnvdocker.host;

import java.io.IOException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * The place of {@code /}: every fact about the host is read beneath this directory, and symbolic
 * links are resolved beneath it too, as chroot would. An absolute link in a driver root points
 * inside that root, and no link leads out of it.
 */
public final class Host {
    /** The maximum number of links that the kernel follows in one path. */
    private static final int MAX_LINKS = 40;

    private final Path root;
    private final MigMemory mig = new MigMemory();
    private volatile List<String> driverDirectories = List.of();

    private Host(Path root) {
        this.root = root;
    }

    /**
     * @param root an absolute path of an existing directory; {@code /} is this machine
     * @throws IOException when it does not exist
     */
    public static Host at(Path root) throws IOException {
        return new Host(root.toRealPath());
    }

    /** Returns the directory that counts as {@code /}, with all links resolved. */
    public Path root() {
        return root;
    }

    /** Returns what was last reported of its GPUs' MIG mode, which is not in its files. */
    public MigMemory mig() {
        return mig;
    }

    /** Says where the administrator has the driver's libraries, besides the usual places. */
    public void setDriverDirectories(List<String> directories) {
        driverDirectories = List.copyOf(directories);
    }

    public List<String> driverDirectories() {
        return driverDirectories;
    }

    /** Whether {@code /} is this machine's own. */
    public boolean isThisMachine() {
        return root.getNameCount() == 0;
    }

    /**
     * Returns the place of a host's path on this machine. Links are resolved beneath the root,
     * including that of the last name. A name that does not exist stays as it is, so the result
     * need not exist.
     *
     * @param path as spelled on the host, with or without the leading slash
     * @throws FileSystemLoopException when links form a loop
     */
    public Path resolve(String path) throws IOException {
        return resolve(path, true);
    }

    /** Like {@link #resolve}, but does not follow a link in the last name. */
    public Path resolveParent(String path) throws IOException {
        return resolve(path, false);
    }

    /**
     * Returns the host's spelling of a path that {@link #resolve} returned: {@code /dev/nvidia0}.
     */
    public String spell(Path path) {
        if (!path.startsWith(root)) {
            throw new IllegalArgumentException(path + " is not beneath " + root);
        }
        return "/" + root.relativize(path);
    }

    private Path resolve(String path, boolean followLast) throws IOException {
        Deque<String> pending = new ArrayDeque<>();
        push(pending, path);
        Path at = root;
        int links = 0;
        while (!pending.isEmpty()) {
            String name = pending.pop();
            if (name.isEmpty() || name.equals(".")) {
                continue;
            }
            if (name.equals("..")) {
                at = at.equals(root) ? root : at.getParent();
                continue;
            }
            Path next = at.resolve(name);
            if (!Files.isSymbolicLink(next) || (pending.isEmpty() && !followLast)) {
                at = next;
                continue;
            }
            if (++links > MAX_LINKS) {
                throw new FileSystemLoopException(
                        root.resolve(path.replaceFirst("^/+", "")).toString());
            }
            String target = Files.readSymbolicLink(next).toString();
            if (target.startsWith("/")) {
                at = root;
            }
            push(pending, target);
        }
        return at;
    }

    private static void push(Deque<String> pending, String path) {
        String[] names = path.split("/");
        for (int i = names.length - 1; i >= 0; i--) {
            pending.push(names[i]);
        }
    }
}
