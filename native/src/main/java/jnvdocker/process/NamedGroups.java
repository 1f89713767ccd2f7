package jnvdocker.process;

import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes.Group;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds cgroups by their names, and the oldest process of each. Only root's directories are
 * searched: in one of their own, users can make and rename others. Those of containers are not
 * searched either, since a container may have been given its cgroup to make others there.
 */
final class NamedGroups {
    private final Pattern name;
    private final Oldest oldest;
    private final Map<String, Group> found = new TreeMap<>();
    private final Set<String> names = new TreeSet<>();

    /** Returns the oldest process in a directory or below it. */
    @FunctionalInterface
    interface Oldest {
        Optional<ProcessId> of(CgroupDirectory directory) throws IOException;
    }

    NamedGroups(Pattern name, Oldest oldest) {
        this.name = name;
        this.oldest = oldest;
    }

    /** The cgroups found so far, by group 1 of the pattern. */
    Map<String, Group> found() {
        return Map.copyOf(found);
    }

    /** The names found so far, including those of cgroups without processes. */
    Set<String> names() {
        return Set.copyOf(names);
    }

    /** Adds a directory, or those below it. */
    void add(CgroupDirectory directory) throws IOException {
        try {
            String own = directory.path().getFileName().toString();
            if (ProcDirectory.CONTAINER.matcher(own).find() || !isRoots(directory)) {
                return;
            }
            Matcher matcher = name.matcher(own);
            if (matcher.matches()) {
                names.add(matcher.group(1));
                oldest.of(directory)
                        .map(process -> new Group(directory.path().toString(), process))
                        .ifPresent(group -> found.merge(matcher.group(1), group, Group::older));
                return;
            }
            for (CgroupDirectory inner : directory.below()) {
                add(inner);
            }
        } catch (IOException e) {
            // Reads of its files fail in several ways if it is removed meanwhile.
            if (Files.exists(directory.path())) {
                throw e;
            }
        }
    }

    private static boolean isRoots(CgroupDirectory directory) throws IOException {
        return Files.getAttribute(directory.path(), "unix:uid").equals(0);
    }
}
