package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;

import java.util.Optional;

/**
 * Describes holders whose nodes are other GPUs' now, since the driver was loaded again while they
 * ran.
 */
public final class NodeText {
    private NodeText() {}

    /**
     * {@code open to alice's container train-7, which was given /dev/nvidia1 as GPU 1
     * (GPU-5c1a1003)}.
     *
     * @param as the holder's own GPU
     */
    static HoldersText.By openTo(Lease lease, ClaimedGpu as) {
        return new HoldersText.By(
                "open to " + LeaseText.holder(lease), ", which was given " + given(as));
    }

    private static String given(ClaimedGpu as) {
        return as.node() + " as " + LeaseText.name(as.number(), as.uuid());
    }

    /** {@code is open to alice's container train-7, …}; empty if its holder cannot open the GPU. */
    public static Optional<String> open(Lease lease, Gpu gpu) {
        return lease.opened(ClaimedGpu.of(gpu)).map(as -> "is " + openTo(lease, as));
    }

    /**
     * {@code its holder was given /dev/nvidia1 as GPU 1 (GPU-5c1a1003)}: a note on a GPU under a
     * lease; empty where the holder has the node of its GPU.
     */
    public static Optional<String> note(Lease lease, Gpu gpu) {
        return lease.opened(ClaimedGpu.of(gpu))
                .map(as -> "its holder was given " + given(as))
                .or(() ->
                        lease.claim().gpus().stream()
                                .filter(its -> its.uuid().equals(gpu.uuid()))
                                .filter(its -> gpu.isIdentified() && !its.hasNodesOf(gpu))
                                .findFirst()
                                .map(its ->
                                        "its holder was given %s, and it is %s now"
                                                .formatted(its.node(), ClaimedGpu.of(gpu).node())));
    }
}
