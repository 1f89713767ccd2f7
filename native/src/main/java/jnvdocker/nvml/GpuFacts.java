package jnvdocker.nvml;

import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * The properties of a GPU that do not change while its driver is loaded, as far as the driver
 * reports them.
 *
 * @param uuid {@code GPU-5c1a1003-…}
 * @param model {@code NVIDIA A100-SXM4-40GB}
 * @param memory bytes
 * @param bar1 bytes
 * @param powerLimit milliwatts
 */
public record GpuFacts(
        String uuid,
        String model,
        Optional<Brand> brand,
        Optional<Architecture> architecture,
        Optional<ComputeCapability> computeCapability,
        OptionalInt minor,
        OptionalLong memory,
        OptionalLong bar1,
        OptionalInt powerLimit,
        Clocks maxClocks,
        PcieLink maxLink,
        Chip chip) {

    /** A copy with the memory of a MIG instance, and none that is mapped. */
    GpuFacts withMemory(OptionalLong other) {
        return new GpuFacts(
                uuid,
                model,
                brand,
                architecture,
                computeCapability,
                minor,
                other,
                OptionalLong.empty(),
                powerLimit,
                maxClocks,
                maxLink,
                chip);
    }

    /** A GPU's instruction set, {@code 8.0}. */
    public record ComputeCapability(int major, int minor) {
        @Override
        public String toString() {
            return major + "." + minor;
        }
    }

    /** In megahertz. */
    public record Clocks(OptionalInt graphics, OptionalInt sm, OptionalInt memory) {}

    /** A PCIe link's generation and number of lanes. */
    public record PcieLink(OptionalInt generation, OptionalInt width) {}

    /**
     * @param cores how many it has that calculate, as NVIDIA counts them
     * @param memoryBus bits that go to or from its memory at once
     */
    public record Chip(OptionalInt cores, OptionalInt memoryBus) {}

    /** In the order of {@code nvmlBrandType_t}. */
    public enum Brand {
        /** A brand that NVML does not report, or that is newer than this table. */
        UNKNOWN,
        QUADRO,
        TESLA,
        NVS,
        GRID,
        GEFORCE,
        TITAN,
        VAPPS,
        VPC,
        VCS,
        VWS,
        CLOUD_GAMING,
        QUADRO_RTX,
        NVIDIA_RTX,
        NVIDIA,
        GEFORCE_RTX,
        TITAN_RTX;

        static Brand of(int number) {
            return number > 0 && number < values().length ? values()[number] : UNKNOWN;
        }

        /** As images spell it in {@code NVIDIA_REQUIRE_*}: {@code nvidiartx}. */
        @Override
        public String toString() {
            return name().replace("_", "").toLowerCase(Locale.ROOT);
        }
    }

    /** By the numbers {@code NVML_DEVICE_ARCH_*}. */
    public enum Architecture {
        KEPLER(2),
        MAXWELL(3),
        PASCAL(4),
        VOLTA(5),
        TURING(6),
        AMPERE(7),
        ADA(8),
        HOPPER(9),
        BLACKWELL(10);

        private final int number;

        Architecture(int number) {
            this.number = number;
        }

        /** As NVIDIA writes it: {@code Ampere}. */
        @Override
        public String toString() {
            return name().charAt(0) + name().substring(1).toLowerCase(Locale.ROOT);
        }

        /** Empty for one that is newer than this table. */
        static Optional<Architecture> of(int number) {
            for (Architecture each : values()) {
                if (each.number == number) {
                    return Optional.of(each);
                }
            }
            return Optional.empty();
        }
    }
}
