package jnvdocker.holder;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/** All that differs between the kinds of holders. The core knows leases by nothing else. */
public interface HolderKind {

    /** The kind of the origins of which claims have such holders. */
    Origin.Kind kind();

    /**
     * Finds out whether a holder lives, by processes and cgroups alone: no engine is queried, and
     * nothing waits. A holder that is not known to be gone counts as alive.
     *
     * @throws java.io.UncheckedIOException when that cannot be learnt
     */
    Life life(Lease lease, HostView view);

    /** Finds out likewise whether a client lives that has reserved, and does not use its GPUs. */
    default Life reserved(Lease lease, HostView view) {
        ProcessId client = lease.holder().process();
        return view.processes().isAlive(client)
                ? new Life.Running(client)
                : new Life.Gone(LeaseText.command(lease.claim(), client) + " has ended");
    }

    /**
     * Whether a process is one of the holder's, by evidence that only root can make.
     *
     * @throws java.io.UncheckedIOException when that cannot be learnt
     */
    boolean owns(GpuUse.User process, Lease lease);

    /**
     * A holder that runs, whether or not it has a lease.
     *
     * @param container that it is known by to its engine
     * @param gpus that it may use
     */
    record Stray(
            Origin origin, Optional<Claim.ContainerRef> container, List<Gpu> gpus, Holder holder) {
        public Stray {
            gpus = List.copyOf(gpus);
        }
    }

    /**
     * The holders that run, as far as this machine alone shows which GPUs they may use: those of a
     * registry that was lost are given leases again.
     *
     * @param gpus of this host, all of which are known
     */
    default List<Stray> strays(List<Gpu> gpus) throws IOException {
        return List.of();
    }

    /** Whether an engine may start a holder again of which nothing runs. */
    default boolean mayComeBack(Lease lease) {
        return false;
    }

    /**
     * Takes back what was given with the GPUs, before a lease ends. May be repeated.
     *
     * @throws IOException saying what could not be taken back: the lease stays
     */
    default void clean(Lease lease) throws IOException {}

    /**
     * Stops a holder that may keep its GPUs no longer, as its user would do it. May take long, and
     * may be repeated.
     *
     * @return whether there is a way to do that
     */
    default boolean stop(Lease lease, ContainerEngine engine) throws IOException {
        return false;
    }

    /** Says what of a holder lives, for people: {@code its process (pid 4711) runs}. */
    default String runs(Lease lease, ProcessId process) {
        return "its process (pid " + process.pid() + ") runs";
    }

    /** Says why it is not known whether a holder lives, for people. */
    default String unknown(Lease lease) {
        return "it is not known whether it runs";
    }

    /** Says in a word or two, for a table, why it is not known whether a holder lives. */
    default String unknownNote(Lease lease) {
        return "not known to run";
    }

    /** Says in whole sentences what else keeps a holder, for people; empty if nothing does. */
    default Optional<String> keptBy(Lease lease) {
        return Optional.empty();
    }

    /** Returns a note about a running holder for tables; empty if there is none. */
    default String note(Lease lease) {
        return "";
    }
}
