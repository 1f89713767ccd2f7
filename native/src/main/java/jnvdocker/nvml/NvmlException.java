package jnvdocker.nvml;

import java.util.Set;

/** A request to NVML has failed. */
public final class NvmlException extends Exception {
    private static final long serialVersionUID = 1L;

    static final int SUCCESS = 0;
    static final int NOT_SUPPORTED = 3;
    static final int NOT_FOUND = 6;
    static final int INSUFFICIENT_SIZE = 7;
    static final int TIMEOUT = 10;
    static final int FUNCTION_NOT_FOUND = 13;
    private static final int GPU_IS_LOST = 15;
    private static final int RESET_REQUIRED = 16;

    /** NOT_FOUND, IRQ_ISSUE, GPU_IS_LOST, RESET_REQUIRED, GPU_NOT_FOUND. */
    private static final Set<Integer> OF_THE_GPU = Set.of(NOT_FOUND, 11, 15, 16, 28);

    /** UNINITIALIZED, DRIVER_NOT_LOADED, LIB_RM_VERSION_MISMATCH. */
    private static final Set<Integer> OF_THE_DRIVER = Set.of(1, 9, 18);

    private final int code;

    /**
     * @param text NVML's own for that code: {@code GPU is lost}
     */
    NvmlException(int code, String text) {
        super(text);
        this.code = code;
    }

    /** Whether a result says more than that one field cannot be read. */
    static boolean isFinal(int code) {
        return OF_THE_GPU.contains(code) || OF_THE_DRIVER.contains(code);
    }

    /**
     * Whether the GPU is lost, or can do nothing before its next reset: then it does not answer
     * again without one.
     */
    public boolean needsReset() {
        return code == GPU_IS_LOST || code == RESET_REQUIRED;
    }

    /** Whether the driver, the GPU or its virtual machine does not have it. */
    boolean isNotSupported() {
        return code == NOT_SUPPORTED || code == FUNCTION_NOT_FOUND;
    }

    /** Whether nothing more can be learnt of any GPU, as after an upgrade of the driver. */
    public boolean isOfTheDriver() {
        return OF_THE_DRIVER.contains(code);
    }
}
