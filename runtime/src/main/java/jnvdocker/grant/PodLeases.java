package jnvdocker.grant;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.process.ProcessId;
import jnvdocker.words.RefusedException;

/**
 * Leases of pods of Kubernetes: one for each pod and GPU, which all containers of the pod share.
 * Whoever starts a container for a kubelet takes them here: a device plugin now, a driver of
 * Dynamic Resource Allocation later.
 */
public final class PodLeases {
    /**
     * A container of a pod that is about to start.
     *
     * @param pod empty when the kubelet has not told, as long as it does not answer
     * @param container its name; empty when that is not known
     * @param kubelet the process that starts it
     */
    public record Start(
            List<Gpu> gpus,
            java.util.Optional<Origin.Pod> pod,
            java.util.Optional<String> container,
            ProcessId kubelet) {
        public Start {
            gpus = List.copyOf(gpus);
        }
    }

    /** The moment at which a kubelet was asked: leases that are made later are not in its answer. */
    public record Sight(long newest, long nanos) {}

    /**
     * Reserves those of the GPUs that are free for a pod that is not known yet; all of these, or
     * none. Those that are reserved, or held by a pod, are its in {@link #take}.
     *
     * @throws RefusedException when another holds one of them, or it may not be given out
     */
    public void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException {
        throw new UnsupportedOperationException();
    }

    /**
     * Gives all GPUs to a pod, from now on until nothing of it lives and the kubelet no longer
     * lists them. The same pod again gets the same answer.
     *
     * @param patience how long it waits for the ends of others
     * @throws RefusedException saying who has them
     */
    public List<Lease> take(Start start, Duration patience) throws RefusedException, IOException {
        throw new UnsupportedOperationException();
    }

    /** Before the kubelet is asked. */
    public Sight look() throws IOException {
        throw new UnsupportedOperationException();
    }

    /**
     * What the kubelet has answered: ends the leases that are over, learns the names of pods, and
     * restores the leases of pods that run and whose leases were lost.
     *
     * @param pods by the UUIDs of the GPUs that their containers have; one that the kubelet lists
     *     with its name only has an empty uid
     */
    public void told(Sight begun, Map<String, Set<Origin.Pod>> pods) throws IOException {
        throw new UnsupportedOperationException();
    }

    /** The leases of a pod. */
    public List<Lease> of(String uid) throws IOException {
        throw new UnsupportedOperationException();
    }
}
