package jnvdocker.upkeep;

import jnvdocker.claim.ClaimPrune;
import jnvdocker.claim.Pruned;
import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.holder.ContainerEngine.Listed;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.MountSources;
import jnvdocker.process.Processes;
import jnvdocker.volume.CopyMethod;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Removes volumes that are no longer needed: those of drivers that are not loaded, and those of
 * claims for containers that are gone.
 *
 * <p>The engine lists the containers that need a volume. A container may be made between that list
 * and a removal, so each volume is first removed through the engine, which refuses if a container
 * names it by then. A container that is made after that loses nothing: a volume of an older driver
 * is served from the loaded driver's directory whether it has its own or not, and a volume of a
 * newer driver than the loaded one is refused at every start. A claim is held by a lease as long as
 * its container is being made.
 */
public final class Prune {
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final DockerEngine engine;
    private final Host host;
    private final DriverVolumeStore store;
    private final ServedVolumes served;
    private final DriverVolumes drivers;
    private final ClaimPrune claims;
    private final Leases leases;
    private final Processes processes;
    private final MountSources sources = MountSources.ofThisMachine();
    private final String pluginName;

    public Prune(
            DockerEngine engine,
            GpuHost gpuHost,
            DriverVolumes drivers,
            ClaimPrune claims,
            Leases leases,
            Processes processes,
            String pluginName) {
        this.engine = engine;
        this.host = gpuHost.host();
        this.store = gpuHost.store();
        this.served = gpuHost.served();
        this.drivers = drivers;
        this.claims = claims;
        this.leases = leases;
        this.processes = processes;
        this.pluginName = pluginName;
    }

    /**
     * Prunes, and returns the removed and the kept volumes: the drivers' volumes, then the claims'.
     *
     * @param dry whether only to report what would be removed
     * @param otherEngines whether to remove claims of engines other than the daemon's, too
     * @throws RefusedException naming the obstacle, and the volumes that were removed before it;
     *     none is removed if the engine does not answer
     */
    public synchronized List<Pruned> run(boolean dry, boolean otherEngines)
            throws RefusedException {
        List<Pruned> done = new ArrayList<>();
        try {
            ClaimPrune.Wish wish = new ClaimPrune.Wish(users(), dry, otherEngines);
            drivers(wish, done);
            claims.run(wish, done);
            return done;
        } catch (IOException e) {
            throw new RefusedException(FileErrors.refusal(e).followedBy(before(done, dry)));
        }
    }

    /**
     * Removes the loaded driver's volume, so that it is made again.
     *
     * @throws RefusedException while a container may have it, or when the host has that driver's
     *     files no longer: the volume stays as it is
     */
    public synchronized void forRemake(DriverVersion loaded) throws RefusedException, IOException {
        DriverFiles.find(host, loaded);
        leases.grants().stop();
        try {
            refuseUsers();
            drivers.remove(DriverVolume.name(loaded));
        } finally {
            leases.grants().resume();
        }
    }

    private void refuseUsers() throws RefusedException, IOException {
        List<Lease> held = leases.inUse();
        List<String> users = new ArrayList<>(held.stream().map(LeaseText::holder).toList());
        if (Files.exists(engine.socket())) {
            engine.objects().withVolumesOf(pluginName, LIMIT).stream()
                    .filter(Listed::isActive)
                    .filter(it ->
                            held.stream().noneMatch(lease -> lease.claim().isOfContainer(it.id())))
                    .map(container -> "container " + Quote.shown(container.name()))
                    .forEach(users::add);
        }
        if (!users.isEmpty()) {
            throw new RefusedException(
                    "the driver volume is in use by " + String.join(", ", users),
                    "try again when they have ended");
        }
    }

    /** Returns the names of the containers that name a volume of ours, by volume. */
    private Map<String, List<String>> users() throws IOException {
        Map<String, List<String>> users = new TreeMap<>();
        for (Listed container : engine.objects().withVolumesOf(pluginName, LIMIT)) {
            for (String volume : container.volumes()) {
                users.computeIfAbsent(volume, _ -> new ArrayList<>())
                        .add(Quote.shown(container.name()));
            }
        }
        return users;
    }

    private void drivers(ClaimPrune.Wish wish, List<Pruned> done) throws IOException {
        Optional<DriverVersion> loaded = loaded();
        if (loaded.isPresent()) {
            // Otherwise each namespace that was made since has our mount, and appears to use it.
            served.releaseOthers(loaded.get());
        }
        Map<String, ProcessId> mounted = mounted();
        for (DriverVersion driver : served.versions()) {
            Optional<String> why = keeps(driver, loaded, mounted, wish);
            done.add(
                    why.isPresent()
                            ? Pruned.kept(DriverVolume.name(driver), why.get())
                            : remove(driver, loaded.orElseThrow(), wish.dry()));
        }
    }

    private static Optional<String> keeps(
            DriverVersion driver,
            Optional<DriverVersion> loaded,
            Map<String, ProcessId> mounted,
            ClaimPrune.Wish wish) {
        if (loaded.isEmpty()) {
            return Optional.of("no driver is loaded, and the next may be this one");
        }
        if (loaded.get().equals(driver)) {
            return Optional.of("its driver is loaded");
        }
        return wish.named(DriverVolume.name(driver))
                // A container that names another volume may have been served this one.
                .or(() ->
                        Optional.ofNullable(mounted.get(driver.text()))
                                .map(process ->
                                        "a process (pid " + process.pid() + ") has it mounted"));
    }

    private Pruned remove(DriverVersion driver, DriverVersion loaded, boolean dry)
            throws IOException {
        String volume = DriverVolume.name(driver);
        long freed = served.freedBytes(driver);
        String why =
                "driver %s is loaded, and no container names it%s"
                        .formatted(loaded, shared(driver, freed));
        if (!dry) {
            try {
                if (!engine.removeVolume(volume, LIMIT)) {
                    return Pruned.kept(volume, "a container that uses it was just created");
                }
                // An engine that did not know the volume has not requested its removal from us.
                drivers.remove(volume);
            } catch (EngineException e) {
                // If the engine is gone, fail at once rather than keep one volume after another.
                engine.objects().withVolumesOf(pluginName, LIMIT);
                return Pruned.kept(volume, e.getMessage());
            } catch (RefusedException e) {
                return Pruned.kept(volume, e.refusal().message());
            } catch (IOException e) {
                return Pruned.kept(volume, FileErrors.refusal(e).message());
            }
        }
        return new Pruned(volume, true, freed, why);
    }

    /**
     * Returns why fewer bytes are freed than the volume has, if it is intact and the reason is
     * known.
     */
    private String shared(DriverVersion driver, long freed) {
        Optional<DriverVolume> volume = store.find(driver);
        if (volume.isEmpty()) {
            return "";
        }
        boolean cloned = volume.get().cloned().containsKey(CopyMethod.REFLINK);
        return (freed < volume.get().bytes() ? "; hard links free nothing" : "")
                + (cloned ? "; less is freed where blocks are shared (reflink)" : "");
    }

    /** No driver may be loaded while another one is being installed. */
    private Optional<DriverVersion> loaded() throws IOException {
        try {
            return Optional.of(HostDriver.readVersion(host));
        } catch (NoDriverException e) {
            return Optional.empty();
        }
    }

    /** Returns processes of containers that have a driver's volume mounted, by version. */
    private Map<String, ProcessId> mounted() throws IOException {
        List<String> above = new ArrayList<>();
        for (Path directory : served.directories()) {
            above.add(
                    processes
                            .mountRoot(directory)
                            .map(Pattern::quote)
                            .orElse(".*/" + Pattern.quote(directory.getFileName().toString())));
        }
        try {
            Map<String, ProcessId> mounted =
                    new TreeMap<>(
                            processes.oldestWithMount(
                                    Pattern.compile(
                                            "(?:"
                                                    + String.join("|", above)
                                                    + ")/(?:\\.kept-)?([0-9.]+)(?:-[^/]+)?(?:/.*)?")));
            sources.with(ServedVolumes.FILE_SYSTEM, served.source()).forEach(mounted::putIfAbsent);
            return mounted;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private static String before(List<Pruned> done, boolean dry) {
        return Uninstall.before(
                dry
                        ? List.of()
                        : done.stream().filter(Pruned::removed).map(Pruned::volume).toList());
    }
}
