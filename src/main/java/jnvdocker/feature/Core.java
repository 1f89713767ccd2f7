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
 * @param socket the daemon's
 * @param gpuHost the GPUs, the driver and its files
 * @param leases all that gives out GPUs
 */
public record Core(
        Installation installation,
        ConfigTables.Live config,
        Path socket,
        GpuHost gpuHost,
        CudaVersions cuda,
        GpuMonitor monitor,
        LeaseParts leases,
        NeedsCheck needs,
        ContainerPlanner planner) {}
