package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuResolver;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The limits of the configuration. A refusal because of one names the key and the file.
 *
 * @param maxGpusPerUser how many GPUs a user may have at a time; empty when as many as there are
 * @param maxGpusUnknown how many GPUs all containers together may have whose user is not known;
 *     empty when as many as a user
 * @param maxGpusPerNamespace how many GPUs the pods of a namespace of Kubernetes may have; empty
 *     when as many as there are
 * @param maxWait how long somebody may wait for GPUs; empty when for ever
 * @param maxWaitsPerUser how many times a user other than root may wait for GPUs at a time
 * @param cordon ids of GPUs that get no new lease, as {@code --gpus} spells them
 * @param allowUnmanaged whether a GPU that is used without a lease may be taken by its name
 * @param file where this was said, for messages
 */
public record LeasePolicy(
        OptionalInt maxGpusPerUser,
        OptionalInt maxGpusUnknown,
        OptionalInt maxGpusPerNamespace,
        Optional<Duration> maxWait,
        int maxWaitsPerUser,
        List<String> cordon,
        boolean allowUnmanaged,
        String file) {
    /** More than anybody types; an administrator whose programs wait may set another. */
    public static final int WAITS_PER_USER = 64;

    public LeasePolicy {
        cordon = List.copyOf(cordon);
    }

    /** With the usual number of waits, and for users who are not known. */
    public LeasePolicy(
            OptionalInt maxGpusPerUser,
            Optional<Duration> maxWait,
            List<String> cordon,
            boolean allowUnmanaged,
            String file) {
        this(
                maxGpusPerUser,
                OptionalInt.empty(),
                OptionalInt.empty(),
                maxWait,
                WAITS_PER_USER,
                cordon,
                allowUnmanaged,
                file);
    }

    /**
     * Whether the file cordons a GPU: a beginning that several UUIDs have cordons each of them, and
     * a GPU in MIG mode is cordoned with all of its instances.
     */
    public boolean cordons(Gpu gpu) {
        return cordon.stream().anyMatch(id -> GpuResolver.covers(id, gpu));
    }

    /** Ids that the file cordons, and that none of these GPUs has. */
    public List<String> cordonsNothing(List<Gpu> gpus) {
        return GpuResolver.coveringNone(cordon, gpus);
    }

    /** {@code max_wait in /etc/jnvdocker/config.toml}. */
    public String key(String name) {
        return name + " in " + file;
    }
}
