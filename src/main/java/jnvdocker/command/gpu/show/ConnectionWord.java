package jnvdocker.command.gpu.show;

import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;

import java.util.Map;

/** Connections in nvidia-smi's words, the best first. */
enum ConnectionWord {
    X("the GPU itself"),
    NV("through # NVLinks"),
    BRD("on one board"),
    PIX("through one PCIe switch"),
    PXB("through several PCIe switches"),
    PHB("through a PCIe host bridge"),
    NODE("through several PCIe host bridges of one NUMA node"),
    SYS("from one NUMA node to another"),
    UNKNOWN("not known");

    private final String meaning;

    ConnectionWord(String meaning) {
        this.meaning = meaning;
    }

    /** A connection as a table has it: {@code NV12}. */
    record Shown(ConnectionWord word, String text) {
        @Override
        public String toString() {
            return text;
        }
    }

    /** The connection of two PCI addresses. */
    static Shown between(String one, String other, Map<GpuPair, Topology> known) {
        if (one.equals(other)) {
            return new Shown(X, X.text());
        }
        Topology topology = known.get(new GpuPair(one, other));
        if (topology != null && topology.links() > 0) {
            return new Shown(NV, "NV" + topology.links());
        }
        ConnectionWord word = topology == null ? UNKNOWN : of(topology.ancestor());
        return new Shown(word, word.text());
    }

    private static ConnectionWord of(Topology.Ancestor ancestor) {
        return switch (ancestor) {
            case BOARD -> BRD;
            case ONE_SWITCH -> PIX;
            case SEVERAL_SWITCHES -> PXB;
            case HOST_BRIDGE -> PHB;
            case NUMA_NODE -> NODE;
            case SYSTEM -> SYS;
            case UNKNOWN -> UNKNOWN;
        };
    }

    private String text() {
        return this == UNKNOWN ? "?" : name();
    }

    /** {@code PIX through one PCIe switch}. */
    String legend() {
        return "%-6s %s".formatted(this == NV ? "NV#" : text(), meaning);
    }
}
