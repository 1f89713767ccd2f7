package jnvdocker.core;

import jnvdocker.host.Gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The GPUs of a simulated host: the nodes that they have, and the one that is unplugged. */
final class SimulatedGpus {
    private static final int COUNT = 3;

    private final Map<String, Integer> minors = new TreeMap<>();
    private final List<String> unplugged = new ArrayList<>();

    SimulatedGpus() {
        for (int i = 0; i < COUNT; i++) {
            minors.put("GPU-" + ("" + i).repeat(8) + "-0000-0000-0000-000000000000", i);
        }
    }

    /** The GPUs that the driver shows. */
    List<Gpu> shown() {
        List<Gpu> gpus = new ArrayList<>();
        for (var gpu : minors.entrySet()) {
            if (!unplugged.contains(gpu.getKey())) {
                int minor = gpu.getValue();
                gpus.add(
                        new Gpu(gpus.size(), gpu.getKey(), minor, "0000:0" + minor + ":00.0", "T"));
            }
        }
        return gpus;
    }

    /** The UUIDs of all GPUs, including those that the driver does not show. */
    List<String> all() {
        return List.copyOf(minors.keySet());
    }

    /** The GPU that a node stands for at present. */
    String of(int minor) {
        return minors.entrySet().stream()
                .filter(gpu -> gpu.getValue() == minor)
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    /** The minor of the GPU with the first UUID. */
    int firstMinor() {
        return minors.values().iterator().next();
    }

    /** Gives each GPU the next one's minor. */
    void recable() {
        minors.replaceAll((_, minor) -> (minor + 1) % COUNT);
    }

    /** Unplugs a GPU, or plugs it in again. */
    void unplug(int index) {
        if (unplugged.isEmpty()) {
            unplugged.add(List.copyOf(minors.keySet()).get(index % COUNT));
        } else {
            unplugged.clear();
        }
    }

    void plugIn() {
        unplugged.clear();
    }
}
