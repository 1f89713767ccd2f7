package jnvdocker.rest;

import jnvdocker.nvml.Topology;

/** What is between two GPUs, by nvidia-docker 1.0's numbers and words. */
enum P2pLink {
    UNKNOWN("N/A"),
    CROSS_CPU("Cross CPU socket"),
    SAME_CPU("Same CPU socket"),
    HOST_BRIDGE("Host PCI bridge"),
    MULTIPLE_SWITCHES("Multiple PCI switches"),
    SINGLE_SWITCH("Single PCI switch"),
    SAME_BOARD("Same board");

    private final String words;

    P2pLink(String words) {
        this.words = words;
    }

    int number() {
        return ordinal();
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
