package jnvdocker.labels;

import java.util.List;
import java.util.Map;

/** Images as the tests need them. */
final class Images {
    private Images() {}

    /**
     * The value in nvidia/cuda:12.4.1: CUDA 12.4, or a board of some brand with a driver of a
     * branch that the forward-compatibility package of the image supports.
     */
    static String requireCuda124() {
        StringBuilder value = new StringBuilder("cuda>=12.4");
        for (int branch : new int[] {470, 525, 535}) {
            for (String brand :
                    List.of(
                            "tesla",
                            "unknown",
                            "nvidia",
                            "nvidiartx",
                            "geforce",
                            "geforcertx",
                            "quadro",
                            "quadrortx",
                            "titan",
                            "titanrtx")) {
                value.append(" brand=%s,driver>=%d,driver<%d".formatted(brand, branch, branch + 1));
            }
        }
        return value.toString();
    }

    /** A current image, which states its needs by its environment. */
    static ImageConfig withEnv(String... env) {
        return ImageConfig.of(Map.of(), List.of(env));
    }

    /** An image of nvidia-docker 1.0's time, which states its needs by its labels. */
    static ImageConfig withLabels(String volumes, String cuda) {
        return ImageConfig.of(
                Map.of("com.nvidia.volumes.needed", volumes, "com.nvidia.cuda.version", cuda),
                List.of());
    }

    /** A host with this driver, whose CUDA version the table knows. */
    static DriverFacts driver(String version) {
        DriverVersion driver = DriverVersion.parse(version);
        return DriverFacts.of(driver).withCuda(DriverBranches.cudaOf(driver).orElseThrow());
    }
}
