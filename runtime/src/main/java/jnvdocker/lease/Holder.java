package jnvdocker.lease;

import jnvdocker.posix.ProcessId;

import java.util.List;
import java.util.Optional;

/** The process or container that a lease depends on. */
public sealed interface Holder {

    /** The process that a lease depends on as long as nothing better is known. */
    ProcessId process();

    /** A container's first process, as far as it is known; empty for every other kind. */
    default Optional<ProcessId> init() {
        return Optional.empty();
    }

    /** A {@code docker run} between our plan and docker's first mount: a reservation. */
    record Client(ProcessId process) implements Holder {}

    /**
     * A process of the host that {@code jnvdocker gpu run} has become, and all that it starts.
     *
     * @param cgroup the directory of the cgroup that it and they are in
     */
    record Process(ProcessId process, String cgroup) implements Holder {}

    /**
     * A container of a Mesos agent.
     *
     * @param process that the agent has started it with, which ends last
     * @param runtime the agent's directory of it
     * @param freezer the directory of its freezer cgroup
     * @param devices the directory of the devices cgroup of the container that it is nested in, or
     *     of its own
     */
    record MesosContainer(ProcessId process, String runtime, String freezer, String devices)
            implements Holder {}

    /**
     * A container, from the mount of its claim on.
     *
     * @param process the engine that mounted the claim
     * @param init its first process, once it is known
     * @param cgroup the directory of its cgroup, once it is known
     */
    record Container(ProcessId process, Optional<ProcessId> init, Optional<String> cgroup)
            implements Holder {}

    /**
     * A container that our OCI runtime was told to create.
     *
     * @param process our runtime, which has become the real one
     * @param init its first process, once it is known
     * @param cgroup the directory of its cgroup, once it is known
     */
    record OciContainer(ProcessId process, Optional<ProcessId> init, Optional<String> cgroup)
            implements Holder {}

    /**
     * A kubelet that has reserved GPUs for a pod which it is about to start, or not to start at
     * all.
     */
    record Kubelet(ProcessId process) implements Holder {}

    /**
     * A pod of Kubernetes, whichever of its containers run.
     *
     * @param process the kubelet that has started it
     * @param cgroup the directory of its cgroup, once it is known
     * @param containers the names of those that have had the GPU, in order of their first start
     */
    record Pod(ProcessId process, Optional<String> cgroup, List<String> containers)
            implements Holder {
        public Pod {
            containers = List.copyOf(containers);
        }
    }
}
