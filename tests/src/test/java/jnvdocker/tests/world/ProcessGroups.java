package jnvdocker.tests.world;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The cgroups that a daemon has made for programs of {@code gpu run}. */
public final class ProcessGroups {
    private static final Pattern CLAIM = Pattern.compile("\"claim\" *: *\"([0-9a-f]{12})\"");
    private static final String PREFIX = "jnvdocker-";

    private ProcessGroups() {}

    /** The existing ones, without those of other daemons. */
    public static List<Path> of(TestDaemon daemon) {
        String leases =
                daemon.jnvdocker("gpu", "leases", "--all", "-n", "9999", "--json").run().ok().out();
        Set<String> names =
                CLAIM.matcher(leases)
                        .results()
                        .map(MatchResult::group)
                        .map(text -> PREFIX + text.replaceAll(".*\"([0-9a-f]{12})\"", "$1"))
                        .collect(Collectors.toSet());
        // A group that is removed meanwhile is no failure.
        return Command.of("find", "/sys/fs/cgroup", "-type", "d", "-name", PREFIX + "*")
                .run()
                .out()
                .lines()
                .map(Path::of)
                .filter(group -> names.contains(group.getFileName().toString()))
                .toList();
    }

    /** Waits until none exists. */
    public static void awaitNone(TestDaemon daemon) {
        Lab.await(() -> of(daemon).stream().map(Path::toString).toList());
    }
}
