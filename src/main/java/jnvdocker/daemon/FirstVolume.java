package jnvdocker.daemon;

import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PermanentThread;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.ServedVolumes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;

/** The loaded driver's volume, made when the daemon starts, and again for files that are new. */
final class FirstVolume {
    private static final Logger LOG = LoggerFactory.getLogger(FirstVolume.class);

    private static final Duration PERIOD = Duration.ofSeconds(5);
    private static final Duration AFTER_FAILURE = Duration.ofMinutes(10);

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
        }
        PermanentThread.virtual("driver-volume", () -> keep(host, volumes, served)).start();
    }

    /** What is installed of the driver later is for the next container. */
    private static void keep(Host host, DriverVolumeStore volumes, ServedVolumes served)
            throws InterruptedException {
        tryToMake(host, volumes, served);
        while (!Thread.currentThread().isInterrupted()) {
            Thread.sleep(PERIOD);
            try {
                served.renew(host, HostDriver.readVersion(host));
            } catch (NoDriverException e) {
                LOG.debug("{}", e.getMessage());
            } catch (IOException e) {
                LOG.warn("the driver volume stays as it is: {}", FileErrors.describe(e));
                Thread.sleep(AFTER_FAILURE);
            }
        }
    }

    /** After a failure, the next command that needs the volume tries again. */
    private static void tryToMake(Host host, DriverVolumeStore volumes, ServedVolumes served) {
        try {
            volumes.checkExecutable();
            served.sweepEarlier(host);
            DriverVersion driver = HostDriver.readVersion(host);
            served.prepare(host, driver);
        } catch (NoDriverException e) {
            LOG.warn("{}", e.getMessage());
        } catch (IOException e) {
            LOG.error("{}", FileErrors.describe(e));
        }
    }
}
