package jnvdocker.labels;

import java.util.Locale;

/** The property that a condition of NVIDIA_REQUIRE_* compares. */
public enum Property {
    /** The CUDA version that the driver supports. */
    CUDA,
    /** The version of the driver. */
    DRIVER,
    /** The compute capability of a GPU, such as 8.6. */
    ARCH,
    /** The brand of a GPU as NVML names it, such as geforce or tesla. */
    BRAND;

    /** As images spell it; capital letters are accepted as well. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
