package jnvdocker.nvml;

import java.util.OptionalInt;

/**
 * How near two GPUs are: what they share, and how many NVLinks go from one to the other, whether or
 * not through a switch.
 */
public record Topology(Ancestor ancestor, int links) {
    /** The path of data between two GPUs without NVLink, the nearest first. */
    public enum Ancestor {
        BOARD(0),
        ONE_SWITCH(10),
        SEVERAL_SWITCHES(20),
        HOST_BRIDGE(30),
        NUMA_NODE(40),
        SYSTEM(50),
        UNKNOWN(-1);

        private final int level;

        Ancestor(int level) {
            this.level = level;
        }

        /** By the number of {@code nvmlGpuTopologyLevel_t}. */
        static Ancestor of(OptionalInt level) {
            for (Ancestor each : values()) {
                if (level.isPresent() && each.level == level.getAsInt()) {
                    return each;
                }
            }
            return UNKNOWN;
        }
    }
}
