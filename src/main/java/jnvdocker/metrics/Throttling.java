package jnvdocker.metrics;

import java.util.Locale;

/** NVML's reasons for clocks lower than they could be, by their bits. */
enum Throttling {
    IDLE(0x1),
    APPLICATION_CLOCKS(0x2),
    POWER_CAP(0x4),
    HARDWARE_SLOWDOWN(0x8),
    SYNC_BOOST(0x10),
    THERMAL_SLOWDOWN(0x20),
    HARDWARE_THERMAL_SLOWDOWN(0x40),
    POWER_BRAKE(0x80),
    DISPLAY_CLOCKS(0x100);

    private final long bit;

    Throttling(long bit) {
        this.bit = bit;
    }

    boolean isIn(long bits) {
        return (bits & bit) != 0;
    }

    String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
