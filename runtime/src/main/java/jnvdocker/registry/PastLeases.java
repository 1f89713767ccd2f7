package jnvdocker.registry;

import jnvdocker.lease.Lease;

import java.io.IOException;
import java.util.List;

/**
 * Leases that have ended, the latest first. There may be more than memory can hold, so they are
 * read some at a time, and a slow reader keeps nothing open meanwhile.
 */
public final class PastLeases {
    /** Bytes that those take, at most, which are in memory at a time. */
    public static final int MEMORY = 512 << 10;

    static final int BATCH = 250;

    private final Source source;
    private final int limit;

    /** The source of ended leases. */
    @FunctionalInterface
    public interface Source {
        /** Returns the latest ended leases with a smaller number. */
        List<Lease> before(long lease, int limit) throws IOException;
    }

    /** The treatment of each. */
    @FunctionalInterface
    public interface Visitor {
        void visit(Lease lease) throws IOException;
    }

    public PastLeases(Source source, int limit) {
        this.source = source;
        this.limit = limit;
    }

    /** Goes over them; as often as it is called. */
    public void each(Visitor visitor) throws IOException {
        long before = Long.MAX_VALUE;
        for (int left = limit; left > 0; left -= BATCH) {
            int size = Math.min(left, BATCH);
            List<Lease> batch = source.before(before, size);
            for (Lease lease : batch) {
                visitor.visit(lease);
            }
            if (batch.size() < size) {
                return;
            }
            before = batch.getLast().id();
        }
    }
}
