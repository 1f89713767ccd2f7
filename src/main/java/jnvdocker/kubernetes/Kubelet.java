package jnvdocker.kubernetes;

import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/** The kubelet of this host, as far as it can be queried. */
public interface Kubelet {
    /**
     * The process that listens on {@code kubelet.sock}.
     *
     * @throws IOException when none does
     */
    ProcessId process() throws IOException;

    /**
     * The devices that containers of pods have (podresources v1 List): one entry for each container
     * and resource. Ordinary init containers are missing.
     *
     * @param limit for the whole answer
     * @throws IOException when the kubelet does not answer in time, or not in full
     */
    List<ContainerDevices> list(Duration limit) throws IOException;

    /**
     * The devices of one container.
     *
     * @param resource {@code nvidia.com/gpu}
     * @param ids of the devices, as the plugin named them
     */
    record ContainerDevices(
            String namespace, String pod, String container, String resource, Set<String> ids) {
        public ContainerDevices {
            ids = Set.copyOf(ids);
        }
    }
}
