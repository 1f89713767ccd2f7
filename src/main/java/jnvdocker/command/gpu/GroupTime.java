package jnvdocker.command.gpu;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.posix.HostNames;

/** Adds up the GPU time of users by the group that each of them is in first. */
final class GroupTime {
    /** Stands for the group of users without one. */
    private static final String NONE = "-";

    private GroupTime() {}

    static GpuTime of(GpuTime users) {
        return users.by(owner -> new Owner(Owner.UNKNOWN.uid(), group(owner)));
    }

    private static String group(Owner owner) {
        return owner.uid() == Owner.UNKNOWN.uid()
                ? NONE
                : HostNames.ofThisHost().groupOf(owner.uid()).orElse(NONE);
    }
}
