package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.NumaNode;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** The NUMA nodes of GPUs, as they were read before: a place in the host does not change. */
final class NumaNodes {
    private final Host host;
    private volatile Map<String, OptionalInt> known = Map.of();

    NumaNodes(Host host) {
        this.host = host;
    }

    /** Reads those that are not known yet. */
    void read(List<Gpu> gpus) {
        Map<String, OptionalInt> nodes = new HashMap<>();
        for (Gpu gpu : gpus) {
            String place = gpu.pciAddress();
            nodes.put(place, known.getOrDefault(place, OptionalInt.empty()));
            if (nodes.get(place).isEmpty()) {
                nodes.put(place, NumaNode.of(host, place));
            }
        }
        known = Map.copyOf(nodes);
    }

    /** Empty as well where it was not read yet. */
    OptionalInt of(Gpu gpu) {
        return known.getOrDefault(gpu.pciAddress(), OptionalInt.empty());
    }
}
