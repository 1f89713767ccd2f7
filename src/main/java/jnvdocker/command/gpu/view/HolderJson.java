package jnvdocker.command.gpu.view;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.use.Observer;
import jnvdocker.use.RunningContainer;

import java.util.Optional;

/** The holder of a GPU, or an unmanaged user of it: keys of a GPU and of a lease. */
public record HolderJson(
        String claim,
        String user,
        Long uid,
        String containerId,
        String containerName,
        String image,
        String command,
        String pod,
        Integer pid) {
    private static final int UNKNOWN_UID = -1;

    public static final HolderJson NOBODY =
            new HolderJson(null, null, null, null, null, null, null, null, null);

    public static HolderJson of(Lease lease) {
        Claim claim = lease.claim();
        Optional<Claim.ContainerRef> container = claim.container();
        Purpose purpose = Purpose.of(claim.origin());
        return new HolderJson(
                claim.id(),
                claim.owner().name(),
                uid(claim.owner()).orElse(null),
                container.map(Claim.ContainerRef::id).orElse(null),
                container.map(Claim.ContainerRef::name).orElse(null),
                purpose.image().orElse(null),
                purpose.command().orElse(null),
                purpose.pod().orElse(null),
                lease.process().map(ProcessId::pid).orElse(null));
    }

    /** Returns the keys of a holder that an unmanaged user has, too. */
    public static HolderJson of(GpuUse use) {
        Optional<Owner> owner = LeaseText.owner(use);
        Optional<RunningContainer> container = use.container();
        return new HolderJson(
                null,
                owner.map(Owner::name).orElse(null),
                owner.map(Owner::uid).map(Integer::toUnsignedLong).orElse(null),
                LeaseText.containerId(use).orElse(null),
                container.map(RunningContainer::name).orElse(null),
                container.map(RunningContainer::image).orElse(null),
                null,
                null,
                use.process()
                        .map(GpuUse.User::id)
                        .or(() -> container.flatMap(RunningContainer::init))
                        .map(ProcessId::pid)
                        .orElse(null));
    }

    /** Returns the keys of a holder that an observer has, too. */
    public static HolderJson of(Observer observer) {
        return new HolderJson(
                null,
                observer.owner(),
                null,
                observer.id(),
                observer.name(),
                observer.image().orElse(null),
                null,
                null,
                null);
    }

    /** Returns an owner's uid; empty for the owner of a claim that has lost its origin. */
    public static Optional<Long> uid(Owner owner) {
        return Optional.of(owner.uid())
                .filter(uid -> uid != UNKNOWN_UID)
                .map(Integer::toUnsignedLong);
    }
}
