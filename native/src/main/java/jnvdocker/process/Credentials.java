package jnvdocker.process;

import java.util.HashSet;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process's user and groups, which decide on its access to files.
 *
 * @param uid the user who started it
 * @param groups the groups that it is in
 */
public record Credentials(int uid, Set<Integer> groups) {
    private static final Pattern UID = Pattern.compile("^Uid:\\s*([0-9]+)", Pattern.MULTILINE);
    private static final Pattern GROUPS =
            Pattern.compile("^(?:Gid|Groups):([0-9\\s&&[^\\n]]*)", Pattern.MULTILINE);

    /** For a process that has gone. */
    static final Credentials NONE = new Credentials(-1, Set.of());

    public Credentials {
        groups = Set.copyOf(groups);
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
