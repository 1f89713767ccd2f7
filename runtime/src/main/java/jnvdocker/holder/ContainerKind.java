package jnvdocker.holder;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;

/**
 * Containers that have the directory of their claim mounted. Only root and its engines can have
 * done that, and put a process into a cgroup that is named after a container.
 */
abstract class ContainerKind implements HolderKind {
    /** However long a container takes to end, its engine goes on with that. */
    private static final Duration STOP_LIMIT = Duration.ofMinutes(2);

    private final ClaimMounts mounts;

    ContainerKind(ClaimMounts mounts) {
        this.mounts = mounts;
    }

    /** The oldest process that has the claim mounted and may be of the holder. */
    final Optional<ProcessId> inside(Lease lease, HostView view) {
        return mounts.inside(lease, view.mounted());
    }

    /** Whether a process of the holder may be where not all mounts are read. */
    final boolean mayBeUnread(Lease lease, HostView view) {
        return mounts.mayBeUnread(lease, view.mounted());
    }

    @Override
    public boolean owns(GpuUse.User process, Lease lease) {
        Optional<String> id = process.containerId();
        boolean named =
                id.isPresent() && lease.claim().container().map(Claim.ContainerRef::id).equals(id);
        boolean inItsCgroup =
                id.isPresent()
                        && lease.holder().cgroup().filter(it -> it.contains(id.get())).isPresent();
        return named
                || inItsCgroup
                || mounts.has(process.id(), lease.claim().id())
                        && !mounts.isOfAnother(process.id(), lease);
    }

    @Override
    public boolean stop(Lease lease, ContainerEngine engine) throws IOException {
        Optional<Claim.ContainerRef> container = lease.claim().container();
        return container.isPresent() && engine.stop(container.get().id(), STOP_LIMIT);
    }
}
