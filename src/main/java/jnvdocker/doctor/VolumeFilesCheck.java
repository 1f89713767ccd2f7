package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.DriverFiles.LeftOut;
import jnvdocker.volume.DriverVolume;
import jnvdocker.volume.DriverVolumeStore;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The volume of the loaded driver: whether containers get what this host has. */
final class VolumeFilesCheck implements Check {
    private final Host host;
    private final DriverVolumeStore volumes;

    VolumeFilesCheck(Host host, DriverVolumeStore volumes) {
        this.host = host;
        this.volumes = volumes;
    }

    @Override
    public String name() {
        return "volume";
    }

    @Override
    public List<Finding> look() throws IOException {
        DriverVersion driver = HostDriver.readVersion(host);
        Optional<DriverVolume> there = volumes.find(driver);
        if (there.isEmpty()) {
            return List.of(
                    Finding.wrong(
                            volumes.path(driver) + " is not a whole driver volume, or not there",
                            "have it made: jnvdocker gpu volume"));
        }
        DriverVolume volume = there.get();
        List<Finding> found = new ArrayList<>();
        for (String problem : volume.verify(host)) {
            found.add(
                    Finding.wrong(
                            problem,
                            "when no container uses the volume, rm -r "
                                    + volume.path()
                                    + " && jnvdocker gpu volume"));
        }
        if (found.isEmpty()) {
            found.add(
                    Finding.ok(
                            volume.path()
                                    + " has "
                                    + volume.manifest().files().size()
                                    + " files, each the host's"));
        }
        leftOut(volume.manifest().leftOut().stream().filter(file -> !file.byIntent()).toList())
                .ifPresent(found::add);
        return found;
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
                                + first.reason()
                                + ")"
                                + (files.size() == 1
                                        ? ""
                                        : ", and " + (files.size() - 1) + " more"),
                        "see jnvdocker gpu volume, if a container misses one"));
    }
}
