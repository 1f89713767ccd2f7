package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.Manifest;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Checks whether the volume of the loaded driver gives containers the driver of this host. */
final class VolumeFilesCheck implements Check {
    private final Host host;
    private final DriverVolumeStore volumes;
    private final ServedVolumes served;

    VolumeFilesCheck(Host host, DriverVolumeStore volumes, ServedVolumes served) {
        this.host = host;
        this.volumes = volumes;
        this.served = served;
    }

    @Override
    public String name() {
        return "volume";
    }

    @Override
    public List<Finding> findings() throws IOException {
        DriverVersion driver = HostDriver.readVersion(host);
        Optional<DriverVolume> there = volumes.find(driver);
        if (there.isEmpty() && !Files.exists(volumes.path(driver))) {
            // The case after each driver upgrade.
            return List.of(
                    Finding.ok(
                            volumes.path(driver)
                                    + " is made when the first container needs driver "
                                    + driver));
        }
        Optional<Refusal> replaced = replaced(driver);
        if (there.isEmpty()) {
            return List.of(
                    Finding.wrong(
                            new Refusal(
                                    volumes.path(driver) + " is an incomplete driver volume",
                                    replaced.flatMap(Refusal::remedy)
                                            .orElse("make it: jnvdocker gpu volume"))));
        }
        DriverVolume volume = there.get();
        List<Finding> found = new ArrayList<>();
        for (String problem : served.verify(host, volume)) {
            found.add(
                    replaced.isEmpty()
                            ? Finding.wrong(problem, ServedVolumes.REMAKE)
                            : Finding.wrong(new Refusal(problem, replaced.get().remedy())));
        }
        if (found.isEmpty()) {
            found.add(
                    Finding.ok(
                            volume.path()
                                    + " has "
                                    + volume.manifest().contents().size()
                                    + (replaced.isEmpty()
                                            ? " files, each the host's"
                                            : " files, which containers go on getting")));
        }
        written(served.known(volume)).ifPresent(found::add);
        leftOut(missing(volume)).ifPresent(found::add);
        return found;
    }

    /** The files that were left out and that a container may miss: the volume has no other. */
    private static List<LeftOut> missing(DriverVolume volume) {
        Set<String> names =
                volume.manifest().files().stream()
                        .map(Manifest.Entry::name)
                        .collect(Collectors.toSet());
        return volume.manifest().leftOut().stream()
                .filter(file -> !file.reason().byIntent())
                .filter(file -> !names.contains(Path.of(file.path()).getFileName().toString()))
                .toList();
    }

    /** Why no such volume can be made now: it must stay. */
    private Optional<Refusal> replaced(DriverVersion driver) throws IOException {
        try {
            DriverFiles.find(host, driver);
            return Optional.empty();
        } catch (DriverVolumeException e) {
            return Optional.of(e.refusal());
        }
    }

    /** One container's changes to the volume reach the next container. */
    private static Optional<Finding> written(ServedVolumes.Served served) {
        return served.copied()
                .map(why ->
                        Finding.hint(
                                why.precededBy(
                                        "containers get "
                                                + served.path()
                                                + ", which they can write to: ")));
    }

    private static Optional<Finding> leftOut(List<LeftOut> files) {
        if (files.isEmpty()) {
            return Optional.empty();
        }
        LeftOut first = files.getFirst();
        return Optional.of(
                Finding.hint(
                        "left out of the volume: "
                                + first.path()
                                + " ("
                                + first.reason().words()
                                + ")"
                                + (files.size() == 1
                                        ? ""
                                        : ", and " + (files.size() - 1) + " more"),
                        "see jnvdocker gpu volume, if a container misses one"));
    }
}
