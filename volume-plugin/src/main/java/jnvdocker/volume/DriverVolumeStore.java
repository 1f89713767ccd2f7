package jnvdocker.volume;

import jnvdocker.host.BootId;
import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.process.Mount;
import jnvdocker.process.MountTable;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.volume.files.MalformedFileException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The driver volumes on this machine. Several processes may use one directory. This class alone
 * changes its contents:
 *
 * <pre>
 * STATE/volumes/nvidia_driver/
 *     .lock                       held while the tree changes; never deleted
 *     .building-535.104.05-UUID/  not a volume yet, or the remains of a builder that was killed
 *     .removed-535.104.05-UUID/   not a volume any more
 *     .kept-535.104.05-BOOT-UUID/ what containers of this boot may still have of an earlier one
 *     535.104.05/                 a volume, since it has a valid
 *         manifest.json
 *         bin/nvidia-smi
 *         lib/                    32-bit libraries
 *         lib64/libcuda.so.535.104.05
 *         lib64/libcuda.so.1 -> libcuda.so.535.104.05
 *         share/                  if the driver has such: see GraphicsFiles
 *             vulkan/icd.d/nvidia_icd.json
 * </pre>
 *
 * A volume is built under another name, synced, and renamed: whatever is called by a version and
 * has a valid manifest is whole, after a kill or a power loss too.
 */
public final class DriverVolumeStore {
    private static final Logger log = LoggerFactory.getLogger(DriverVolumeStore.class);

    private static final String BUILDING = ".building-";
    private static final String REMOVED = ".removed-";
    private static final String KEPT = ".kept-";

    private record Known(DriverVolume volume, DirectoryStamp stamp) {}

    /** In the state directory. */
    public static final String DIRECTORY = "volumes";

    private final Path root;
    private final StoreLock lock;
    private final Set<CopyMethod> ways;
    private final Map<String, Known> known = new ConcurrentHashMap<>();
    private volatile boolean executable;

    /**
     * @param stateDirectory need not exist yet
     */
    public DriverVolumeStore(Path stateDirectory) {
        this(stateDirectory, EnumSet.allOf(CopyMethod.class));
    }

    /** A store that only brings in files in some of the ways, and by copy where they fail. */
    DriverVolumeStore(Path stateDirectory, Set<CopyMethod> ways) {
        this(stateDirectory, DriverVolume.KIND, ways);
    }

    /** A volume beside the usual one. */
    DriverVolumeStore(Path stateDirectory, String name, Set<CopyMethod> ways) {
        this.root = stateDirectory.toAbsolutePath().normalize().resolve(DIRECTORY).resolve(name);
        this.lock = new StoreLock(root.resolve(".lock"));
        this.ways = Set.copyOf(ways);
    }

    /**
     * The volume of a driver: the one that is there, else a new one of the host's files. A known
     * volume costs a few system calls.
     *
     * @throws DriverVolumeException when the host's driver is not that version or not whole, or the
     *     volume cannot be written; the message says what to do. Nothing is left behind
     */
    public DriverVolume build(Host host, DriverVersion version) throws IOException {
        if (!executable) {
            checkExecutable();
        }
        Optional<DriverVolume> there = find(version);
        if (there.isPresent()) {
            return there.get();
        }
        try {
            Files.createDirectories(root);
            return lock.holding(() -> buildLocked(host, version));
        } catch (IOException e) {
            throw DriverVolumeException.of("cannot make the driver volume", root, e);
        }
    }

    /**
     * Makes the volume of a driver again if the host has got more files of that driver since.
     * Containers keep the files of the volume that they have: these are deleted after the next
     * boot.
     *
     * @return whether there is another volume now
     */
    boolean renew(Host host, DriverVersion version) throws IOException {
        Optional<DriverVolume> there = find(version);
        if (there.isEmpty() || !there.get().isOutdated(host)) {
            return false;
        }
        return lock.holding(() -> {
            sweep(host);
            Optional<DriverVolume> now = open(version);
            if (now.isEmpty() || !now.get().isOutdated(host)) {
                return false;
            }
            log.info("the host has got more files of driver {}", version);
            make(host, version, KEPT + version + "-" + BootId.read(host) + "-");
            return true;
        });
    }

    /** Deletes what only containers of an earlier boot can have had. */
    void sweepEarlier(Host host) throws IOException {
        if (hasKept("")) {
            lock.holding(() -> {
                sweep(host);
                return null;
            });
        }
    }

    private boolean hasKept(String version) throws IOException {
        return DirectoryTree.names(root).stream().anyMatch(it -> it.startsWith(KEPT + version));
    }

    /** The volume of a driver, if there is one and it is whole. */
    public Optional<DriverVolume> find(DriverVersion version) {
        Optional<DriverVolume> there = remembered(version);
        return there.isPresent() ? there : open(version);
    }

    /** Every whole volume, oldest driver first. */
    public List<DriverVolume> list() throws IOException {
        return versions().stream().map(this::find).flatMap(Optional::stream).toList();
    }

    /** The drivers that there is a directory of, with a whole volume in it or not; oldest first. */
    public List<DriverVersion> versions() throws IOException {
        List<DriverVersion> versions = new ArrayList<>();
        for (String name : DirectoryTree.names(root)) {
            version(name).ifPresent(versions::add);
        }
        return versions.stream().sorted().toList();
    }

    /**
     * Deletes a volume, whole or not. Containers that still have it lose its files: the caller has
     * made sure that there are none.
     *
     * @return whether there was one
     */
    public boolean remove(DriverVersion version) throws IOException {
        if (!Files.exists(path(version), LinkOption.NOFOLLOW_LINKS) && !hasKept(version + "-")) {
            return false;
        }
        try {
            return lock.holding(() -> {
                boolean was = discard(version, REMOVED + version + "-");
                for (String name : DirectoryTree.names(root)) {
                    if (name.startsWith(KEPT + version + "-")) {
                        DirectoryTree.delete(root.resolve(name));
                    }
                }
                sweep();
                return was;
            });
        } catch (IOException e) {
            throw DriverVolumeException.of("cannot remove the driver volume", path(version), e);
        }
    }

    /**
     * Makes the directory of the volumes and checks that programs can run from it.
     *
     * @throws DriverVolumeException when it cannot be made, or is on a mount with {@code noexec}
     */
    public void checkExecutable() throws IOException {
        try {
            Files.createDirectories(root);
            Mount mount = mountOf(root.toRealPath());
            if (mount.forbidsExecution()) {
                throw new DriverVolumeException(
                        "no library can be loaded from %s: %s is mounted noexec"
                                .formatted(root, mount.point()),
                        "run mount -o remount,exec "
                                + mount.point()
                                + " or choose another state directory (JNVDOCKER_STATE_DIR)");
            }
            executable = true;
        } catch (IOException e) {
            throw DriverVolumeException.of("cannot make the directory of driver volumes", root, e);
        }
    }

    private static Mount mountOf(Path directory) throws IOException {
        return MountTable.ofThisProcess()
                .holding(directory)
                .orElseThrow(() -> new MalformedFileException("no mount holds " + directory));
    }

    private Optional<DriverVolume> remembered(DriverVersion version) {
        Known last = known.get(version.text());
        if (last == null) {
            return Optional.empty();
        }
        try {
            if (last.stamp().equals(DirectoryStamp.of(last.volume().path()))) {
                return Optional.of(last.volume());
            }
        } catch (IOException e) {
            log.debug("driver volume {}: {}", version, e.toString());
        }
        known.remove(version.text(), last);
        return Optional.empty();
    }

    private Optional<DriverVolume> open(DriverVersion version) {
        Path directory = path(version);
        try {
            DirectoryStamp stamp = DirectoryStamp.of(directory);
            DriverVolume volume = DriverVolume.open(directory, version);
            if (stamp.isReliableAt(Instant.now())) {
                known.put(version.text(), new Known(volume, stamp));
            }
            return Optional.of(volume);
        } catch (NoSuchFileException e) {
            return Optional.empty();
        } catch (IOException e) {
            log.warn("{} is an incomplete driver volume: {}", directory, e.getMessage());
            return Optional.empty();
        }
    }

    private DriverVolume buildLocked(Host host, DriverVersion version) throws IOException {
        sweep(host);
        Optional<DriverVolume> there = open(version);
        return there.isPresent() ? there.get() : make(host, version, REMOVED + version + "-");
    }

    /**
     * @param name the beginning of the name that what is there gets
     */
    private DriverVolume make(Host host, DriverVersion version, String name) throws IOException {
        DriverFiles files = DriverFiles.find(host, version);
        Path directory = root.resolve(BUILDING + version + "-" + UUID.randomUUID());
        Manifest manifest;
        try {
            new VolumeBuilder(host, new FileCloner(ways)).build(files, directory);
            manifest = checked(directory, version);
            discard(version, name);
            Files.move(directory, path(version), StandardCopyOption.ATOMIC_MOVE);
            VolumeBuilder.sync(root);
        } catch (IOException | RuntimeException e) {
            DirectoryTree.deleteQuietly(directory);
            throw e;
        }
        sweep();
        DriverVolume volume = new DriverVolume(version, path(version), manifest);
        log.info(
                "driver volume {}: {} files, {} bytes, {}",
                volume.path(),
                manifest.contents().size(),
                volume.bytes(),
                volume.cloned());
        return volume;
    }

    /**
     * Returns the manifest of a new volume. An installer at work changes files after we have found
     * them and before we link them.
     */
    private static Manifest checked(Path directory, DriverVersion version) throws IOException {
        try {
            return DriverVolume.open(directory, version).manifest();
        } catch (MalformedFileException e) {
            throw new DriverVolumeException(
                    "the files of driver %s changed while its volume was made (%s)"
                            .formatted(version, e.getMessage()),
                    "try again when its installation has ended");
        }
    }

    /** Moves a directory away from the place of a volume. The next sweep deletes its files. */
    private boolean discard(DriverVersion version, String name) throws IOException {
        known.remove(version.text());
        try {
            Path removed = root.resolve(name + UUID.randomUUID());
            Files.move(path(version), removed, StandardCopyOption.ATOMIC_MOVE);
            return true;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    /** Deletes also what only containers of an earlier boot can have had. */
    private void sweep(Host host) throws IOException {
        sweep();
        String boot = "-" + BootId.read(host) + "-";
        for (String name : DirectoryTree.names(root)) {
            if (name.startsWith(KEPT) && !name.contains(boot)) {
                DirectoryTree.delete(root.resolve(name));
            }
        }
    }

    /** While this process holds the lock, no other works in these directories. */
    private void sweep() throws IOException {
        for (String name : DirectoryTree.names(root)) {
            if (name.startsWith(BUILDING) || name.startsWith(REMOVED)) {
                DirectoryTree.delete(root.resolve(name));
            }
        }
    }

    /** The directory that has all volumes. */
    public Path root() {
        return root;
    }

    /** The path of a driver's volume, which may be missing. */
    public Path path(DriverVersion version) {
        return root.resolve(version.text());
    }

    private static Optional<DriverVersion> version(String name) {
        try {
            return Optional.of(DriverVersion.parse(name));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
