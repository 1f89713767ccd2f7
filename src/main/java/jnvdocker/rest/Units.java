package jnvdocker.rest;

import jnvdocker.nvml.GpuFacts.PcieLink;

import java.util.List;
import java.util.Locale;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Converts NVML's units to nvidia-docker 1.0's, rounding down; what is not known becomes null. */
final class Units {
    private static final int KILO = 1000;
    private static final int MEBI = 1 << 20;
    private static final int BITS = 8;

    /** The bandwidth of one lane, by generation, in megabytes per second. */
    private static final List<Integer> LANE = List.of(250, 500, 985, 1969, 3938, 7563);

    private Units() {}

    static Integer number(OptionalInt number) {
        return number.isPresent() ? number.getAsInt() : null;
    }

    static Long number(OptionalLong number) {
        return number.isPresent() ? number.getAsLong() : null;
    }

    /** Milliwatts in watts, or kilobytes in megabytes. */
    static Integer thousands(OptionalInt number) {
        return number.isPresent() ? number.getAsInt() / KILO : null;
    }

    /** Bytes in mebibytes. */
    static Long mebibytes(OptionalLong bytes) {
        return bytes.isPresent() ? bytes.getAsLong() / MEBI : null;
    }

    /** Megabytes per second in one direction, of all lanes. */
    static Integer bandwidth(PcieLink link) {
        int generation = link.generation().orElse(0);
        return generation > 0 && generation <= LANE.size() && link.width().isPresent()
                ? LANE.get(generation - 1) * link.width().getAsInt()
                : null;
    }

    /**
     * Megabytes per second: memory transfers twice in a cycle of its clock.
     *
     * @param clock megahertz
     */
    static Integer bandwidth(OptionalInt clock, OptionalInt busBits) {
        return clock.isPresent() && busBits.isPresent()
                ? 2 * clock.getAsInt() * (busBits.getAsInt() / BITS)
                : null;
    }

    /** {@code 0000:07:00.0} as NVML writes it: the domain has eight digits, all are capitals. */
    static String busId(String pciAddress) {
        String upper = pciAddress.toUpperCase(Locale.ROOT);
        return "0".repeat(Math.max(0, 16 - upper.length())) + upper;
    }
}
