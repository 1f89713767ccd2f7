package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;

import java.util.Map;

/**
 * How fast data pass from one GPU to another, as far as it is known.
 *
 * @param pairs by PCI address
 */
public record Connections(Map<GpuPair, Topology> pairs) {
    public static final Connections UNKNOWN = new Connections(Map.of());

    /**
     * The number of bits per kind: up to 255 pairs of one kind together weigh less than one pair of
     * the next better kind; 16 GPUs are 120 pairs. The weight of all pairs of 256 GPUs is still
     * less than {@link Long#MAX_VALUE}.
     */
    private static final int BITS = 8;

    public Connections {
        pairs = Map.copyOf(pairs);
    }

    /**
     * How well two GPUs are connected: by the number of NVLinks between them, then by the nearest
     * part of the host that both share. 0 when nothing better is known than that both are in this
     * host.
     */
    public long weight(Gpu one, Gpu other) {
        if (one.pciAddress().equals(other.pciAddress())) {
            return weight(Topology.Ancestor.BOARD);
        }
        Topology topology = pairs.get(new GpuPair(one.pciAddress(), other.pciAddress()));
        return topology == null
                ? 0
                : ((long) topology.links() << (5 * BITS)) + weight(topology.ancestor());
    }

    private static long weight(Topology.Ancestor ancestor) {
        return switch (ancestor) {
            case BOARD -> 1L << (4 * BITS);
            case ONE_SWITCH -> 1L << (3 * BITS);
            case SEVERAL_SWITCHES -> 1L << (2 * BITS);
            case HOST_BRIDGE -> 1L << BITS;
            case NUMA_NODE -> 1;
            case SYSTEM, UNKNOWN -> 0;
        };
    }
}
