package jnvdocker.claim;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Optional;

/** A stopped container keeps its nodes, and after re-cabling they may be another GPU's. */
public final class ClaimedNodes {
    private ClaimedNodes() {}

    /**
     * Whether a claim's container has the nodes of its GPUs.
     *
     * @param present the GPUs of the host
     * @throws RefusedException naming the first GPU that is not there, or has another node now
     */
    public static void refuseOthers(Claim claim, List<Gpu> present) throws RefusedException {
        for (ClaimedGpu claimed : claim.gpus()) {
            Optional<Gpu> gpu =
                    present.stream()
                            .filter(candidate -> candidate.uuid().equals(claimed.uuid()))
                            .findFirst();
            if (gpu.isEmpty()) {
                refuseUnknown(claimed, present);
                throw new RefusedException(
                        LeaseText.name(claimed.number(), claimed.uuid())
                                + " is no longer on this host, or the driver does not show it",
                        Addressee.Stopped.RUN_AGAIN + " to get another GPU");
            }
            if (!claimed.hasNodesOf(gpu.get())) {
                throw new RefusedException(
                        LeaseText.name(gpu.get().number(), claimed.uuid())
                                + changed(claimed, gpu.get()),
                        Addressee.Stopped.RUN_AGAIN
                                + " with --gpus device="
                                + Gpu.shortUuid(claimed.uuid()));
            }
        }
    }

    private static String changed(ClaimedGpu claimed, Gpu now) {
        return now.minor() == claimed.minor()
                ? " has other nodes in /dev/nvidia-caps than this container was given"
                : " has become %s, and this container was given %s, which is another GPU now"
                        .formatted(ClaimedGpu.of(now).node(), claimed.node());
    }

    /** After the host's start it takes a while until the instances of a GPU are known. */
    private static void refuseUnknown(ClaimedGpu claimed, List<Gpu> present)
            throws RefusedException {
        for (Gpu gpu : present) {
            if (claimed.isPartOf(gpu.uuid()) && !gpu.isSound()) {
                throw new RefusedException(
                        LeaseText.name(claimed.number(), claimed.uuid())
                                + " is an instance of GPU "
                                + gpu.index()
                                + ", which cannot be given out: "
                                + gpu.trouble().map(Refusal::what).orElseThrow(),
                        "start this container again when 'jnvdocker gpu ls' shows the instance");
            }
        }
    }
}
