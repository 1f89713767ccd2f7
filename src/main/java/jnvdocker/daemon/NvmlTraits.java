package jnvdocker.daemon;

import jnvdocker.lease.Connections;
import jnvdocker.lease.GpuTraits;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFigures.Mig;
import jnvdocker.nvml.GpuFigures.MigInstance;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.nvml.GpuMonitor.Reading;

import java.util.HashMap;
import java.util.Map;

/** The monitor's facts for the choice of GPUs, as they are known at a moment. */
final class NvmlTraits {
    private final GpuMonitor monitor;

    NvmlTraits(GpuMonitor monitor) {
        this.monitor = monitor;
    }

    GpuTraits known() {
        return new GpuTraits(new Connections(monitor.topologies()), memory(monitor.known()));
    }

    /** The memory of GPUs and of MIG instances in bytes, by their UUIDs. */
    private static Map<String, Long> memory(Map<String, Reading> readings) {
        Map<String, Long> memory = new HashMap<>();
        for (Reading reading : readings.values()) {
            if (reading.facts().isPresent()) {
                GpuFacts facts = reading.facts().get();
                facts.memory().ifPresent(bytes -> memory.put(facts.uuid(), bytes));
            }
            reading.figures()
                    .flatMap(figures -> figures.mig())
                    .map(Mig::instances)
                    .ifPresent(instances ->
                            instances.forEach(instance -> addMemory(instance, memory)));
        }
        return memory;
    }

    private static void addMemory(MigInstance instance, Map<String, Long> memory) {
        instance.memory().ifPresent(its -> memory.put(instance.uuid(), its.total()));
    }
}
