package jnvdocker.host;

/**
 * One GPU. Its identity is the UUID; the rest is for people and device nodes, and may change when
 * the host is re-cabled.
 *
 * @param index its place in the order of PCI addresses, as nvidia-smi numbers GPUs
 * @param uuid {@code GPU-5c1a1003-…}; with question marks while nothing has opened the GPU since
 *     boot; {@value #UNKNOWN} when the driver names none
 * @param minor the number in the name of its device node {@code /dev/nvidia<minor>}; -1 when the
 *     driver names none
 * @param pciAddress {@code 0000:07:00.0}, lower case
 * @param model {@code NVIDIA A100-SXM4-40GB}
 * @param trouble what is wrong with it, so that it cannot be given out; empty when nothing is
 */
public record Gpu(
        int index, String uuid, int minor, String pciAddress, String model, String trouble) {
    static final String UNKNOWN = "?";

    /** One with which nothing is wrong. */
    public Gpu(int index, String uuid, int minor, String pciAddress, String model) {
        this(index, uuid, minor, pciAddress, model, "");
    }

    static Gpu troubled(int index, String pciAddress, String trouble) {
        return new Gpu(index, UNKNOWN, -1, pciAddress, UNKNOWN, trouble);
    }

    /** Whether it can be given out at all, be it held or free. */
    public boolean isSound() {
        return trouble.isEmpty();
    }

    /** {@code GPU-5c1a1003}: what people type and messages show. */
    public String shortUuid() {
        return shortUuid(uuid);
    }

    /** The same of a GPU that may not be here any more. */
    public static String shortUuid(String uuid) {
        return uuid.length() < 12 ? uuid : uuid.substring(0, 12);
    }

    /** Whether the driver knows its UUID by now. */
    public boolean hasUuid() {
        return uuid.indexOf('?') < 0;
    }
}
