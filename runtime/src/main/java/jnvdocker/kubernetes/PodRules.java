package jnvdocker.kubernetes;

import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.supply.Supply;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Set;

/**
 * All but the leases that a choice for a pod depends on, read before it is made. A kubelet has
 * chosen the GPUs, so that no user's limits count for a request of them.
 */
record PodRules(Supply.Terms terms, List<Ticket> waiting) {
    private static final Requested BY_KUBELET =
            new Requested(new GpuRequest.All(), Owner.KUBERNETES);

    GpuChoice choice(Holdings holdings, UnmanagedUses unmanaged) {
        return terms.choice(holdings, unmanaged, waiting);
    }

    /** The request for whole GPUs that a kubelet has chosen. */
    static Requested requested(List<Gpu> gpus) {
        List<String> uuids = gpus.stream().map(Gpu::uuid).toList();
        return BY_KUBELET.with(new GpuRequest.Devices(uuids), Set.of());
    }

    /** The outcome for those of GPUs that a kubelet has chosen whole which nobody holds. */
    static Outcome whole(List<Gpu> gpus, Holdings holdings, GpuChoice choice)
            throws RefusedException {
        List<Gpu> free = free(gpus, holdings);
        return free.isEmpty() ? new Outcome.Chosen(List.of()) : choice.of(requested(free));
    }

    static List<Gpu> free(List<Gpu> gpus, Holdings holdings) {
        return gpus.stream().filter(gpu -> holdings.of(gpu).isEmpty()).toList();
    }

    /** The outcome for a share of a GPU. */
    static Outcome share(GpuFilter share, Gpu gpu, GpuChoice choice) throws RefusedException {
        return choice.of(BY_KUBELET.with(new GpuRequest.Count(1, share), Set.of(gpu.uuid())));
    }
}
