package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.MountTable;
import jnvdocker.process.MountedDirectory;
import jnvdocker.process.Processes;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * The driver volumes as containers get them, so that nothing that is written in one reaches the
 * host's files: the volume as {@link SealedVolumes} mounts it, or, where the engine does not see
 * that, the volume itself if nothing in it is a hard link, else a copy.
 */
public final class ServedVolumes {
    /** Its type, as mountinfo shows it. */
    public static final String FILE_SYSTEM = SealedVolumes.TYPE;

    /** The advice for a volume that is not as the host has its driver. */
    public static final String REMAKE = "make it again: jnvdocker gpu volume --remake";

    private static final Logger log = LoggerFactory.getLogger(ServedVolumes.class);

    private final DriverVolumeStore store;
    private final DriverVolumeStore copies;
    private final SealedVolumes sealed;
    private final Map<DriverVersion, Served> last = new ConcurrentHashMap<>();

    /** The places that the volumes' files are from, at the last look and the last renewal. */
    private final Map<DriverVersion, DirectoryStamp> seen = new ConcurrentHashMap<>();

    private final Map<DriverVersion, DirectoryStamp> renewed = new ConcurrentHashMap<>();

    /**
     * A directory for containers.
     *
     * @param copied why it is not mounted read-only; empty when it is
     */
    public record Served(Path path, Optional<Refusal> copied) {}

    /**
     * @param stateDirectory the store's
     * @param runDirectory where to mount them
     */
    public ServedVolumes(DriverVolumeStore store, Path stateDirectory, Path runDirectory) {
        this.store = store;
        this.copies =
                new DriverVolumeStore(
                        stateDirectory,
                        DriverVolume.KIND + "_copy",
                        EnumSet.of(CopyMethod.REFLINK));
        this.sealed = new SealedVolumes(runDirectory.resolve("volumes").resolve(DriverVolume.KIND));
    }

    /**
     * The directory for a container.
     *
     * @param viewer the pid of the process that mounts it there: what it sees decides
     * @throws DriverVolumeException when there is none and none can be made
     */
    public Served serve(Host host, DriverVersion version, int viewer) throws IOException {
        DriverVolume volume = store.build(host, version);
        Optional<Refusal> fault = faultFor(viewer, volume);
        Served served =
                fault.isEmpty()
                        ? new Served(sealed.point(version).orElseThrow(), fault)
                        : new Served(copy(host, volume).path(), fault);
        Served before = last.put(version, served);
        if (fault.isPresent() && !served.equals(before)) {
            log.warn(
                    "containers get {}, which is writable: {}",
                    served.path(),
                    fault.get().message());
        }
        return served;
    }

    /** The volume that is served. */
    public DriverVolume volume(Host host, DriverVersion version) throws IOException {
        return store.build(host, version);
    }

    /**
     * Makes the volume of a driver again, and its copy, if the host has got more files of that
     * driver since; containers keep what they have. To be called every few seconds: where something
     * has changed since the last call, an installer may be at work.
     *
     * @throws IOException when that fails; the volume stays as it is, and the next call tries again
     */
    public void renew(Host host, DriverVersion version) throws IOException {
        Optional<DriverVolume> there = store.find(version);
        if (there.isEmpty()) {
            return;
        }
        DirectoryStamp now = DirectoryStamp.ofSources(host, there.get().manifest());
        if (!now.equals(seen.put(version, now)) || now.equals(renewed.get(version))) {
            return;
        }
        boolean another = store.renew(host, version);
        another |= copies.find(version).isPresent() && copies.renew(host, version);
        renewed.put(version, now);
        if (another) {
            prepare(host, version);
        }
    }

    /** Deletes what only containers of an earlier boot can have had. */
    public void sweepEarlier(Host host) throws IOException {
        store.sweepEarlier(host);
        copies.sweepEarlier(host);
    }

    /** Mounts what containers will want, or makes the copy that they get where that cannot be. */
    public void prepare(Host host, DriverVersion version) throws IOException {
        DriverVolume volume = store.build(host, version);
        Optional<Refusal> fault = fault(volume);
        if (fault.isPresent()) {
            last.put(version, new Served(copy(host, volume).path(), fault));
        }
    }

    private Optional<Refusal> faultFor(int viewer, DriverVolume volume) {
        try {
            SealedVolumes.Sealed mounted = sealed.seal(volume);
            return SealedVolumes.isSeenBy(viewer, mounted)
                    ? Optional.empty()
                    : Optional.of(
                            new Refusal(
                                    "process "
                                            + viewer
                                            + ", which starts them, does not see "
                                            + mounted.point()
                                            + ", since it or jnvdockerd has mounts of its own",
                                    "start both by systemd, without PrivateMounts= and the like"));
        } catch (IOException e) {
            return Optional.of(unmountable(e));
        }
    }

    private Optional<Refusal> fault(DriverVolume volume) {
        try {
            sealed.seal(volume);
            return Optional.empty();
        } catch (IOException e) {
            return Optional.of(unmountable(e));
        }
    }

    private static Refusal unmountable(IOException e) {
        return new Refusal(
                "it cannot be mounted read-only (" + FileErrors.describe(e) + ")",
                "load the kernel module overlay, and have jnvdockerd run as root of the host");
    }

    /** The volume itself, or a copy for containers alone if its files are the host's own. */
    private DriverVolume copy(Host host, DriverVolume volume) throws IOException {
        return volume.cloned().containsKey(CopyMethod.LINK)
                ? copies.build(host, volume.version())
                : volume;
    }

    /**
     * The volume that a container was given last, or would get once {@link #prepare} has mounted
     * it.
     */
    public Served known(DriverVolume volume) {
        Served served = last.get(volume.version());
        return served != null
                ? served
                : new Served(
                        sealed.point(volume.version()).orElse(volume.path()), Optional.empty());
    }

    /**
     * Deletes the volume of a driver and its mount for containers. Those that still have it lose
     * its files: the caller has made sure that there are none.
     */
    public void remove(DriverVersion version) throws IOException {
        last.remove(version);
        renewed.remove(version);
        sealed.release(version);
        copies.remove(version);
        store.remove(version);
    }

    /** Takes away the mounts of other drivers than the loaded one, as far as they are ours. */
    public void releaseOthers(DriverVersion loaded) throws IOException {
        sealed.releaseOthers(loaded);
    }

    /** Takes every mount away. */
    public void releaseAll() throws IOException {
        last.clear();
        sealed.releaseAll();
    }

    /** The drivers that there is a directory of, of the volume or of its copy; oldest first. */
    public List<DriverVersion> versions() throws IOException {
        return Stream.concat(store.versions().stream(), copies.versions().stream())
                .distinct()
                .sorted()
                .toList();
    }

    /**
     * The space that a disk gets back when the volume of a driver is removed, its copy included.
     */
    public long freedBytes(DriverVersion version) throws IOException {
        return FreedBytes.of(store.path(version)) + FreedBytes.of(copies.path(version));
    }

    /** Verifies the volume ({@link DriverVolume#verify}), and its copy, if there is one. */
    public List<String> verify(Host host, DriverVolume volume) throws IOException {
        List<String> problems = new ArrayList<>(volume.verify(host));
        Optional<DriverVolume> copy = copies.find(volume.version());
        if (copy.isPresent()) {
            problems.addAll(copy.get().verify(host));
        }
        return problems;
    }

    /**
     * The directories that have a directory for each driver, of which containers may have been
     * given.
     */
    public List<Path> directories() {
        return List.of(store.root(), copies.root());
    }

    /** Whether a process has been given the files of a driver, as what it has mounted says. */
    public boolean isGiven(ProcessId process, Processes processes) {
        List<MountedDirectory> above = spell(directories(), processes);
        return seesSealed(process)
                || processes
                        .mounts(
                                process,
                                path -> above.stream().anyMatch(it -> path.startsWith(it.path())))
                        .stream()
                        .anyMatch(mount -> above.stream().anyMatch(it -> it.holds(mount)));
    }

    /** Whether a process sees a sealed volume, as it is now or as it was before a renewal. */
    private boolean seesSealed(ProcessId process) {
        String source = source();
        try {
            return MountTable.has(
                    process, it -> it.type().equals(FILE_SYSTEM) && it.source().startsWith(source));
        } catch (IOException e) {
            return false; // it has ended
        }
    }

    private static List<MountedDirectory> spell(List<Path> directories, Processes processes) {
        return directories.stream()
                .flatMap(directory -> processes.spell(directory).stream())
                .toList();
    }

    /** The source of a sealed volume in mountinfo, without the version at its end. */
    public String source() {
        return SealedVolumes.source(store.root()) + "/";
    }
}
