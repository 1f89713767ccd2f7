package jnvdocker.core;

import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Pace;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** What a feature brings to a simulated world: holders of a kind that the core does not know. */
interface SimulatedFeature {
    /** A world with the core alone. */
    SimulatedFeature NONE = List::of;

    /** New ones of each kind of holder. */
    List<HolderKind> kinds();

    /** Opens the leases of a daemon that starts. */
    default LeaseParts open(LeaseParts.World its) throws IOException {
        return LeaseParts.open(its, kinds().toArray(HolderKind[]::new));
    }

    /** The daemon has opened its leases. */
    default void started(LeaseParts parts, Pace pace) throws IOException {}

    /** Whether a lease is of the feature's holders, which alone end it. */
    default boolean owns(Lease lease) {
        return false;
    }

    /** Whether there is a holder for a lease of the feature. */
    default boolean has(Lease lease) {
        return false;
    }

    /** Whether a process may have a place in the queue. */
    default boolean isClient(ProcessId process) {
        return false;
    }

    /** Whether only the registry knows of a holder that runs. */
    default boolean isAnyUntold() {
        return false;
    }

    /** Notes the GPUs that holders use, by UUID. */
    default void addUsers(Map<String, SimulatedWorld.User> users) {}

    /** What runs has a lease of its GPUs. */
    default void check(List<Lease> live) {}

    /** Gives everything the time that it needs. */
    default void settle() throws IOException {}

    /** Ends all holders. */
    default void end() {}

    /** The host has been restarted. */
    default void forget() {}
}
