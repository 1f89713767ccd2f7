package jnvdocker.metrics;

import java.util.Locale;

/** NVML's reasons for clocks lower than they could be, in the order of their bits. */
enum Throttling {
    IDLE,
    APPLICATION_CLOCKS,
    POWER_CAP,
    HARDWARE_SLOWDOWN,
    SYNC_BOOST,
    THERMAL_SLOWDOWN,
    HARDWARE_THERMAL_SLOWDOWN,
    POWER_BRAKE,
    DISPLAY_CLOCKS;

    boolean isIn(long bits) {
        return (bits & 1L << ordinal()) != 0;
    }

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
