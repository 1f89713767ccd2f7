package jnvdocker.nvml;

/**
 * Two GPUs of a host, in no order.
 *
 * @param one the PCI address that comes first: {@code 0000:07:00.0}
 * @param other {@code 0000:0f:00.0}
 */
public record GpuPair(String one, String other) {
    public GpuPair {
        if (one.compareTo(other) > 0) {
            String first = other;
            other = one;
            one = first;
        }
    }
}
