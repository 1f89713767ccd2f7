package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** Grants leases to a device plugin. Both methods may wait for the disk. */
interface PodGrants {
    /**
     * Reserves those of the GPUs that are free for a pod that is not known yet; all of these, or
     * none. Those that are reserved, or held by a pod, are its in {@link #take}. Does not scan for
     * uses without a lease, so that it is fast: {@link #take} does.
     *
     * @throws RefusedException when another holds one of them, or it may not be given out
     */
    void reserve(List<Gpu> gpus, ProcessId kubelet) throws RefusedException, IOException;

    /**
     * Gives all GPUs to a pod, from now on until nothing of it lives and the kubelet no longer
     * lists them. The same pod again gets the same answer.
     *
     * @param patience how long it waits for the ends of others
     * @return its leases of them
     * @throws RefusedException when the GPUs cannot be given; names their holders, if any
     */
    List<Lease> take(PodStart start, Duration patience) throws RefusedException, IOException;
}
