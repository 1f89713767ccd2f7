package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuRequest;

import java.util.List;

/** An obstacle of a waiting client that does not go away when other leases end. */
public sealed interface Obstacle {
    /** The user's limits do not allow the request. */
    record OverQuota(Quota.Excess excess) implements Obstacle {}

    /** The user already has the GPUs that the client waits for. */
    record Own(Owner owner, List<ClaimedGpu> gpus, List<Lease> leases) implements Obstacle {}

    /** A process uses the GPUs without a lease. */
    record Used(List<ClaimedGpu> gpus, UnmanagedUses unmanaged) implements Obstacle {}

    /** The driver cannot talk to it. */
    record Sick(Gpu gpu) implements Obstacle {}

    /** The GPU gets no new lease. */
    record Cordoned(Gpu gpu, Cordon cordon) implements Obstacle {}

    /** The driver shows no UUID of it. */
    record Nameless(Gpu gpu) implements Obstacle {}

    /** No GPU has one of these ids any more. */
    record Missing(List<String> ids) implements Obstacle {}

    /** The host has no more than these of those that are requested. */
    record TooFew(GpuRequest.Count requested, int gpus) implements Obstacle {}

    /** The number of suitable GPUs is unknown: NVML does not report the memory of these. */
    record Unclear(List<Gpu> unclear) implements Obstacle {}
}
