package jnvdocker.posix;

import com.sun.jna.ptr.IntByReference;

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

    /** More would wait for each other: {@link Accounts} has one call at a time. */
    private static final int ONE = 1;

    /** These search for a user's groups at one time. */
    private static final int SEARCHES = 4;

    /** More than a kernel lets a process be in. */
    private static final int MAX_GROUPS = 65_537;

    private final SlowQueries<Integer, String> names =
            new SlowQueries<>("user-names", ONE, HostNames::nameOf, System::nanoTime);
    private final SlowQueries<String, Integer> users =
            new SlowQueries<>("users", ONE, HostNames::userCalled, System::nanoTime);
    private final SlowQueries<String, Integer> groups =
            new SlowQueries<>("groups", ONE, Accounts::groupNumber, System::nanoTime);

    private final SlowQueries<Integer, Set<Integer>> groupsOfUsers =
            new SlowQueries<>(
                    "groups-of-users",
                    SEARCHES,
                    HostNames::groupsOf,
                    System::nanoTime,
                    MEMBERS_KNOWN);

    private final SlowQueries<Integer, String> ownGroups =
            new SlowQueries<>("own-groups", ONE, HostNames::ownGroup, System::nanoTime);

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
        Optional<Accounts.User> user = Accounts.user(uid);
        return user.isEmpty() ? Optional.empty() : Accounts.groupName(user.get().group());
    }

    private static Optional<Set<Integer>> groupsOf(int uid) throws PosixException {
        return Accounts.user(uid).map(HostNames::groupsOf);
    }

    private static Set<Integer> groupsOf(Accounts.User user) {
        IntByReference number = new IntByReference(256);
        int[] groups;
        do {
            groups = new int[Math.min(number.getValue(), MAX_GROUPS)];
            number.setValue(groups.length);
        } while (LibC.INSTANCE.getgrouplist(user.name(), user.group(), groups, number) < 0
                && groups.length < MAX_GROUPS);
        return Arrays.stream(groups)
                .limit(number.getValue())
                .boxed()
                .collect(Collectors.toUnmodifiableSet());
    }

    private static Optional<String> nameOf(int uid) throws PosixException {
        return Accounts.user(uid).map(Accounts.User::name);
    }

    private static Optional<Integer> userCalled(String name) throws PosixException {
        return Accounts.user(name).map(Accounts.User::uid);
    }
}
