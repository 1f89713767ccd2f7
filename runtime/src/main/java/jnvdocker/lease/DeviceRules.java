package jnvdocker.lease;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * What was allowed in an agent's devices cgroups. One that several containers share outlives the
 * one that had the GPU.
 */
final class DeviceRules {
    private static final Logger LOG = LoggerFactory.getLogger(DeviceRules.class);

    /** The driver's, for GPUs; see {@code /proc/devices}. */
    static final int MAJOR = 195;

    private DeviceRules() {}

    /** Nothing of a container can open its GPUs any more. */
    static void withdraw(Holder.MesosContainer container, List<ClaimedGpu> gpus) {
        Path deny = Path.of(container.devices(), "devices.deny");
        for (ClaimedGpu gpu : gpus) {
            String rule = "c " + MAJOR + ":" + gpu.minor() + " rw";
            try {
                Files.writeString(deny, rule, StandardOpenOption.WRITE);
            } catch (NoSuchFileException e) {
                return;
            } catch (IOException e) {
                LOG.warn("{}: cannot deny {}: {}", deny, rule, e.getMessage());
            }
        }
    }
}
