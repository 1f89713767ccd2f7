package jnvdocker.process;

import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process's user, groups and capabilities, which decide on its access to files.
 *
 * @param uid the user who started it
 * @param groups the groups that it is in
 * @param readsAll whether it may open any file, whatever the file's permissions are
 */
public record Credentials(int uid, Set<Integer> groups, boolean readsAll) {
    /** CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH. */
    private static final long READ_ALL = 1 << 1 | 1 << 2;

    private static final Pattern EFFECTIVE =
            Pattern.compile("^CapEff:\\s*([0-9a-f]{1,16})$", Pattern.MULTILINE);

    private static final Pattern UID = Pattern.compile("^Uid:\\s*([0-9]+)", Pattern.MULTILINE);
    private static final Pattern GROUPS =
            Pattern.compile("^(?:Gid|Groups):([0-9\\s&&[^\\n]]*)", Pattern.MULTILINE);

    private static final Pattern ALL_USERS = Pattern.compile("\\s*0\\s+0\\s+4294967295\\s*");

    /** The credentials of a process that has ended. */
    static final Credentials NONE = new Credentials(-1, Set.of());

    public Credentials {
        groups = Set.copyOf(groups);
    }

    /** The credentials of a process without such capabilities. */
    public Credentials(int uid, Set<Integer> groups) {
        this(uid, groups, false);
    }

    /**
     * Whether a process's users are those of the host: it is in no other user namespace.
     *
     * @param map {@code /proc/<pid>/uid_map}, see user_namespaces(7)
     */
    public static boolean areAllUsers(String map) {
        return ALL_USERS.matcher(map).matches();
    }

    /**
     * @param status {@code /proc/<pid>/status}
     * @param areOfTheHost whether its capabilities are about the files of all users
     */
    static Credentials parse(String status, boolean areOfTheHost) {
        Matcher effective = EFFECTIVE.matcher(status);
        boolean readsAll =
                areOfTheHost
                        && effective.find()
                        && (Long.parseUnsignedLong(effective.group(1), 16) & READ_ALL) != 0;
        Credentials plain = parse(status);
        return new Credentials(plain.uid(), plain.groups(), readsAll);
    }

    /**
     * @param status {@code /proc/<pid>/status}
     */
    static Credentials parse(String status) {
        Matcher uid = UID.matcher(status);
        Set<Integer> groups = new HashSet<>();
        GROUPS.matcher(status)
                .results()
                .flatMap(match -> Pattern.compile("\\s+").splitAsStream(match.group(1).strip()))
                .filter(group -> !group.isEmpty())
                .forEach(group -> groups.add(Integer.parseUnsignedInt(group)));
        return new Credentials(
                uid.find() ? Integer.parseUnsignedInt(uid.group(1)) : NONE.uid(), groups);
    }
}
