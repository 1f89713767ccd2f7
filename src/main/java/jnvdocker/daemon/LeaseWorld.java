package jnvdocker.daemon;

import jnvdocker.core.LeaseParts;
import jnvdocker.decision.DecisionLog;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.holder.Pace;
import jnvdocker.host.BootId;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.DriverUse;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.posix.Journal;
import jnvdocker.process.Processes;
import jnvdocker.registry.HostClock;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.Observers;
import jnvdocker.use.SeenUses;

import java.io.IOException;
import java.security.SecureRandom;

/** Wires what leases depend on: this machine, its GPUs and its engine. */
final class LeaseWorld {
    private LeaseWorld() {}

    static LeaseParts.World of(
            Directories directories,
            LiveConfig config,
            Host host,
            DeviceNodes nodes,
            GpuInventory inventory,
            DockerEngine engine,
            GpuMonitor monitor,
            Observers observers)
            throws IOException {
        Processes processes = Processes.ofThisMachine();
        return new LeaseParts.World(
                directories.state(),
                BootId.read(host),
                directories.pluginName(),
                processes,
                engine,
                () -> inventory.read().gpus(),
                new SeenUses(
                        processes,
                        engine,
                        nodes,
                        new DriverUse(host),
                        config::ignored,
                        monitor::drawing,
                        new SeenUses.Observing(observers, monitor::processes)),
                inventory.troubles(monitor.health()),
                monitor::processes,
                config::policy,
                config::trustedOwners,
                new NvmlTraits(monitor)::known,
                HostClock.OF_THIS_MACHINE,
                new SecureRandom(),
                Pace.REAL,
                AllowanceReader.Groups.OF_THIS_HOST,
                new DecisionLog(Journal.of(System.getenv().getOrDefault("JOURNAL_STREAM", ""))));
    }
}
