package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.volume.CopyMethod;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.files.DriverVolumeException;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** Checks the file system of the registry and the driver volumes. */
final class StateCheck implements Check {
    private static final long LEAST_FREE = 1L << 30;

    /** Several times the size that the registry's log may reach between two checkpoints. */
    private static final long LEAST_TO_WORK = 32L << 20;

    private static final String ANOTHER = "another state directory (JNVDOCKER_STATE_DIR)";

    /** The file systems that the daemon itself refuses never get here. */
    private static final Set<String> OF_A_NETWORK =
            Set.of(
                    "nfs",
                    "nfs4",
                    "cifs",
                    "smb3",
                    "ceph",
                    "lustre",
                    "gpfs",
                    "beegfs",
                    "afs",
                    "ocfs2",
                    "gfs2",
                    "fuse.sshfs",
                    "fuse.glusterfs",
                    "fuse.ceph",
                    "fuse.ceph-fuse");

    private final Host host;
    private final DriverVolumeStore volumes;
    private final DaemonFacts daemon;

    StateCheck(Host host, DriverVolumeStore volumes, DaemonFacts daemon) {
        this.host = host;
        this.volumes = volumes;
        this.daemon = daemon;
    }

    @Override
    public String name() {
        return "state";
    }

    @Override
    public List<Finding> findings() throws IOException {
        List<Finding> found = new ArrayList<>();
        try {
            volumes.checkExecutable();
        } catch (DriverVolumeException e) {
            found.add(Finding.wrong(e));
        }
        FileStore store = Files.getFileStore(daemon.state());
        long free = store.getUsableSpace();
        if (!Files.isWritable(daemon.state())) {
            found.add(
                    Finding.wrong(
                            daemon.state() + " is mounted read-only, and no GPU can be given out",
                            "mount it writable, or choose " + ANOTHER));
        }
        network(daemon.state(), store.type()).ifPresent(found::add);
        space(daemon.state(), free, isCopied(store)).ifPresent(found::add);
        return found.isEmpty()
                ? List.of(
                        Finding.ok(
                                daemon.state()
                                        + " is on "
                                        + store.type()
                                        + " with "
                                        + gibibytes(free)
                                        + " free"))
                : found;
    }

    static Optional<Finding> network(Path state, String type) {
        return OF_A_NETWORK.contains(type)
                ? Optional.of(
                        Finding.wrong(
                                state
                                        + " is on a file system of several machines ("
                                        + type
                                        + "), where the registry's locks may not hold",
                                "choose " + ANOTHER + " on a local disk"))
                : Optional.empty();
    }

    /**
     * @param copied whether a driver volume takes room there, unlike hard links
     */
    static Optional<Finding> space(Path state, long free, boolean copied) {
        if (free >= LEAST_FREE) {
            return Optional.empty();
        }
        String what = state + " has " + gibibytes(free) + " free";
        String remedy = "free some space there, or choose " + ANOTHER;
        if (free < LEAST_TO_WORK) {
            return Optional.of(
                    Finding.wrong(what + ", and soon the registry cannot be written", remedy));
        }
        return Optional.of(
                copied
                        ? Finding.wrong(
                                what + ", and the next driver's volume has to be copied there",
                                remedy)
                        : Finding.hint(what + ", for the registry and its history", remedy));
    }

    private boolean isCopied(FileStore state) throws IOException {
        Optional<DriverVolume> volume = Optional.empty();
        try {
            volume = volumes.find(HostDriver.readVersion(host));
        } catch (NoDriverException e) {
            // The next driver's files will be where this one's were.
        }
        return volume.isPresent()
                ? volume.get().cloned().containsKey(CopyMethod.COPY)
                : !Files.getFileStore(host.resolve("/usr")).equals(state);
    }

    private static String gibibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", (double) bytes / (1L << 30));
    }
}
