package jnvdocker.posix;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

import java.time.Duration;
import java.util.Optional;

/**
 * The names of this host's users and groups. Many hosts ask a directory service on the network for
 * them, which may take minutes or never answer: callers wait for a moment and then go on without
 * the name.
 */
public final class HostNames {
    /** A directory service on the network mostly answers within milliseconds. */
    private static final Duration A_MOMENT = Duration.ofMillis(300);

    /** For a lookup whose result a number cannot replace. */
    private static final Duration LONGER = Duration.ofSeconds(5);

    private static final HostNames OF_THIS_HOST = new HostNames();
    private static final int THREADS = 4;
    private static final int MAX_BUFFER = 1 << 20;

    /** The offset of the number in {@code struct passwd} and {@code struct group}, on 64 bits. */
    private static final int NUMBER = 16;

    private final SlowQueries<Integer, String> names =
            new SlowQueries<>("user-names", THREADS, HostNames::nameOf, System::nanoTime);
    private final SlowQueries<String, Integer> users =
            new SlowQueries<>("users", THREADS, HostNames::userCalled, System::nanoTime);
    private final SlowQueries<String, Integer> groups =
            new SlowQueries<>("groups", 1, HostNames::groupCalled, System::nanoTime);

    private HostNames() {}

    /** Returns this host's names; earlier answers are remembered. */
    public static HostNames ofThisHost() {
        return OF_THIS_HOST;
    }

    /**
     * Returns a user's name; empty if the host has no user of that number, or does not answer at
     * once.
     */
    public Optional<String> ofUser(int uid) {
        try {
            return names.ask(uid, A_MOMENT);
        } catch (NoAnswerException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns the number of a user, or empty if the host has no user of that name.
     *
     * @throws NoAnswerException when the host does not answer within seconds
     */
    public Optional<Integer> user(String name) throws NoAnswerException {
        return users.ask(name, LONGER);
    }

    /** Returns the number of a group in the same way. */
    public Optional<Integer> group(String name) throws NoAnswerException {
        return groups.ask(name, LONGER);
    }

    private static Optional<String> nameOf(int uid) throws PosixException {
        return entry(
                "getpwuid_r " + Integer.toUnsignedString(uid),
                (entry, buffer, size, found) ->
                        LibC.INSTANCE.getpwuid_r(uid, entry, buffer, size, found),
                entry -> entry.getPointer(0).getString(0));
    }

    private static Optional<Integer> userCalled(String name) throws PosixException {
        return entry(
                "getpwnam_r " + name,
                (entry, buffer, size, found) ->
                        LibC.INSTANCE.getpwnam_r(name, entry, buffer, size, found),
                entry -> entry.getInt(NUMBER));
    }

    private static Optional<Integer> groupCalled(String name) throws PosixException {
        return entry(
                "getgrnam_r " + name,
                (entry, buffer, size, found) ->
                        LibC.INSTANCE.getgrnam_r(name, entry, buffer, size, found),
                entry -> entry.getInt(NUMBER));
    }

    private interface Call {
        int into(Memory entry, Memory buffer, long size, PointerByReference found);
    }

    private interface Field<T> {
        T of(Pointer entry);
    }

    /** Uses the calls that answer in the caller's own memory: the others are not thread-safe. */
    private static <T> Optional<T> entry(String what, Call call, Field<T> field)
            throws PosixException {
        try (Memory entry = new Memory(128)) {
            int failure = Errno.ERANGE;
            for (int size = 4096; failure == Errno.ERANGE && size <= MAX_BUFFER; size *= 4) {
                try (Memory buffer = new Memory(size)) {
                    PointerByReference found = new PointerByReference();
                    failure = call.into(entry, buffer, size, found);
                    if (failure == 0 && found.getValue() != null) {
                        return Optional.of(field.of(found.getValue()));
                    }
                }
            }
            return switch (failure) {
                // The codes that getpwnam(3) lists for a missing entry.
                case 0, Errno.ENOENT, Errno.ESRCH, Errno.EBADF, Errno.EPERM -> Optional.empty();
                default -> throw Posix.failure(what, failure);
            };
        }
    }
}
