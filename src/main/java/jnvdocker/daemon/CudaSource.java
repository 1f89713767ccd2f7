package jnvdocker.daemon;

import jnvdocker.cuda.CudaDriver;
import jnvdocker.cuda.CudaVersions;
import jnvdocker.host.Host;
import jnvdocker.volume.DriverVolumeStore;

import java.time.Duration;

/** The libcuda of the loaded driver, in the driver volume, whose files are the host's own. */
final class CudaSource {
    /** How long a run waits for the driver; then the table of its branches counts. */
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    private CudaSource() {}

    /**
     * Asks the host's libcuda in the place where containers find it: in the volume, beside its
     * other parts.
     */
    static CudaVersions versions(Folders folders, Host host, DriverVolumeStore volumes) {
        return new CudaVersions(
                folders.state(),
                driver -> new CudaDriver().ask(volumes.build(host, driver).libcuda()),
                PATIENCE);
    }
}
