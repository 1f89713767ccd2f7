package jnvdocker.nvml;

import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverBranches;
import jnvdocker.labels.DriverFacts;
import jnvdocker.labels.DriverVersion;

import java.util.Optional;
import java.util.function.Supplier;

/**
 * The CUDA version that a driver supports: by NVML's word, as soon as there is one, else by the
 * driver's branch in {@link DriverBranches}. Nothing waits for NVML.
 */
public final class CudaVersions {
    private final Supplier<Optional<Reported>> nvml;

    /** NVML's word on the driver that it belongs to. */
    public record Reported(DriverVersion driver, CudaVersion cuda) {}

    /**
     * @param nvml its last word
     */
    public CudaVersions(Supplier<Optional<Reported>> nvml) {
        this.nvml = nvml;
    }

    /** The CUDA version of a driver; empty for one that NVML is not of and the table lacks. */
    public Optional<CudaVersion> of(DriverVersion driver) {
        return nvml.get()
                .filter(reported -> reported.driver().equals(driver))
                .map(Reported::cuda)
                .or(() -> DriverBranches.cudaOf(driver));
    }

    /** The facts about a driver that images are checked against, with its CUDA version. */
    public DriverFacts facts(DriverVersion driver) {
        DriverFacts facts = DriverFacts.of(driver);
        return of(driver).map(facts::withCuda).orElse(facts);
    }
}
