package jnvdocker.volume.plugin;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The volumes {@code nvidia_driver_<version>}: the files of the driver that is loaded, or was when
 * a container was made that still names them. A volume that is gone is served from the loaded
 * driver's, if that is newer: a driver runs what was made for an older one.
 */
public final class DriverVolumes implements PluginVolumes {
    private static final Logger LOG = LoggerFactory.getLogger(DriverVolumes.class);
    private static final String KIND = "nvidia_driver";

    private final Host host;
    private final DriverVolumeStore store;
    private final Map<String, Integer> mounts = new HashMap<>();

    public DriverVolumes(Host host, DriverVolumeStore store) {
        this.host = host;
        this.store = store;
    }

    @Override
    public boolean owns(String name) {
        try {
            return VolumeName.parse(name).kind().equals(KIND);
        } catch (VolumeException e) {
            return false;
        }
    }

    @Override
    public void create(String name, Map<String, String> options) throws VolumeException {
        DriverVersion wanted = version(name);
        DriverVersion loaded = loaded();
        if (!loaded.text().equals(wanted.text())) {
            throw new VolumeException(
                    "invalid volume version: "
                            + name
                            + "; driver "
                            + loaded
                            + " is loaded, use the volume "
                            + KIND
                            + "_"
                            + loaded);
        }
        build(loaded);
    }

    @Override
    public synchronized void remove(String name) throws VolumeException {
        int count = mounts.getOrDefault(name, 0);
        if (count > 0) {
            throw new VolumeException(
                    name + " is mounted by " + count + " containers; stop them first");
        }
        try {
            store.remove(version(name));
        } catch (IOException e) {
            throw new VolumeException(FileErrors.describe(e), e);
        }
    }

    @Override
    public Path mount(String name, String id) throws VolumeException {
        DriverVersion wanted = version(name);
        DriverVersion loaded = loaded();
        if (wanted.compareTo(loaded) > 0) {
            throw new VolumeException(
                    name
                            + " is of a newer driver than "
                            + loaded
                            + ", which is loaded; create the container again with 'jnvdocker run',"
                            + " or load the newer driver");
        }
        Path folder = build(loaded).path();
        synchronized (this) {
            mounts.merge(name, 1, Integer::sum);
        }
        return folder;
    }

    @Override
    public synchronized void unmount(String name, String id) {
        mounts.computeIfPresent(name, (_, count) -> count > 1 ? count - 1 : null);
    }

    @Override
    public VolumeInfo get(String name) throws VolumeException {
        DriverVersion wanted = version(name);
        Optional<DriverVolume> own = store.find(wanted);
        if (own.isPresent()) {
            return info(name, own.get());
        }
        DriverVersion loaded = loaded();
        if (wanted.compareTo(loaded) < 0) {
            // A container that names it may still be there, and mount serves it.
            return new VolumeInfo(name, store.path(loaded), Map.of("driver", loaded.text()));
        }
        throw new VolumeException(
                "no such volume: "
                        + name
                        + "; driver "
                        + loaded
                        + " is loaded, make its volume with 'jnvdocker gpu volume'");
    }

    @Override
    public List<VolumeInfo> list() {
        try {
            return store.list().stream()
                    .map(volume -> info(KIND + "_" + volume.version(), volume))
                    .toList();
        } catch (IOException e) {
            // An Err would hide the volumes of every other plugin from 'docker volume ls' as well.
            LOG.error("cannot list the driver volumes: {}", e.getMessage());
            return List.of();
        }
    }

    private DriverVolume build(DriverVersion version) throws VolumeException {
        try {
            return store.build(host, version);
        } catch (IOException e) {
            throw new VolumeException(FileErrors.describe(e), e);
        }
    }

    private DriverVersion loaded() throws VolumeException {
        try {
            return HostDriver.readVersion(host);
        } catch (IOException e) {
            throw new VolumeException(FileErrors.describe(e), e);
        }
    }

    private static DriverVersion version(String name) throws VolumeException {
        return VolumeName.parse(name).driverVersion();
    }

    private static VolumeInfo info(String name, DriverVolume volume) {
        return new VolumeInfo(
                name,
                volume.path(),
                Map.of(
                        "driver",
                        volume.version().text(),
                        "files",
                        volume.manifest().files().size(),
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
