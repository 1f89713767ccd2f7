package jnvdocker.feature;

import jnvdocker.command.caller.Installation;
import jnvdocker.command.start.NeedsCheck;
import jnvdocker.config.ConfigTables;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.core.LeaseParts;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.volume.GpuHost;

import java.nio.file.Path;

/**
 * The parts of the daemon that commands and features use.
 *
 * @param config what the features' tables say
 * @param gpuHost the GPUs, the driver and its files
 * @param world where the leases find this machine
 * @param leases all that gives out GPUs
 */
public record Core(
        Installation installation,
        ConfigTables.Live config,
        Places places,
        GpuHost gpuHost,
        CudaVersions cuda,
        GpuMonitor monitor,
        LeaseParts.World world,
        LeaseParts leases,
        NeedsCheck needs,
        ContainerPlanner planner) {
    /**
     * Where others find the daemon.
     *
     * @param socket the daemon's
     * @param run the directory of what lasts until the next boot
     * @param cdi the directory where runtimes find CDI files
     */
    public record Places(Path socket, Path run, Path cdi) {}
}
