package jnvdocker.lease.text;

import jnvdocker.labels.GpuNeeds;
import jnvdocker.lease.ClaimNames;

import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The labels of containers and images that jnvdocker reads. There may be any number of others, and
 * nobody needs a copy of them.
 */
public final class ContainerLabels {
    /** Swarm sets it on the container of each of its tasks. */
    private static final String SWARM = "com.docker.swarm.task.id";

    /** Compose sets it on the container of each service of a project. */
    public static final String PROJECT = "com.docker.compose.project";

    private static final Set<String> READ =
            Stream.of(
                            List.of(SWARM, PROJECT),
                            ClaimNames.LABELS,
                            ContainerOwner.LABELS,
                            GpuNeeds.LABELS)
                    .flatMap(List::stream)
                    .collect(Collectors.toUnmodifiableSet());

    private ContainerLabels() {}

    public static boolean areRead(String label) {
        return READ.contains(label);
    }
}
