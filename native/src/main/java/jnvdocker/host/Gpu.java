package jnvdocker.host;

import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.Comparator;
import java.util.Optional;

/**
 * One GPU, or one MIG instance, which counts as a GPU of its own. Its identity is the UUID; the
 * other components are for people and device nodes, and may change when the host is re-cabled.
 *
 * @param index its place in the order of PCI addresses, as nvidia-smi numbers GPUs; an instance's
 *     is that of the whole GPU
 * @param uuid {@code GPU-5c1a1003-…}, or {@code MIG-…}; with question marks until the GPU is first
 *     opened after a boot; {@value #UNKNOWN} when the driver names none
 * @param minor the number in the name of its device node {@code /dev/nvidia<minor>}; -1 when the
 *     driver names none
 * @param pciAddress {@code 0000:07:00.0}, lower case
 * @param model {@code NVIDIA A100-SXM4-40GB}
 * @param trouble the fault for which it cannot be given out, and what to do; empty when it has none
 * @param troubleSince when it got the fault; empty where that is not known
 * @param part the part of the GPU that it is; empty for a whole one
 */
public record Gpu(
        int index,
        String uuid,
        int minor,
        String pciAddress,
        String model,
        Optional<Refusal> trouble,
        Optional<Instant> troubleSince,
        Optional<Part> part) {
    /** By index, and the instances of a GPU by their numbers. */
    public static final Comparator<Gpu> ORDER =
            Comparator.comparingInt(Gpu::index)
                    .thenComparingInt(gpu -> gpu.part().map(Part::number).orElse(-1));

    static final String UNKNOWN = "?";
    private static final String REMEDY = "check the kernel log (dmesg | grep -i nvrm)";

    /** A GPU whose fault has no time. */
    public Gpu(
            int index,
            String uuid,
            int minor,
            String pciAddress,
            String model,
            Optional<Refusal> trouble,
            Optional<Part> part) {
        this(index, uuid, minor, pciAddress, model, trouble, Optional.empty(), part);
    }

    /** A whole GPU. */
    public Gpu(
            int index,
            String uuid,
            int minor,
            String pciAddress,
            String model,
            Optional<Refusal> trouble) {
        this(index, uuid, minor, pciAddress, model, trouble, Optional.empty());
    }

    /** A GPU without a fault. */
    public Gpu(int index, String uuid, int minor, String pciAddress, String model) {
        this(index, uuid, minor, pciAddress, model, Optional.empty());
    }

    /** A GPU that the driver does not identify. */
    static Gpu unknown(int index, String pciAddress, String trouble) {
        return new Gpu(
                index, UNKNOWN, -1, pciAddress, UNKNOWN, Optional.of(new Refusal(trouble, REMEDY)));
    }

    /** A copy with a fault. */
    public Gpu with(Refusal fault) {
        return with(fault, Optional.empty());
    }

    /**
     * A copy with a fault.
     *
     * @param since empty where that is not known
     */
    public Gpu with(Refusal fault, Optional<Instant> since) {
        return new Gpu(index, uuid, minor, pciAddress, model, Optional.of(fault), since, part);
    }

    /** Whether the driver says which it is: then it has a node, though it may have a fault. */
    public boolean isIdentified() {
        return minor >= 0;
    }

    /** Whether it can be given out at all, whether held or free. */
    public boolean isSound() {
        return trouble.isEmpty();
    }

    /** Returns {@code 0}, or {@code 0:1} for an instance, which people type and messages show. */
    public String number() {
        return number(index, part);
    }

    /** Returns the same for a GPU that may no longer be here. */
    public static String number(int index, Optional<Part> part) {
        return index + part.map(it -> ":" + it.number()).orElse("");
    }

    /** The GPUs that it counts as: an instance counts as its part of the GPU. */
    public double count() {
        return part.map(Part::count).orElse(1.0);
    }

    /** Returns the UUID of the GPU that it is, or is a part of. */
    public String wholeUuid() {
        return part.map(Part::parent).orElse(uuid);
    }

    /** Returns an id that means it and no other, whether it has a UUID or not. */
    public String id() {
        return part.isPresent() ? number() : pciAddress;
    }

    /** Returns {@code GPU-5c1a1003}, which people type and messages show. */
    public String shortUuid() {
        return shortUuid(uuid);
    }

    /** Returns the same for a GPU that may no longer be here. */
    public static String shortUuid(String uuid) {
        return uuid.length() < 12 ? uuid : uuid.substring(0, 12);
    }

    /** Whether the driver knows its UUID yet. */
    public boolean hasUuid() {
        return uuid.indexOf('?') < 0;
    }
}
