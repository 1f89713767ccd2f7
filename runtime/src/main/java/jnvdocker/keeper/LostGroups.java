package jnvdocker.keeper;

import jnvdocker.holder.Pace;
import jnvdocker.holder.ProgramGroup;
import jnvdocker.process.ProcessGroup;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Cgroups that were made for processes of the host and that no lease records: of a client that was
 * refused at the last moment, of a daemon that was killed then, or of a registry that was lost.
 */
public final class LostGroups {
    /** A daemon, another one perhaps, makes a cgroup a moment before there is a process in it. */
    private static final Duration YOUNG = Duration.ofMinutes(1);

    /** All cgroups of the host are listed for that. */
    private static final Duration PERIOD = Duration.ofMinutes(2);

    private final LeaseRegistry registry;
    private final Pace pace;
    private long next;

    public LostGroups(LeaseRegistry registry, Pace pace) {
        this.registry = registry;
        this.pace = pace;
        next = pace.nanos();
    }

    /** Removes them at the first call, and then every two minutes at most. */
    public void removeInTurn() throws IOException {
        if (pace.nanos() - next >= 0) {
            next = pace.nanos() + PERIOD.toNanos();
            remove();
        }
    }

    /**
     * Removes those that have no process and no lease: of a claim that this registry knows at once,
     * of others when they are no longer young.
     */
    public void remove() throws IOException {
        // Before the leases: there is one of whatever has a cgroup by now.
        List<String> groups = ProcessGroup.find(ProgramGroup::isName);
        Set<String> live =
                registry.live().stream()
                        .map(lease -> lease.claim().id())
                        .collect(Collectors.toSet());
        for (String group : groups) {
            String claim = ProgramGroup.claim(group).orElseThrow();
            if (!live.contains(claim) && (registry.claims().knew(claim) || !isYoung(group))) {
                ProcessGroup.remove(group);
            }
        }
    }

    private static boolean isYoung(String group) {
        try {
            Instant made = Files.getLastModifiedTime(Path.of(group)).toInstant();
            return made.isAfter(Instant.now().minus(YOUNG));
        } catch (IOException e) {
            return true; // it has gone
        }
    }
}
