package jnvdocker.command.gpu.view;

import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.idle.IdleHolders;
import jnvdocker.lease.GpuStatus;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * This host's GPUs as everything shows them: commands, metrics, REST and events are projections of
 * it.
 *
 * @param readings what NVML last reported about each GPU, by PCI address
 * @param topologies how near two GPUs are, for each pair for which NVML has reported it
 * @param idle the holders that do not use their GPUs
 */
public record GpuView(
        Host host,
        Leases leases,
        Supplier<Map<String, Reading>> readings,
        Supplier<Map<GpuPair, Topology>> topologies,
        IdleHolders idle) {

    /**
     * Returns the GPUs that the host has.
     *
     * @throws IOException also without a driver
     */
    public List<Gpu> gpus() throws IOException {
        return HostDriver.read(host).gpus();
    }

    /** Returns the GPUs that the host has: none without a driver. */
    public List<Gpu> gpusIfAny() throws IOException {
        return HostDriver.gpusIfAny(host);
    }

    /** Returns every GPU of the host, and those that are held and missing, in order of index. */
    public List<GpuStatus> status() throws IOException {
        return leases.status(gpus());
    }

    /** Returns what is known of them besides their leases at this moment. */
    public GpuNotes notes() {
        return new GpuNotes(idle.idle(), readings.get(), leases.now());
    }
}
