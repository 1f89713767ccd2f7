package jnvdocker.volume.plugin;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.ProcessId;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The volumes {@code nvidia_driver_<version>}. Whatever driver a container was made for, it is
 * given the files of the one that is loaded: a kernel module works with its own user space alone,
 * and a driver runs programs that were made for an older one.
 */
public final class DriverVolumes implements PluginVolumes {
    private static final Logger LOG = LoggerFactory.getLogger(DriverVolumes.class);

    private final Host host;
    private final DriverVolumeStore store;
    private final ServedVolumes served;
    private final Users users;
    private final Runnable lacking;
    private final List<Use> uses = new ArrayList<>();

    /**
     * One mount. The requested volume may be of an older driver than the served one.
     *
     * @param id docker's; the same one comes again when a container's files are copied
     */
    private record Use(String name, String id, DriverVersion served) {}

    /** Containers that have a driver's files without a volume that docker knows of. */
    @FunctionalInterface
    public interface Users {
        /** Describes a user of a volume for messages: {@code alice's container train-7}. */
        Optional<String> any() throws IOException;
    }

    /**
     * @param lacking runs when a container is not started for want of a driver
     */
    public DriverVolumes(
            Host host,
            DriverVolumeStore store,
            ServedVolumes served,
            Users users,
            Runnable lacking) {
        this.host = host;
        this.store = store;
        this.served = served;
        this.users = users;
        this.lacking = lacking;
    }

    @Override
    public boolean owns(String name) {
        return isDriver(name);
    }

    /** Whether it is the name of some driver's volume. */
    public static boolean isDriver(String name) {
        try {
            return VolumeName.parse(name).kind().equals(DriverVolume.KIND);
        } catch (RefusedException e) {
            return false;
        }
    }

    @Override
    public void create(String name, Map<String, String> options)
            throws RefusedException, IOException {
        DriverVersion wanted = version(name);
        DriverVersion loaded = HostDriver.readVersion(host);
        if (!loaded.text().equals(wanted.text())) {
            throw new RefusedException(
                    "invalid volume version: " + name,
                    "driver %s is loaded, use the volume %s_%s"
                            .formatted(loaded, DriverVolume.KIND, loaded));
        }
        store.build(host, loaded);
    }

    @Override
    public void remove(String name) throws RefusedException, IOException {
        DriverVersion version = version(name);
        // A driver is not replaced by another while anything uses a GPU.
        Optional<String> user = isLoaded(version) ? users.any() : Optional.empty();
        if (user.isPresent()) {
            throw new RefusedException(
                    name + " may be mounted in " + user.get(),
                    "try again when that has ended ('jnvdocker gpu leases' lists all)");
        }
        remove(name, version);
    }

    private synchronized void remove(String name, DriverVersion version)
            throws RefusedException, IOException {
        long count = uses.stream().filter(use -> use.served().equals(version)).count();
        if (count > 0) {
            throw new RefusedException(
                    name + " is mounted (" + count + " times)", "stop the containers that use it");
        }
        served.remove(version);
    }

    @Override
    public Path mount(String name, String id, ProcessId caller)
            throws RefusedException, IOException {
        try {
            return mountLoaded(name, id, caller);
        } catch (NoDriverException e) {
            lacking.run();
            throw e;
        }
    }

    private Path mountLoaded(String name, String id, ProcessId caller)
            throws RefusedException, IOException {
        DriverVersion loaded = HostDriver.readVersion(host);
        refuseNewer(name, loaded);
        Use use = new Use(name, id, loaded);
        synchronized (this) {
            // From now on it is not removed.
            uses.add(use);
        }
        boolean done = false;
        try {
            Path directory = served.serve(host, loaded, caller.pid()).path();
            // Another program may have made them after this host's boot, when a container that
            // docker now starts by itself existed already.
            new DeviceNodes(host).link();
            done = true;
            return directory;
        } finally {
            if (!done) {
                unmount(name, id);
            }
        }
    }

    /**
     * A driver does not run programs that were made for a newer one.
     *
     * @throws RefusedException when the volume is of one that is newer than the loaded
     */
    public static void refuseNewer(String name, DriverVersion loaded) throws RefusedException {
        if (version(name).compareTo(loaded) > 0) {
            throw new RefusedException(
                    name + " is of a newer driver than " + loaded + ", which is loaded",
                    "create the container again with 'jnvdocker run', or load the newer driver");
        }
    }

    @Override
    public synchronized void unmount(String name, String id) throws RefusedException {
        version(name);
        for (Use use : uses) {
            if (use.name().equals(name) && use.id().equals(id)) {
                uses.remove(use);
                return;
            }
        }
    }

    @Override
    public VolumeInfo get(String name) throws RefusedException, IOException {
        DriverVersion wanted = version(name);
        Optional<DriverVolume> own = store.find(wanted);
        if (own.isPresent()) {
            return info(name, own.get());
        }
        DriverVersion loaded = HostDriver.readVersion(host);
        if (wanted.compareTo(loaded) < 0) {
            // A container that names it may still be there, and mount serves it.
            Path path =
                    store.find(loaded)
                            .map(it -> served.known(it).path())
                            .orElse(store.path(loaded));
            return new VolumeInfo(name, path, Map.of("driver", loaded.text()));
        }
        throw new RefusedException(
                "no such volume: " + name,
                "driver " + loaded + " is loaded, whose volume 'jnvdocker gpu volume' makes");
    }

    @Override
    public List<VolumeInfo> list() {
        try {
            return store.list().stream()
                    .map(volume -> info(DriverVolume.name(volume.version()), volume))
                    .toList();
        } catch (IOException e) {
            // An Err would hide the volumes of every other plugin from 'docker volume ls' as well.
            LOG.error("cannot list the driver volumes: {}", e.getMessage());
            return List.of();
        }
    }

    private boolean isLoaded(DriverVersion version) throws IOException {
        try {
            return HostDriver.readVersion(host).equals(version);
        } catch (NoDriverException e) {
            return false;
        }
    }

    private static DriverVersion version(String name) throws RefusedException {
        return VolumeName.parse(name).driverVersion();
    }

    private VolumeInfo info(String name, DriverVolume volume) {
        ServedVolumes.Served known = served.known(volume);
        return new VolumeInfo(
                name,
                known.path(),
                Map.of(
                        "driver",
                        volume.version().text(),
                        "files",
                        volume.manifest().contents().size(),
                        "bytes",
                        volume.bytes(),
                        "cloned",
                        volume.cloned().entrySet().stream()
                                .collect(
                                        Collectors.toMap(
                                                way -> way.getKey().toString(),
                                                Map.Entry::getValue))));
    }
}
