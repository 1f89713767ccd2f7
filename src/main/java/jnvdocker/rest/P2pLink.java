package jnvdocker.rest;

import jnvdocker.nvml.Topology;

/** The link of two GPUs, by nvidia-docker 1.0's numbers and words. */
enum P2pLink {
    UNKNOWN(0, "N/A"),
    CROSS_CPU(1, "Cross CPU socket"),
    SAME_CPU(2, "Same CPU socket"),
    HOST_BRIDGE(3, "Host PCI bridge"),
    MULTIPLE_SWITCHES(4, "Multiple PCI switches"),
    SINGLE_SWITCH(5, "Single PCI switch"),
    SAME_BOARD(6, "Same board");

    private final int number;
    private final String words;

    P2pLink(int number, String words) {
        this.number = number;
        this.words = words;
    }

    int number() {
        return number;
    }

    @Override
    public String toString() {
        return words;
    }

    static P2pLink of(int number) {
        return values()[number];
    }

    static P2pLink of(Topology.Ancestor ancestor) {
        return switch (ancestor) {
            case BOARD -> SAME_BOARD;
            case ONE_SWITCH -> SINGLE_SWITCH;
            case SEVERAL_SWITCHES -> MULTIPLE_SWITCHES;
            case HOST_BRIDGE -> HOST_BRIDGE;
            case NUMA_NODE -> SAME_CPU;
            case SYSTEM -> CROSS_CPU;
            case UNKNOWN -> UNKNOWN;
        };
    }
}
