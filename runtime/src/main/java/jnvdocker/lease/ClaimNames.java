package jnvdocker.lease;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The names that represent a claim in docker: its volume, and the labels of its container. Both
 * have the claim's secret, so that the id, which every user sees, gives nobody the claim's GPUs.
 */
public final class ClaimNames {
    /** Carried by every container with GPUs: the {@link ClaimKey#text} of its claim. */
    public static final String CLAIM_LABEL = "jnvdocker.claim";

    /** A container's label: the GPUs that its user requests, as {@code --gpus} has them. */
    public static final String GPUS_LABEL = "jnvdocker.gpus";

    /** A container's label: how long its user wants the GPUs, as {@code --gpu-time} has it. */
    public static final String TIME_LABEL = "jnvdocker.time";

    /** A container's label: how long its start waits for the GPUs, as {@code --gpu-wait} has it. */
    public static final String WAIT_LABEL = "jnvdocker.wait";

    /**
     * All of these labels. The first two request GPUs; {@code native/oci/need.c} knows them, too.
     */
    public static final List<String> LABELS =
            List.of(CLAIM_LABEL, GPUS_LABEL, TIME_LABEL, WAIT_LABEL);

    private static final String PREFIX = "jnvdocker_claim_";

    private ClaimNames() {}

    /** The name of a claim's volume. */
    public static String volume(ClaimKey claim) {
        return PREFIX + claim.text();
    }

    /** The claim of a volume, empty when it is not one of ours. */
    public static Optional<ClaimKey> ofVolume(String volume) {
        return Optional.of(volume)
                .filter(name -> name.startsWith(PREFIX))
                .map(name -> name.substring(PREFIX.length()))
                .flatMap(ClaimKey::parse);
    }

    /** The claim that a label names, be it the label of an image. */
    public static Optional<ClaimKey> ofLabel(Map<String, String> labels) {
        return Optional.ofNullable(labels.get(CLAIM_LABEL)).flatMap(ClaimKey::parse);
    }

    /**
     * The claim of a container that we started. Its label alone may come from an image.
     *
     * @param volumes the names of those that it mounts
     */
    public static Optional<ClaimKey> of(Map<String, String> labels, List<String> volumes) {
        return ofLabel(labels).filter(claim -> volumes.contains(volume(claim)));
    }
}
