package jnvdocker.doctor;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverVolumeException;

import java.io.IOException;
import java.util.List;

/** Checks the kernel module, and whether the libraries on this host are of the same version. */
final class DriverCheck implements Check {
    private final Host host;
    private final CudaVersions cuda;

    DriverCheck(Host host, CudaVersions cuda) {
        this.host = host;
        this.cuda = cuda;
    }

    @Override
    public String name() {
        return "driver";
    }

    @Override
    public List<Finding> findings() throws IOException {
        try {
            DriverVersion driver = HostDriver.readVersion(host);
            // A run does not check once the volume exists: the driver may have been upgraded since.
            DriverFiles.find(host, driver);
            String supported =
                    cuda.of(driver)
                            .map(version -> "with CUDA " + version)
                            .orElse("whose CUDA version is not known");
            return List.of(
                    Finding.ok(
                            "driver "
                                    + driver
                                    + " is loaded, "
                                    + supported
                                    + "; its libraries are the same version"));
        } catch (NoDriverException | DriverVolumeException e) {
            return List.of(Finding.wrong(e));
        }
    }
}
