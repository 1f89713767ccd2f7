package jnvdocker.process;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many descriptors are checked while a caller waits; each takes some 3 µs.
 *
 * @param process of one process that was scanned before
 * @param user of all processes of one user but root
 * @param users of all processes of all users but root
 * @param root of all of root's processes
 */
record DescriptorLimits(int process, int user, int users, int root) {
    /**
     * Programs may have 1024 by default, and most have a few dozen: this is enough for thousands of
     * processes.
     */
    static final DescriptorLimits USUAL = new DescriptorLimits(4096, 1 << 16, 1 << 18, 1 << 20);

    /** Descriptors of any process that are checked before its user is determined. */
    static final int UNMETERED = 64;

    /** Returns a fresh budget for one scan. */
    Budget budget() {
        return new Budget(this);
    }

    /** The rest of the limits during one scan. Threads share it. */
    static final class Budget {
        private static final int ROOT = 0;

        private final DescriptorLimits limits;
        private final AtomicInteger ofUsers = new AtomicInteger();
        private final Map<Integer, AtomicInteger> byUser = new ConcurrentHashMap<>();

        private Budget(DescriptorLimits limits) {
            this.limits = limits;
        }

        /** Whether one more descriptor of a user's may be checked. */
        boolean take(int uid) {
            int its = byUser.computeIfAbsent(uid, _ -> new AtomicInteger()).incrementAndGet();
            if (uid == ROOT) {
                return its <= limits.root();
            }
            return its <= limits.user() && ofUsers.incrementAndGet() <= limits.users();
        }
    }
}
