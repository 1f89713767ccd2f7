package jnvdocker.rest;

import jnvdocker.nvml.GpuFacts.ComputeCapability;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What nvidia-docker 1.0 queried CUDA for, which needs a context on the GPU and so costs its holder
 * memory. Here it follows from the compute capability; what chips of one capability do not have in
 * common follows from the model, of which the usual ones of servers are known.
 */
final class KnownChips {
    /** The constant memory of every chip so far, in kibibytes. */
    static final int CONSTANT = 64;

    /** The shared memory of a multiprocessor by compute capability, in kibibytes. */
    private static final Map<String, Integer> SHARED =
            Map.ofEntries(
                    Map.entry("2.0", 48),
                    Map.entry("2.1", 48),
                    Map.entry("3.0", 48),
                    Map.entry("3.5", 48),
                    Map.entry("3.7", 112),
                    Map.entry("5.0", 64),
                    Map.entry("5.2", 96),
                    Map.entry("6.0", 64),
                    Map.entry("6.1", 96),
                    Map.entry("7.0", 96),
                    Map.entry("7.5", 64),
                    Map.entry("8.0", 164),
                    Map.entry("8.6", 100),
                    Map.entry("8.9", 100),
                    Map.entry("9.0", 228),
                    Map.entry("10.0", 228),
                    Map.entry("12.0", 100));

    /**
     * A model.
     *
     * @param name how the driver's name for it begins, without the makers'
     * @param l2Cache kibibytes
     * @param memoryBus bits
     */
    record Model(
            String name, ComputeCapability capability, int cores, int l2Cache, int memoryBus) {}

    /** A name that begins with another comes before that. */
    private static final List<Model> MODELS =
            List.of(
                    model("K20X", 3, 5, 2688, 1536, 384),
                    model("K20", 3, 5, 2496, 1280, 320),
                    model("K40", 3, 5, 2880, 1536, 384),
                    model("K80", 3, 7, 2496, 1536, 384),
                    model("M40", 5, 2, 3072, 3072, 384),
                    model("M60", 5, 2, 2048, 2048, 256),
                    model("P100-PCIE-12GB", 6, 0, 3584, 3072, 3072),
                    model("P100", 6, 0, 3584, 4096, 4096),
                    model("P40", 6, 1, 3840, 3072, 384),
                    model("P4", 6, 1, 2560, 2048, 256),
                    model("V100", 7, 0, 5120, 6144, 4096),
                    model("T4", 7, 5, 2560, 4096, 256),
                    model("A100", 8, 0, 6912, 40960, 5120),
                    model("A30", 8, 0, 3584, 24576, 3072),
                    model("A40", 8, 6, 10752, 6144, 384),
                    model("A10", 8, 6, 9216, 6144, 384),
                    model("L40", 8, 9, 18176, 98304, 384),
                    model("L4", 8, 9, 7424, 49152, 192),
                    model("H100 PCIe", 9, 0, 14592, 51200, 5120),
                    model("H100 80GB HBM3", 9, 0, 16896, 51200, 5120),
                    model("H200", 9, 0, 16896, 51200, 6144));

    private KnownChips() {}

    private static Model model(
            String name, int major, int minor, int cores, int l2Cache, int memoryBus) {
        return new Model(name, new ComputeCapability(major, minor), cores, l2Cache, memoryBus);
    }

    /**
     * @param driversName {@code NVIDIA A100-SXM4-40GB} or {@code Tesla K40m}
     */
    static Optional<Model> model(String driversName) {
        String name = driversName.replaceFirst("^NVIDIA ", "").replaceFirst("^Tesla ", "");
        return MODELS.stream().filter(model -> isThat(name, model.name())).findFirst();
    }

    /** The A10 is neither the A100 nor the A10G, but the K40 is the K40m. */
    private static boolean isThat(String name, String model) {
        return name.matches("\\Q" + model + "\\E([mcstS]|-.*| .*|)");
    }

    /** Empty for one that is newer than this table. */
    static Optional<String> family(ComputeCapability capability) {
        return switch (capability.major()) {
            case 1 -> Optional.of("Tesla");
            case 2 -> Optional.of("Fermi");
            case 3 -> Optional.of("Kepler");
            case 5 -> Optional.of("Maxwell");
            case 6 -> Optional.of("Pascal");
            case 7 -> Optional.of(capability.minor() < 5 ? "Volta" : "Turing");
            case 8 -> Optional.of(capability.minor() < 9 ? "Ampere" : "Ada");
            case 9 -> Optional.of("Hopper");
            case 10, 12 -> Optional.of("Blackwell");
            default -> Optional.empty();
        };
    }

    /** Kibibytes; empty for one that is newer than this table. */
    static Optional<Integer> shared(ComputeCapability capability) {
        return Optional.ofNullable(SHARED.get(capability.toString()));
    }
}
