package jnvdocker.kubernetes;

import jnvdocker.words.RefusedException;

import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What a kubelet requests from a device plugin. Only {@link #start} waits; a kubelet admits no pod
 * while one of the others does not answer.
 */
public interface DevicePlugin {
    /**
     * The devices, as they are known now. One that was in a list once is in every later one: a
     * kubelet ends when a device that it is allocating has vanished.
     */
    List<Device> devices();

    /**
     * The UUIDs of the devices, and of the GPUs that they are instances of: any other program that
     * gives out one of these gives out what is ours.
     */
    Set<String> uuids();

    /**
     * Notifies a listener whenever the list may have changed, until the watch is closed. The
     * listener runs on a thread of the plugin, and must not wait.
     */
    Watch watch(Runnable listener);

    /** A listener of {@link #watch}. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * The best of the devices that a kubelet has left. Never fails: a kubelet rejects the pod for
     * good when it does.
     *
     * @param available the ids to choose from
     * @param included those of them that must be among the answer
     * @param size how many ids to answer
     */
    List<String> preferred(List<String> available, List<String> included, int size);

    /**
     * Lets a container have devices, and reserves those that are free. The kubelet does not name
     * the pod.
     *
     * @throws RefusedException when they cannot be given; names their holders, if any. The kubelet
     *     rejects the pod for good
     */
    DeviceEdits allocate(List<String> ids) throws RefusedException;

    /**
     * Takes the lease for a container that is about to start, and waits until it can be had.
     *
     * @param patience after which the kubelet is to try again
     * @throws RefusedException when it cannot be had; names the holders, if any. The kubelet tries
     *     again
     */
    void start(List<String> ids, Duration patience) throws RefusedException;
}
