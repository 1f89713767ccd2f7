package jnvdocker.lease;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Part;

import java.util.Comparator;
import java.util.Optional;

/**
 * One GPU of a claim, with the node that the holder was given for it. The holder keeps the node,
 * which is another GPU's when the driver has been loaded again without one of the GPUs, or with the
 * GPUs in another order.
 *
 * @param index when it was claimed
 * @param minor of its node
 * @param part the part of the GPU that it is, with its other nodes; empty for a whole one
 * @param share the part of its memory that is claimed; empty where no other claim may have it
 */
public record ClaimedGpu(
        String uuid, int index, int minor, Optional<Part> part, Optional<Share> share) {
    /** By index, and the instances of a GPU by their numbers. */
    public static final Comparator<ClaimedGpu> ORDER =
            Comparator.comparingInt(ClaimedGpu::index)
                    .thenComparingInt(gpu -> gpu.part().map(Part::number).orElse(-1));

    /**
     * One that was written down.
     *
     * @param part what {@link #partWord} was; empty for a whole GPU
     */
    public static ClaimedGpu read(String uuid, int index, int minor, Optional<String> part) {
        return new ClaimedGpu(
                uuid, index, minor, part.flatMap(Part::parse), part.flatMap(Share::parse));
    }

    /** One that no other claim may have. */
    public static ClaimedGpu of(Gpu gpu) {
        return of(gpu, Optional.empty());
    }

    /** One of which others may have shares, too, if a share of it is claimed. */
    public static ClaimedGpu of(Gpu gpu, Optional<Share> share) {
        return new ClaimedGpu(gpu.uuid(), gpu.index(), gpu.minor(), gpu.part(), share);
    }

    /** Whether it is this one, under the same nodes. */
    public boolean isStill(Gpu gpu) {
        return gpu.uuid().equals(uuid) && hasNodesOf(gpu);
    }

    /** Whether the nodes that it was given are those that a GPU has. */
    public boolean hasNodesOf(Gpu gpu) {
        return gpu.minor() == minor
                && part.isPresent() == gpu.part().isPresent()
                && (part.isEmpty() || part.get().hasNodesOf(gpu.part().orElseThrow()));
    }

    /**
     * Whether nobody may have this one while somebody has the other, by what they are: it is the
     * same, or one is a part of the other.
     */
    public boolean excludes(ClaimedGpu other) {
        return uuid.equals(other.uuid)
                || isPartOf(other.uuid)
                || other.isPartOf(uuid)
                || part.isPresent()
                        && other.part.isPresent()
                        && part.get().isSameAs(other.part.get());
    }

    /**
     * Whether the nodes that were given for this one are those of another now: the driver gives out
     * the numbers anew whenever it is loaded. The node of a whole GPU is enough to open an instance
     * of it, as far as it is known here, and the other way round.
     */
    public boolean opens(ClaimedGpu other) {
        return minor == other.minor
                && (part.isEmpty()
                        || other.part.isEmpty()
                        || part.get().hasNodesOf(other.part.get()));
    }

    /** Whether it is a part of the GPU with that UUID. */
    public boolean isPartOf(String whole) {
        return part.isPresent() && part.get().parent().equals(whole);
    }

    /** All that is known of its part, or of the share, in one word, for {@link #read}. */
    public Optional<String> partWord() {
        return part.map(Part::toString).or(() -> share.map(Share::toString));
    }

    /**
     * The GPUs that it counts as: a share counts as its part of the memory, a MIG instance as its
     * part of the slices.
     */
    public double count() {
        return share.map(Share::part).or(() -> part.map(Part::count)).orElse(1.0);
    }

    /** The UUID of the GPU that it is a part of. */
    public Optional<String> parent() {
        return part.map(Part::parent);
    }

    /** {@code 0}, or {@code 0:1} for an instance. */
    public String number() {
        return Gpu.number(index, part);
    }

    /** {@code /dev/nvidia1}. */
    public String node() {
        return DeviceNodes.nameOf(minor);
    }
}
