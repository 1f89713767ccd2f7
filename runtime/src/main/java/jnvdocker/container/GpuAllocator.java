package jnvdocker.container;

import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import java.util.List;

/** The one object that says which GPUs a container gets. */
public interface GpuAllocator {

    /**
     * @param gpus those of this host, in order of index
     * @return in order of index, all that were asked for
     * @throws RefusedException when it can't be all of them
     */
    List<Gpu> allocate(GpuRequest request, List<Gpu> gpus) throws RefusedException;
}
