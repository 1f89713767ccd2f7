package jnvdocker.protocol;

import jnvdocker.posix.Peer;
import jnvdocker.words.FailedException;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The memory that connections may take, for frames that were received and are kept and for frames
 * that are being sent. Each user has a limited share, and root has memory of its own: whatever
 * others do, an administrator and a Mesos agent are served.
 */
public final class FrameMemory {
    private static final int ROOT = 0;

    private static final String END_SOME = "end some, then try again";

    private final Limits limits;
    private final Duration patience;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition freed = lock.newCondition();
    private final Map<Integer, Use> users = new HashMap<>();
    private long root;
    private long others;

    /**
     * Limits in bytes, except for the last.
     *
     * @param root the memory of root's connections
     * @param others the memory of all others' connections
     * @param user the memory of the connections of one user other than root
     * @param connection the memory that each connection takes while it is open, used or not
     * @param connections the number of connections of one user other than root
     */
    public record Limits(long root, long others, long user, long connection, int connections) {
        private static final long MIB = 1 << 20;

        /** Together well below the daemon's heap (bin/jnvdockerd). */
        public static final Limits STANDARD =
                new Limits(32 * MIB, 40 * MIB, 24 * MIB, 8 << 10, 1024);
    }

    /** The use of memory by one user's connections. */
    private static final class Use {
        private int connections;
        private long bytes;
    }

    /** A client requests too much memory at once; the message is for its user. */
    public static final class FullException extends FailedException {
        private static final long serialVersionUID = 1L;

        private FullException(String what, String remedy) {
            super(what, remedy);
        }
    }

    /**
     * @param patience how long a client waits when too little is left
     */
    public FrameMemory(Limits limits, Duration patience) {
        this.limits = limits;
        this.patience = patience;
    }

    /**
     * Opens the account of a new connection.
     *
     * @throws FullException at once, when there are too many already
     */
    public Account open(Peer peer) throws FullException {
        lock.lock();
        try {
            Use use = users.computeIfAbsent(peer.uid(), _ -> new Use());
            boolean isRoot = peer.uid() == ROOT;
            if (!isRoot && use.connections >= limits.connections()) {
                throw new FullException(
                        "uid %s has %s unanswered commands, the most for one user"
                                .formatted(Integer.toUnsignedString(peer.uid()), use.connections),
                        END_SOME);
            }
            Account account = new Account(peer.uid());
            if (!account.fits(limits.connection())) {
                throw full(peer.uid());
            }
            use.connections++;
            account.add(limits.connection());
            return account;
        } finally {
            lock.unlock();
        }
    }

    private FullException full(int uid) {
        return new FullException(
                uid == ROOT
                        ? "too many commands at once: root's may take " + limits.root() + " bytes"
                        : "too many commands at once, or too long ones: commands of uid "
                                + Integer.toUnsignedString(uid)
                                + " may take "
                                + limits.user()
                                + " bytes, those of all users but root "
                                + limits.others(),
                END_SOME);
    }

    /** Returns the bytes that are taken by root's connections and all others. */
    public long taken() {
        lock.lock();
        try {
            return root + others;
        } finally {
            lock.unlock();
        }
    }

    /** The memory of one connection. */
    public final class Account implements AutoCloseable {
        private final int uid;
        private long charged;
        private long used;
        private boolean closed;

        private Account(int uid) {
            this.uid = uid;
        }

        /** Returns the uid of the user of the connection. */
        public int uid() {
            return uid;
        }

        /**
         * Takes memory without waiting for that of others.
         *
         * @throws FullException when that much is not available at the moment
         */
        public void takeAtOnce(long bytes) throws FullException {
            lock.lock();
            try {
                long more = more(bytes);
                if (!fits(more)) {
                    throw full(uid);
                }
                used += bytes;
                add(more);
            } finally {
                lock.unlock();
            }
        }

        /**
         * @throws FullException when that much is not available for a while, or never will be
         */
        public void take(long bytes) throws IOException {
            lock.lock();
            try {
                long left = patience.toNanos();
                while (!fits(more(bytes))) {
                    if (left <= 0 || charged + more(bytes) > most(charged + more(bytes))) {
                        throw full(uid);
                    }
                    left = freed.awaitNanos(left);
                }
                long more = more(bytes);
                used += bytes;
                add(more);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("the daemon is stopping", e);
            } finally {
                lock.unlock();
            }
        }

        /** Gives back some of it. */
        public void give(long bytes) {
            lock.lock();
            try {
                used -= bytes;
                add(Math.max(used, limits.connection()) - charged);
            } finally {
                lock.unlock();
            }
        }

        /** Returns the bytes beyond those that the connection has in any case. */
        private long more(long bytes) {
            return Math.max(used + bytes, limits.connection()) - charged;
        }

        private long most(long charge) {
            return uid == ROOT ? rootsMost(charge) : limits.user();
        }

        /**
         * An engine is root for the containers of all users: a few that are described at great
         * length leave a quarter to those that are not.
         */
        private long rootsMost(long charge) {
            return charge > limits.root() / 16 ? limits.root() / 4 * 3 : limits.root();
        }

        private boolean fits(long more) {
            return uid == ROOT
                    ? root + more <= rootsMost(charged + more)
                    : others + more <= limits.others()
                            && users.get(uid).bytes + more <= limits.user();
        }

        private void add(long bytes) {
            charged += bytes;
            users.get(uid).bytes += bytes;
            if (uid == ROOT) {
                root += bytes;
            } else {
                others += bytes;
            }
            if (bytes < 0) {
                freed.signalAll();
            }
        }

        /** Gives back all of it. */
        @Override
        public void close() {
            lock.lock();
            try {
                if (closed) {
                    return;
                }
                closed = true;
                add(-charged);
                Use use = users.get(uid);
                use.connections--;
                if (use.connections == 0) {
                    users.remove(uid);
                }
            } finally {
                lock.unlock();
            }
        }
    }
}
