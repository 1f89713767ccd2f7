package jnvdocker.posix;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.PointerByReference;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The names of this host's users and groups. Many hosts query a directory service on the network
 * for them, which may take minutes or never answer: callers wait for a moment and then go on
 * without the name.
 */
public final class HostNames {
    /** A directory service on the network mostly answers within milliseconds. */
    private static final Duration A_MOMENT = Duration.ofMillis(300);

    /** The time limit of a query for a name's number, without which a caller cannot go on. */
    public static final Duration LONGEST = Duration.ofSeconds(5);

    /** Users are put into groups and taken out of them, and expect that to count. */
    private static final Duration MEMBERS_KNOWN = Duration.ofSeconds(5);

    private static final HostNames OF_THIS_HOST = new HostNames();
    private static final int THREADS = 4;
    private static final int MAX_BUFFER = 1 << 20;

    /** The offset of the number in {@code struct passwd} and {@code struct group}, on 64 bits. */
    private static final int NUMBER = 16;

    /** The offset of the number of the user's group in {@code struct passwd}. */
    private static final int GROUP = 20;

    /** More than a kernel lets a process be in. */
    private static final int MAX_GROUPS = 65_537;

    private final SlowQueries<Integer, String> names =
            new SlowQueries<>("user-names", THREADS, HostNames::nameOf, System::nanoTime);
    private final SlowQueries<String, Integer> users =
            new SlowQueries<>("users", THREADS, HostNames::userCalled, System::nanoTime);
    private final SlowQueries<String, Integer> groups =
            new SlowQueries<>("groups", 1, HostNames::groupCalled, System::nanoTime);

    private final SlowQueries<Integer, Set<Integer>> groupsOfUsers =
            new SlowQueries<>(
                    "groups-of-users",
                    THREADS,
                    HostNames::groupsOf,
                    System::nanoTime,
                    MEMBERS_KNOWN);

    private final SlowQueries<Integer, String> ownGroups =
            new SlowQueries<>("own-groups", THREADS, HostNames::ownGroup, System::nanoTime);

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
            return names.query(uid, A_MOMENT);
        } catch (NoAnswerException e) {
            return Optional.empty();
        }
    }

    /**
     * Returns the number of a user, or empty if the host has no user of that name.
     *
     * @throws NoAnswerException when the host does not answer in that time
     */
    public Optional<Integer> user(String name, Duration patience) throws NoAnswerException {
        return users.query(name, patience);
    }

    /**
     * Returns the number of a group in the same way.
     *
     * @throws NoAnswerException when the host does not answer within seconds
     */
    public Optional<Integer> group(String name) throws NoAnswerException {
        return groups.query(name, LONGEST);
    }

    /**
     * Returns those of some groups that a user is in, at once or within a given time; a group or
     * user that the host does not have is in none.
     *
     * @throws NoAnswerException when the host does not answer in that time
     */
    public Set<String> groupsOf(int uid, Set<String> among, Duration patience)
            throws NoAnswerException {
        Set<Integer> numbers = groupsOfUsers.query(uid, patience).orElse(Set.of());
        Set<String> its = new HashSet<>();
        for (String name : among) {
            if (groups.query(name, patience).filter(numbers::contains).isPresent()) {
                its.add(name);
            }
        }
        return its;
    }

    /**
     * Returns the name of a user's own group, as {@code id -gn}; empty if the host has none, or
     * does not answer at once.
     */
    public Optional<String> groupOf(int uid) {
        try {
            return ownGroups.query(uid, A_MOMENT);
        } catch (NoAnswerException e) {
            return Optional.empty();
        }
    }

    private static Optional<String> ownGroup(int uid) throws PosixException {
        Optional<Login> login = login(uid);
        return login.isEmpty()
                ? Optional.empty()
                : entry(
                        "getgrgid_r " + login.get().group(),
                        (entry, buffer, size, found) ->
                                LibC.INSTANCE.getgrgid_r(
                                        login.get().group(), entry, buffer, size, found),
                        entry -> entry.getPointer(0).getString(0));
    }

    private record Login(String name, int group) {}

    private static Optional<Login> login(int uid) throws PosixException {
        return entry(
                "getpwuid_r " + Integer.toUnsignedString(uid),
                (entry, buffer, size, found) ->
                        LibC.INSTANCE.getpwuid_r(uid, entry, buffer, size, found),
                entry -> new Login(entry.getPointer(0).getString(0), entry.getInt(GROUP)));
    }

    private static Optional<Set<Integer>> groupsOf(int uid) throws PosixException {
        return login(uid).map(it -> groupsOf(it));
    }

    private static Set<Integer> groupsOf(Login login) {
        IntByReference number = new IntByReference(256);
        int[] groups;
        do {
            groups = new int[Math.min(number.getValue(), MAX_GROUPS)];
            number.setValue(groups.length);
        } while (LibC.INSTANCE.getgrouplist(login.name(), login.group(), groups, number) < 0
                && groups.length < MAX_GROUPS);
        return Arrays.stream(groups)
                .limit(number.getValue())
                .boxed()
                .collect(Collectors.toUnmodifiableSet());
    }

    private static Optional<String> nameOf(int uid) throws PosixException {
        return login(uid).map(Login::name);
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
