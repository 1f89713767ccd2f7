package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.words.RefusedException;

import java.util.List;

/** Says what a container of a pod is to get with its GPUs, from memory: it must not wait. */
public interface PodEdits {
    /**
     * @param gpus that a kubelet is giving to a container
     * @throws RefusedException when there is nothing to give yet, such as no driver's files
     */
    DeviceEdits of(List<Gpu> gpus) throws RefusedException;
}
