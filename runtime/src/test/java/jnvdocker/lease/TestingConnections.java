package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.nvml.Topology.Ancestor;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/** Hosts of tests/fake-nvml/machines, as they are connected. */
public final class TestingConnections {
    private TestingConnections() {}

    /** Makes a number of GPUs, in order of index. */
    public static List<Gpu> gpus(int count) {
        return IntStream.range(0, count)
                .mapToObj(i ->
                        new Gpu(
                                i,
                                "GPU-%08d".formatted(i),
                                i,
                                "0000:%02x:00.0".formatted(i + 1),
                                "NVIDIA A40"))
                .toList();
    }

    /** 8 A100: all linked through switches, pairs on one PCIe switch, two sockets. */
    public static Connections a100x8() {
        return of(8, (i, j) -> new Topology(ancestor(i, j), 12));
    }

    /** 8 A40: pairs on one PCIe switch, two sockets, bridges from 2 to 3 and from 6 to 7. */
    public static Connections a40x8() {
        return of(8, (i, j) -> new Topology(ancestor(i, j), i / 2 == j / 2 && i % 4 >= 2 ? 4 : 0));
    }

    /** Connects these GPUs by a function of two indexes, the lower one first. */
    public static Connections of(int gpus, BiFunction<Integer, Integer, Topology> connection) {
        List<Gpu> all = gpus(gpus);
        Map<GpuPair, Topology> pairs = new HashMap<>();
        for (int i = 0; i < gpus; i++) {
            for (int j = i + 1; j < gpus; j++) {
                pairs.put(
                        new GpuPair(all.get(i).pciAddress(), all.get(j).pciAddress()),
                        connection.apply(i, j));
            }
        }
        return new Connections(pairs);
    }

    private static Ancestor ancestor(int i, int j) {
        if (i / 2 == j / 2) {
            return Ancestor.ONE_SWITCH;
        }
        return i / 4 == j / 4 ? Ancestor.NUMA_NODE : Ancestor.SYSTEM;
    }
}
