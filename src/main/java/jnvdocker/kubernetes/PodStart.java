package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A container of a pod that is about to start.
 *
 * @param request of the kubelet, which starts it; it names the pod, unless the kubelet has not done
 *     so, and the container, if that is known
 * @param gpus that are requested
 * @param shares by UUID, how much memory is requested of those that are not requested whole
 */
public record PodStart(Request request, List<Gpu> gpus, Map<String, MemorySize> shares) {
    public PodStart {
        gpus = List.copyOf(gpus);
        shares = Map.copyOf(shares);
    }

    /**
     * A container of a pod.
     *
     * @param container its name; empty when that is not known
     */
    public PodStart(
            List<Gpu> gpus,
            Map<String, MemorySize> shares,
            Origin.Pod pod,
            Optional<String> container,
            ProcessId kubelet) {
        this(
                new Request(
                        kubelet,
                        new Requested(
                                new GpuRequest.Devices(gpus.stream().map(Gpu::uuid).toList()),
                                pod.owner()),
                        pod,
                        container),
                gpus,
                shares);
    }

    /** A container that requests whole GPUs. */
    public PodStart(List<Gpu> gpus, Origin.Pod pod, Optional<String> container, ProcessId kubelet) {
        this(gpus, Map.of(), pod, container, kubelet);
    }

    /** All containers of a pod, which have GPUs by a resource claim of this uid. */
    static PodStart byClaim(
            List<Gpu> gpus,
            Map<String, MemorySize> shares,
            Origin.Pod pod,
            String claim,
            ProcessId kubelet) {
        return new PodStart(gpus, shares, pod, Optional.of(PodKind.byClaim(claim)), kubelet);
    }

    /** The request of a place in the queue, which its pod has by its oldest process. */
    Request place(ProcessId sandbox) {
        return new Request(sandbox, request.requested(), request.origin(), Optional.empty());
    }

    /** Unknown until the kubelet names it. */
    Origin.Pod pod() {
        return (Origin.Pod) request.origin();
    }

    /** The amount of a GPU that is requested; of any when the GPU is requested whole. */
    GpuFilter filter(Gpu gpu) {
        return GpuFilter.sharing(Optional.ofNullable(shares.get(gpu.uuid())));
    }

    List<Gpu> whole() {
        return gpus.stream().filter(gpu -> !shares.containsKey(gpu.uuid())).toList();
    }

    /** Whether a lease is the pod's of a GPU, as it is requested. */
    boolean isOf(Lease lease, Gpu gpu) {
        boolean share = shares.containsKey(gpu.uuid());
        return isOfPod(lease)
                && lease.claims(ClaimedGpu.of(gpu))
                && lease.share(gpu.uuid()).isPresent() == share
                && (!share || lease.holder().details().containsAll(details()));
    }

    /** Whether the pod may open one of its GPUs by the node of another of its GPUs, too. */
    boolean opens(Lease lease, Gpu gpu, Optional<Lease> own) {
        return own.isPresent()
                && lease.opened(ClaimedGpu.of(gpu)).isPresent()
                && PodKind.pod(lease).filter(its -> its.uid().equals(pod().uid())).isPresent();
    }

    /** What the holder of its leases has among its details. */
    List<String> details() {
        return request.container().stream().toList();
    }

    /** Whether a pod has a lease, or may make it its own. */
    private boolean isOfPod(Lease lease) {
        return PodKind.pod(lease)
                .filter(its ->
                        lease.isReservation()
                                || !its.uid().isEmpty() && its.uid().equals(pod().uid()))
                .isPresent();
    }
}
