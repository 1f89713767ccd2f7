package jnvdocker.daemon;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.ServedVolumes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;

/** The loaded driver's volume, made when the daemon starts. */
final class FirstVolume {
    private static final Logger LOG = LoggerFactory.getLogger(FirstVolume.class);

    private FirstVolume() {}

    /**
     * Makes the volume that the first container would wait for. If no volume exists at all, the
     * state may have been lost, and docker forgets for good a volume that it requests and that does
     * not exist yet: then this waits until it does.
     */
    static void make(Host host, DriverVolumeStore volumes, ServedVolumes served)
            throws IOException {
        if (volumes.list().isEmpty()) {
            tryToMake(host, volumes, served);
        } else {
            Thread.ofVirtual().start(() -> tryToMake(host, volumes, served));
        }
    }

    /** After a failure, the next command that needs the volume tries again. */
    private static void tryToMake(Host host, DriverVolumeStore volumes, ServedVolumes served) {
        try {
            volumes.checkExecutable();
            DriverVersion driver = HostDriver.readVersion(host);
            served.prepare(host, driver);
        } catch (NoDriverException e) {
            LOG.warn("{}", e.getMessage());
        } catch (IOException e) {
            LOG.error("{}", FileErrors.describe(e));
        }
    }
}
