package jnvdocker.grant;

import jnvdocker.lease.Claim;

import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The names of the cgroups that programs of the host are in. */
final class ProgramGroup {
    /** As {@link #of} makes them. */
    static final Pattern NAME = Pattern.compile("jnvdocker-([0-9a-f]{12})");

    private ProgramGroup() {}

    /** The name of the cgroup that a process of the host and all it starts are in. */
    static String of(Claim claim) {
        return "jnvdocker-" + claim.id();
    }

    /** Whether a cgroup is called as such a one is. */
    static boolean isName(String name) {
        return NAME.matcher(name).matches();
    }

    /** The claim of such a cgroup. */
    static Optional<String> claim(String folder) {
        Matcher name = NAME.matcher(Path.of(folder).getFileName().toString());
        return name.matches() ? Optional.of(name.group(1)) : Optional.empty();
    }
}
