package jnvdocker.grant;

import jnvdocker.host.Gpu;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The GPUs of a simulated host: which node is which of them, and which one is unplugged. */
final class SimulatedGpus {
    private static final int COUNT = 3;

    private final Map<String, Integer> minors = new TreeMap<>();
    private final List<String> unplugged = new ArrayList<>();

    SimulatedGpus() {
        for (int i = 0; i < COUNT; i++) {
            minors.put("GPU-" + ("" + i).repeat(8) + "-0000-0000-0000-000000000000", i);
        }
    }

    /** Those that the driver shows. */
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

    /** The UUIDs of all, also of those that the driver does not show. */
    List<String> all() {
        return List.copyOf(minors.keySet());
    }

    /** The GPU that a node is at present. */
    String of(int minor) {
        return minors.entrySet().stream()
                .filter(gpu -> gpu.getValue() == minor)
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    /** The minor of the GPU whose UUID is the first. */
    int firstMinor() {
        return minors.values().iterator().next();
    }

    /** Each gets the next one's minor. */
    void recable() {
        minors.replaceAll((_, minor) -> (minor + 1) % COUNT);
    }

    /** One goes, or it comes back. */
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
