package jnvdocker.grant;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The devices allowed in an agent's devices cgroups. One that several containers share outlives the
 * one that had the GPU.
 */
final class DeviceRules {
    /** The driver's, for GPUs; see {@code /proc/devices}. */
    static final int MAJOR = 195;

    private DeviceRules() {}

    /**
     * Nothing of a container can open its GPUs any more.
     *
     * @throws IOException saying which it may still be able to open, and why
     */
    static void withdraw(Holder.MesosContainer container, List<ClaimedGpu> gpus)
            throws IOException {
        Path deny = Path.of(container.devices(), "devices.deny");
        for (ClaimedGpu gpu : gpus) {
            String rule = "c " + MAJOR + ":" + gpu.minor() + " rw";
            try {
                Files.writeString(deny, rule, StandardOpenOption.WRITE);
            } catch (NoSuchFileException e) {
                return;
            } catch (IOException e) {
                throw new IOException(
                        "its devices cgroup cannot be refused access to "
                                + gpu.node()
                                + ": "
                                + FileErrors.describe(e),
                        e);
            }
        }
    }
}
