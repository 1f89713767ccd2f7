package jnvdocker.kubernetes.node;

import jnvdocker.host.GpuInventory;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.util.Map;
import java.util.function.Supplier;

/**
 * The parts of the daemon that know what a node is labelled with.
 *
 * @param readings what NVML has reported about the GPUs, by PCI address
 */
public record NodeFacts(
        GpuInventory inventory, CudaVersions cuda, Supplier<Map<String, Reading>> readings) {}
