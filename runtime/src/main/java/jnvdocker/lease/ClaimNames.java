package jnvdocker.lease;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The names that represent a claim in docker: its volume, and the labels of its container. */
public final class ClaimNames {
    /** Carried by every container with GPUs: the id of its claim. */
    public static final String CLAIM_LABEL = "jnvdocker.claim";

    /** A container's label: the UUIDs of its claim's GPUs, separated by commas. */
    public static final String GPUS_LABEL = "jnvdocker.gpus";

    /** A container's label: how long its user wants the GPUs, as {@code --gpu-time} has it. */
    public static final String TIME_LABEL = "jnvdocker.time";

    /** A container's label: how long its start waits for the GPUs, as {@code --gpu-wait} has it. */
    public static final String WAIT_LABEL = "jnvdocker.wait";

    private static final String PREFIX = "jnvdocker_claim_";

    private ClaimNames() {}

    /** The name of a claim's volume. */
    public static String volume(String claim) {
        return PREFIX + claim;
    }

    /** The claim of a volume, empty when it is not one of ours. */
    public static Optional<String> ofVolume(String volume) {
        return Optional.of(volume)
                .filter(name -> name.startsWith(PREFIX))
                .map(name -> name.substring(PREFIX.length()))
                .filter(Claim::isId);
    }

    /**
     * The claim of a container that we started. Its label alone may come from an image.
     *
     * @param volumes the names of those that it mounts
     */
    public static Optional<String> of(Map<String, String> labels, List<String> volumes) {
        return Optional.ofNullable(labels.get(CLAIM_LABEL))
                .filter(Claim::isId)
                .filter(id -> volumes.contains(volume(id)));
    }
}
