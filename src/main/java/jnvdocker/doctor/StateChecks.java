package jnvdocker.doctor;

import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.registry.RegistryException;
import jnvdocker.volume.CopyMethod;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.files.DriverVolumeException;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;

/** Checks the data of this daemon on disk. */
final class StateChecks {
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

    /** The file itself; parts of it with longer names may lie beside it. */
    private static final String DAMAGED = "registry.db.damaged-*Z";

    private final Doctor.Surroundings around;

    StateChecks(Doctor.Surroundings around) {
        this.around = around;
    }

    /** The file system of the registry and the driver volumes. */
    void state(Findings found) throws IOException {
        Path directory = around.daemon().state();
        try {
            around.volumes().checkExecutable();
        } catch (DriverVolumeException e) {
            found.wrong(e);
        }
        FileStore store = Files.getFileStore(directory);
        long free = store.getUsableSpace();
        if (!Files.isWritable(directory)) {
            found.wrong(
                    directory + " is mounted read-only, and no GPU can be given out",
                    "mount it writable, or choose " + ANOTHER);
        }
        network(directory, store.type(), found);
        space(directory, free, isCopied(store), found);
        found.okIfNothingElse(
                directory + " is on " + store.type() + " with " + gibibytes(free) + " free");
    }

    static void network(Path state, String type, Findings found) {
        if (OF_A_NETWORK.contains(type)) {
            found.wrong(
                    state
                            + " is on a file system of several machines ("
                            + type
                            + "), where the registry's locks may not hold",
                    "choose " + ANOTHER + " on a local disk");
        }
    }

    /**
     * @param copied whether a driver volume takes room there, unlike hard links
     */
    static void space(Path state, long free, boolean copied, Findings found) {
        String what = state + " has " + gibibytes(free) + " free";
        String remedy = "free some space there, or choose " + ANOTHER;
        if (free < LEAST_TO_WORK) {
            found.wrong(what + ", and soon the registry cannot be written", remedy);
        } else if (free < LEAST_FREE && copied) {
            found.wrong(what + ", and the next driver's volume has to be copied there", remedy);
        } else if (free < LEAST_FREE) {
            found.hint(what + ", for the registry and its history", remedy);
        }
    }

    private boolean isCopied(FileStore state) throws IOException {
        Optional<DriverVolume> volume = Optional.empty();
        try {
            volume = around.volumes().find(HostDriver.readVersion(around.host()));
        } catch (NoDriverException e) {
            // The next driver's files will be where this one's were.
        }
        return volume.isPresent()
                ? volume.get().cloned().containsKey(CopyMethod.COPY)
                : !Files.getFileStore(around.host().resolve("/usr")).equals(state);
    }

    private static String gibibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", (double) bytes / (1L << 30));
    }

    /** The registry, and remains of a damaged one. */
    void registry(Findings found) throws IOException {
        int live;
        try {
            around.registry().examine();
            live = around.leases().live().size();
        } catch (RegistryException e) {
            found.wrong(e);
            return;
        }
        found.ok("it can be read, and has " + (live == 1 ? "1 live lease" : live + " live leases"));
        lost(found);
        try (var files = Files.newDirectoryStream(around.daemon().state(), DAMAGED)) {
            for (Path file : files) {
                found.hint(
                        "the registry was damaged, and rebuilt from what the containers"
                                + " say; the history before that is in "
                                + file,
                        "check that disk's health, and rm " + file + "*");
            }
        }
    }

    /** A registry that was not there when the daemon started, though GPUs were held. */
    private void lost(Findings found) throws IOException {
        long known = around.leases().decisions().counts().now().recovered();
        int unknown =
                GpuChecks.lost(around.leases().status(HostDriver.gpusIfAny(around.host()))).size();
        if (around.leases().isRegistryNew() && known + unknown > 0) {
            StringJoiner holders = new StringJoiner(", and ");
            if (known > 0) {
                holders.add((known == 1 ? "1 lease is" : known + " leases are") + " known again");
            }
            if (unknown > 0) {
                holders.add((unknown == 1 ? "1 holder has" : unknown + " holders have") + " none");
            }
            found.hint(
                    "the registry was lost while GPUs were held: "
                            + holders
                            + "; history, bookings, cordons by command and time limits are lost",
                    "cordon and book again"
                            + (unknown == 0
                                    ? ""
                                    : ", and end the holders that check others names"));
        }
    }
}
