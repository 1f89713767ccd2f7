package jnvdocker.holder;

import jnvdocker.process.Processes;

import java.util.function.Supplier;

/**
 * What the host shows in one pass over the leases. Each part is read when it is first needed, so
 * that many holders cost as much as one, and belongs to leases that were read before.
 */
public final class HostView {
    private final Processes processes;
    private final Supplier<ClaimMounts.Seen> scan;
    private ClaimMounts.Seen mounted;

    /**
     * @param scan of all mounts of claims
     */
    HostView(Processes processes, Supplier<ClaimMounts.Seen> scan) {
        this.processes = processes;
        this.scan = scan;
    }

    /** The processes, as they are at each question: a pid that is reused is not the same. */
    public Processes processes() {
        return processes;
    }

    /**
     * The claims that are mounted.
     *
     * @throws java.io.UncheckedIOException when that cannot be learnt
     */
    public ClaimMounts.Seen mounted() {
        if (mounted == null) {
            mounted = scan.get();
        }
        return mounted;
    }
}
