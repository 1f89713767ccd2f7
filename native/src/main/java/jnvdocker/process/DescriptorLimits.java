package jnvdocker.process;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many descriptors are looked at while somebody waits; each takes some 3 µs.
 *
 * @param process of one process, when it was looked through before
 * @param user of all processes of one user but root
 * @param users of all processes of all users but root
 * @param root of all of root's processes
 */
record DescriptorLimits(int process, int user, int users, int root) {
    /**
     * What programs have by default is 1024, and most have a few dozen: thousands of processes are
     * looked through within this.
     */
    static final DescriptorLimits USUAL = new DescriptorLimits(4096, 1 << 16, 1 << 18, 1 << 20);

    /** So many are looked at of anybody's process, before it is asked whose it is. */
    static final int FREE = 64;

    /** What is left of it during one look. */
    Budget budget() {
        return new Budget(this);
    }

    /** Threads share it. */
    static final class Budget {
        private static final int ROOT = 0;

        private final DescriptorLimits limits;
        private final AtomicInteger ofUsers = new AtomicInteger();
        private final Map<Integer, AtomicInteger> byUser = new ConcurrentHashMap<>();

        private Budget(DescriptorLimits limits) {
            this.limits = limits;
        }

        /** Whether one more of a user's may be looked at. */
        boolean take(int uid) {
            int its = byUser.computeIfAbsent(uid, _ -> new AtomicInteger()).incrementAndGet();
            if (uid == ROOT) {
                return its <= limits.root();
            }
            return its <= limits.user() && ofUsers.incrementAndGet() <= limits.users();
        }
    }
}
