package jnvdocker.posix;

import jnr.posix.Group;
import jnr.posix.Passwd;

import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The one place that queries this host's databases of users and groups, which may take minutes:
 * only {@link HostNames} calls it, on threads of its own.
 *
 * <p>libc returns memory of its own, which the next call for the same database overwrites. So there
 * is one call for each database at a time, and what is needed of its entry is copied before the
 * next one. Nothing else in this process makes these calls: Java's own have memory of their
 * callers.
 */
final class Accounts {
    private static final Object USERS = new Object();
    private static final Object GROUPS = new Object();

    private Accounts() {}

    /**
     * @param group the number of the user's own group
     */
    record User(String name, int uid, int group) {
        private static User of(Passwd entry) {
            return new User(entry.getLoginName(), (int) entry.getUID(), (int) entry.getGID());
        }
    }

    static Optional<User> user(int uid) throws PosixException {
        return entry(
                USERS,
                () -> PosixCalls.INSTANCE.getpwuid(uid),
                User::of,
                () -> "getpwuid " + Integer.toUnsignedString(uid));
    }

    static Optional<User> user(String name) throws PosixException {
        return entry(
                USERS,
                () -> PosixCalls.INSTANCE.getpwnam(name),
                User::of,
                () -> "getpwnam " + name);
    }

    static Optional<String> groupName(int gid) throws PosixException {
        return entry(
                GROUPS,
                () -> PosixCalls.INSTANCE.getgrgid(gid),
                Group::getName,
                () -> "getgrgid " + Integer.toUnsignedString(gid));
    }

    static Optional<Integer> groupNumber(String name) throws PosixException {
        return entry(
                GROUPS,
                () -> PosixCalls.INSTANCE.getgrnam(name),
                group -> (int) group.getGID(),
                () -> "getgrnam " + name);
    }

    /**
     * A missing entry and a failure differ in errno only, which a missing one may leave as is. A
     * call that a signal has interrupted is made again.
     */
    static <E, T> Optional<T> entry(
            Object database, Supplier<E> call, Function<E, T> copy, Supplier<String> what)
            throws PosixException {
        int errno;
        synchronized (database) {
            do {
                PosixCalls.INSTANCE.errno(0);
                E entry = call.get();
                if (entry != null) {
                    return Optional.of(copy.apply(entry));
                }
                errno = PosixCalls.INSTANCE.errno();
            } while (errno == Errno.EINTR);
        }
        return switch (errno) {
            // The codes that getpwnam(3) lists for a missing entry.
            case 0, Errno.ENOENT, Errno.ESRCH, Errno.EBADF, Errno.EPERM -> Optional.empty();
            default -> throw Posix.failure(what.get(), errno);
        };
    }
}
