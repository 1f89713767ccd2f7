package jnvdocker.volume;

import jnvdocker.posix.Posix;
import jnvdocker.volume.files.DriverVolumeException;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Brings files of the host into a directory: by hard link, else by reflink, else by copy, each file
 * by itself. What can only be copied is copied at the end, when it is known how much there is.
 *
 * <p>A link that is refused is never an error, whatever the reason: another file system (EXDEV),
 * {@code fs.protected_hardlinks} (EPERM), too many links (EMLINK), or a file system without links.
 * If the reason prevents a copy too, the copy reports it.
 */
final class FileCloner {
    private static final int OWNER_READS = 0400;
    private static final Set<PosixFilePermission> READ =
            PosixFilePermissions.fromString("r--r--r--");
    private static final Set<PosixFilePermission> WRITE =
            PosixFilePermissions.fromString("-w--w--w-");

    private final Map<CopyMethod, Cloner> cloners = new EnumMap<>(CopyMethod.class);
    private final SortedMap<Path, CopyMethod> done = new TreeMap<>();
    private final List<Job> jobs = new ArrayList<>();

    private interface Cloner {
        void clone(Job job) throws IOException;
    }

    private record Job(Path from, Path to, long size) {}

    /**
     * @param ways those to try, in the order of {@link CopyMethod}; a copy is always the last
     */
    FileCloner(Set<CopyMethod> ways) {
        if (ways.contains(CopyMethod.LINK)) {
            cloners.put(CopyMethod.LINK, job -> Files.createLink(job.to(), job.from()));
        }
        if (ways.contains(CopyMethod.REFLINK)) {
            cloners.put(CopyMethod.REFLINK, FileCloner::reflink);
        }
    }

    /** Links a file now, or plans its copy. */
    void add(Path from, Path to, long size) {
        Job job = new Job(from, to, size);
        for (Map.Entry<CopyMethod, Cloner> way : cloners.entrySet()) {
            try {
                way.getValue().clone(job);
                done.put(to, way.getKey());
                return;
            } catch (IOException e) {
                // The next way.
            }
        }
        jobs.add(job);
    }

    /**
     * Makes the copies that are planned and waits until they are on disk.
     *
     * @throws DriverVolumeException before anything is copied when the room does not suffice
     */
    void copy(Path directory) throws IOException {
        long wanted = jobs.stream().mapToLong(Job::size).sum();
        long free = Files.getFileStore(directory).getUsableSpace();
        if (wanted > free) {
            throw new DriverVolumeException(
                    "a driver volume in %s takes %s bytes, only %s are free"
                            .formatted(directory.getParent(), wanted, free),
                    "free some space there, or choose a state directory on the file system of the"
                            + " driver's files (JNVDOCKER_STATE_DIR)");
        }
        for (Job job : jobs) {
            try {
                copy(job);
            } catch (IOException e) {
                throw DriverVolumeException.of("cannot copy " + job.from() + " to", job.to(), e);
            }
            done.put(job.to(), CopyMethod.COPY);
        }
        jobs.clear();
    }

    /** How a file came in. */
    CopyMethod way(Path to) {
        return done.get(to);
    }

    private static void reflink(Job job) throws IOException {
        Posix.reflink(job.from(), job.to(), OWNER_READS);
        Files.setPosixFilePermissions(job.to(), permissions(job.from()));
    }

    private static void copy(Job job) throws IOException {
        try (FileChannel from = FileChannel.open(job.from(), StandardOpenOption.READ);
                FileChannel to =
                        FileChannel.open(
                                job.to(),
                                StandardOpenOption.CREATE_NEW,
                                StandardOpenOption.WRITE)) {
            long at = 0;
            while (at < job.size()) {
                long count = from.transferTo(at, job.size() - at, to);
                if (count <= 0) {
                    throw new IOException("it became shorter while it was copied");
                }
                at += count;
            }
            Files.setPosixFilePermissions(job.to(), permissions(job.from()));
            to.force(true);
        }
    }

    /** Readable by all, writable by none, executable as before. Never applied to a linked file. */
    private static Set<PosixFilePermission> permissions(Path from) throws IOException {
        Set<PosixFilePermission> permissions =
                EnumSet.copyOf(Files.getPosixFilePermissions(from, LinkOption.NOFOLLOW_LINKS));
        permissions.removeAll(WRITE);
        permissions.addAll(READ);
        return permissions;
    }
}
