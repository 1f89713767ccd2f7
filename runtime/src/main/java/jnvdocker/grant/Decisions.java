package jnvdocker.grant;

import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Decides on the contents of the registry, outside of any transaction: a decision reads processes
 * and names of users, and nobody waits for that. It is written only if nothing has changed
 * meanwhile. A decision that is overtaken several times is made while no other is written; such
 * decisions take turns in the order in which they come.
 */
final class Decisions {
    private static final int TRIES = 8;

    private final ReentrantReadWriteLock order = new ReentrantReadWriteLock(true);

    /** Reads what the registry holds, and decides on it. */
    @FunctionalInterface
    interface Attempt<T, E extends Exception> {
        /** Empty when something else was decided meanwhile. */
        Optional<T> make() throws E, IOException;
    }

    /** A write, if what it was decided on is still so. */
    @FunctionalInterface
    interface Write<T, E extends Exception> {
        T perform() throws E, IOException;
    }

    /** Attempts it until nothing has come in between. */
    <T, E extends Exception> T decide(Attempt<T, E> attempt) throws E, IOException {
        for (int i = 0; i < TRIES; i++) {
            Optional<T> decided = attempt.make();
            if (decided.isPresent()) {
                return decided.get();
            }
        }
        order.writeLock().lock();
        try {
            while (true) {
                // Leases still end, and each does so once.
                Optional<T> decided = attempt.make();
                if (decided.isPresent()) {
                    return decided.get();
                }
            }
        } finally {
            order.writeLock().unlock();
        }
    }

    /** Writes what an attempt has decided. */
    <T, E extends Exception> T write(Write<T, E> write) throws E, IOException {
        order.readLock().lock();
        try {
            return write.perform();
        } finally {
            order.readLock().unlock();
        }
    }

    /** Returns when everything is written that was about to be. */
    @SuppressWarnings("LockNotBeforeTry") // Nothing is done between the two.
    void settle() {
        order.writeLock().lock();
        order.writeLock().unlock();
    }
}
