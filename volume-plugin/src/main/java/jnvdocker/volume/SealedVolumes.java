package jnvdocker.volume;

import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.Errno;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.RegularFile;
import jnvdocker.process.Mount;
import jnvdocker.process.MountTable;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Driver volumes that nobody can write to, with whatever rights in a container: each is seen
 * through a file system of its own that is read-only as a whole, an overlay without an upper
 * directory. A read-only mount alone could be mounted writable again, and the files below may be
 * the host's own.
 *
 * <pre>
 * RUN/volumes/nvidia_driver/
 *     .empty/          an overlay has two directories below at least
 *     535.104.05/      where the volume of the loaded driver is mounted
 * </pre>
 *
 * They outlive the daemon: containers have them mounted, and the next daemon goes on with them.
 */
final class SealedVolumes {
    private static final Logger log = LoggerFactory.getLogger(SealedVolumes.class);

    static final String TYPE = "overlay";
    private static final String EMPTY = ".empty";

    /** Characters that the kernel splits the options of an overlay at, or writes otherwise. */
    private static final String PLAIN = "[A-Za-z0-9_./+@=-]+";

    /** Another file system may be mounted above ours. */
    private static final int MOST_AT_ONE_PLACE = 100;

    private final Path directory;
    private final Map<String, Sealed> known = new HashMap<>();

    /**
     * One that is mounted.
     *
     * @param device the file system's number, which no other has as long as it is mounted
     */
    record Sealed(Path point, long device, DirectoryStamp stamp) {}

    /**
     * @param directory need not exist yet
     */
    SealedVolumes(Path directory) {
        this.directory = directory.toAbsolutePath().normalize();
    }

    /** The source of a sealed volume in mountinfo. */
    static String source(Path volume) {
        return "jnvdocker:" + volume;
    }

    /**
     * Mounts a volume unless it is mounted already, and takes every other one's mount away: no
     * container is given a driver's files that is not loaded.
     *
     * @throws IOException when that cannot be done here, saying why
     */
    synchronized Sealed seal(DriverVolume volume) throws IOException {
        String version = volume.version().text();
        DirectoryStamp stamp = DirectoryStamp.of(volume.path());
        Sealed last = known.get(version);
        if (last != null && last.stamp().equals(stamp) && isThere(last, last.point())) {
            return last;
        }
        releaseOthers(volume.version());
        Path point = makeDirectories(version);
        if (!isMounted(volume, point)) {
            // A mount above the earlier one would reach containers that are its peers or slaves.
            release(version);
            mount(volume, point);
        }
        Sealed sealed = new Sealed(point, device(point), stamp);
        known.put(version, sealed);
        return sealed;
    }

    /** Whether a process finds a sealed volume where we do: it may have other mounts than we. */
    static boolean isSeenBy(int pid, Sealed sealed) {
        // The mount that it sees there, as the kernel follows the path for it.
        return isThere(sealed, Path.of("/proc/" + pid + "/root" + sealed.point()));
    }

    private static boolean isThere(Sealed sealed, Path path) {
        try {
            return device(path) == sealed.device();
        } catch (IOException e) {
            return false;
        }
    }

    /** The mount point of a driver's volume, as far as it is known without a check. */
    synchronized Optional<Path> point(DriverVersion version) {
        return Optional.ofNullable(known.get(version.text())).map(Sealed::point);
    }

    /** Takes all mounts away but that of one driver's volume; containers keep theirs. */
    synchronized void releaseOthers(DriverVersion kept) throws IOException {
        for (String name : DirectoryTree.names(directory)) {
            if (!name.equals(kept.text()) && !name.equals(EMPTY)) {
                release(name);
            }
        }
    }

    /** Takes the mount of a driver's volume away; containers keep theirs. */
    synchronized void release(DriverVersion version) throws IOException {
        release(version.text());
    }

    /** Takes every mount away, and the directories they were at; containers keep theirs. */
    synchronized void releaseAll() throws IOException {
        for (String name : DirectoryTree.names(directory)) {
            release(name);
        }
        Files.deleteIfExists(directory);
    }

    private void release(String name) throws IOException {
        known.remove(name);
        Path point = directory.resolve(name);
        for (int i = 0; Files.isDirectory(point) && i < MOST_AT_ONE_PLACE; i++) {
            try {
                Posix.unmount(point);
            } catch (PosixException e) {
                if (e.errno() != Errno.EINVAL) {
                    throw e;
                }
                Files.deleteIfExists(point);
            }
        }
    }

    private Path makeDirectories(String version) throws IOException {
        Files.createDirectories(directory.resolve(EMPTY));
        Path point = directory.resolve(version);
        Files.createDirectories(point);
        return point.toRealPath();
    }

    /** Whether the volume as it is now is mounted there, by us or by a daemon before us. */
    private boolean isMounted(DriverVolume volume, Path point) throws IOException {
        Optional<Mount> mount = MountTable.ofThisProcess().holding(point);
        if (mount.isEmpty() || !isOurs(mount.get(), volume, point)) {
            return false;
        }
        try {
            // Its directory may have been deleted and made again, and then this one is empty.
            DriverVolume.open(point, volume.version());
            return Arrays.equals(manifest(point), manifest(volume.path()));
        } catch (IOException e) {
            log.warn("{} is mounted again: {}", point, FileErrors.describe(e));
            return false;
        }
    }

    private boolean isOurs(Mount mount, DriverVolume volume, Path point) throws IOException {
        return mount.point().equals(point.toString())
                && mount.type().equals(TYPE)
                && mount.source().equals(source(volume.path()))
                && mount.fileSystemOptions().contains("ro")
                && mount.fileSystemOptions().contains(lower(volume))
                && mount.fileSystemOptions().stream().noneMatch(it -> it.startsWith("upperdir="));
    }

    private static byte[] manifest(Path volume) throws IOException {
        Path file = volume.resolve(Manifest.NAME);
        return RegularFile.readOwn(file, Manifest.MAX_SIZE)
                .orElseThrow(() -> new NoSuchFileException(file.toString()));
    }

    private void mount(DriverVolume volume, Path point) throws IOException {
        Path made = makeDirectories(volume.version().text());
        String lower = lower(volume);
        if (!volume.path().toString().matches(PLAIN) || !directory.toString().matches(PLAIN)) {
            throw new IOException(
                    "the path of %s or %s has characters that an overlay's options cannot have"
                            .formatted(volume.path(), directory));
        }
        long before = device(made);
        Posix.mountReadOnly(source(volume.path()), made, TYPE, lower);
        if (device(point) == before) {
            throw new IOException("the mount at " + point + " is not visible there");
        }
        log.info("{} is mounted at {}, read-only for everybody", volume.path(), point);
    }

    private String lower(DriverVolume volume) throws IOException {
        return "lowerdir=%s:%s"
                .formatted(volume.path().toRealPath(), directory.resolve(EMPTY).toRealPath());
    }

    private static long device(Path path) throws IOException {
        return (long) Files.getAttribute(path, "unix:dev");
    }
}
