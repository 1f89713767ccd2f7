package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.volume.plugin.VolumeException;

import java.util.List;
import java.util.Optional;

/** A stopped container keeps its nodes, and after re-cabling they may be another GPU's. */
public final class ClaimedNodes {
    private ClaimedNodes() {}

    /**
     * Whether a claim's container has the nodes of its GPUs.
     *
     * @param present the GPUs of the host
     * @throws VolumeException naming the first GPU that is not there, or has another node now
     */
    public static void refuseOthers(Claim claim, List<Gpu> present) throws VolumeException {
        for (ClaimedGpu claimed : claim.gpus()) {
            Optional<Gpu> gpu =
                    present.stream()
                            .filter(candidate -> candidate.uuid().equals(claimed.uuid()))
                            .findFirst();
            if (gpu.isEmpty()) {
                throw new VolumeException(
                        LeaseText.name(claimed.index(), claimed.uuid())
                                + " is no longer on this host, or the driver does not show it",
                        "create the container again with 'jnvdocker run', on another GPU");
            }
            if (gpu.get().minor() != claimed.minor()) {
                throw new VolumeException(
                        LeaseText.name(gpu.get().index(), claimed.uuid())
                                + " has become "
                                + ClaimedGpu.of(gpu.get()).node()
                                + ", and this container was given "
                                + claimed.node()
                                + ", which is another GPU now",
                        "create it again with 'jnvdocker run --gpus device="
                                + Gpu.shortUuid(claimed.uuid())
                                + "'");
            }
        }
    }
}
