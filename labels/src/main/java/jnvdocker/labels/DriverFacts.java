package jnvdocker.labels;

import jnvdocker.words.Quote;

import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/**
 * The facts that an image's needs are checked against: the loaded driver and, as far as they are
 * known, one GPU, and whether the image has CUDA libraries that come before the driver's. Other
 * facts are unknown, and conditions on them count as true.
 */
public final class DriverFacts {
    private final DriverVersion driver;
    private final CudaVersion cuda;
    private final String arch;
    private final String brand;
    private final Boolean compat;
    private final Map<Property, VersionNumber> versions = new EnumMap<>(Property.class);

    private DriverFacts(
            DriverVersion driver, CudaVersion cuda, String arch, String brand, Boolean compat) {
        this.driver = driver;
        this.cuda = cuda;
        this.arch = arch;
        this.brand = brand;
        this.compat = compat;
        versions.put(Property.DRIVER, new VersionNumber(driver.text()));
        if (cuda != null) {
            versions.put(Property.CUDA, new VersionNumber(cuda.toString()));
        }
        if (arch != null) {
            versions.put(Property.ARCH, new VersionNumber(arch));
        }
    }

    public static DriverFacts of(DriverVersion driver) {
        return new DriverFacts(driver, null, null, null, null);
    }

    /** A copy with the CUDA version that the driver supports. */
    public DriverFacts withCuda(CudaVersion known) {
        return new DriverFacts(driver, known, arch, brand, compat);
    }

    /**
     * A copy with the compute capability of the GPU, such as 8.6.
     *
     * @throws IllegalArgumentException quoting the text, when it is not numbers and dots
     */
    public DriverFacts withArch(String computeCapability) {
        return new DriverFacts(driver, cuda, computeCapability, brand, compat);
    }

    /** A copy with the brand of the GPU, such as geforce or tesla. */
    public DriverFacts withBrand(String known) {
        return new DriverFacts(driver, cuda, arch, known, compat);
    }

    /** A copy with whether CUDA libraries of the image's own come before the driver's. */
    public DriverFacts withCompat(boolean known) {
        return new DriverFacts(driver, cuda, arch, brand, known);
    }

    /** The facts about the same GPU under another driver. */
    DriverFacts withDriver(DriverVersion other, CudaVersion supported) {
        return new DriverFacts(other, supported, arch, brand, compat);
    }

    public DriverVersion driver() {
        return driver;
    }

    public Optional<CudaVersion> cuda() {
        return Optional.ofNullable(cuda);
    }

    /** The compute capability of the GPU, {@code 8.6}. */
    public Optional<String> arch() {
        return Optional.ofNullable(arch);
    }

    public Optional<String> brand() {
        return Optional.ofNullable(brand);
    }

    /** Whether CUDA libraries of the image's own come before the driver's. */
    public Optional<Boolean> compat() {
        return Optional.ofNullable(compat);
    }

    /** The value of cuda, driver or arch; empty when it is unknown. */
    Optional<VersionNumber> version(Property property) {
        return Optional.ofNullable(versions.get(property));
    }

    /** The value for a message, shortened if it came from outside. */
    String shown(Property property) {
        return switch (property) {
            case CUDA, DRIVER, ARCH -> version(property).map(VersionNumber::text).orElse("unknown");
            case BRAND -> brand().map(Quote::shown).orElse("unknown");
        };
    }
}
