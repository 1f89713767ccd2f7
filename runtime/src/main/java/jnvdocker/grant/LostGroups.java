package jnvdocker.grant;

import jnvdocker.lease.Lease;
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
 * Cgroups for processes of the host that no lease tells of: of a client that was refused at the
 * last moment, of a daemon that was killed then, or of a registry that was lost.
 */
final class LostGroups {
    /** A daemon, another one perhaps, makes a cgroup a moment before there is a process in it. */
    private static final Duration YOUNG = Duration.ofMinutes(1);

    private final LeaseRegistry registry;

    LostGroups(LeaseRegistry registry) {
        this.registry = registry;
    }

    /** Takes those away in which there is no process. All cgroups are looked through for that. */
    void remove() throws IOException {
        // Before the leases: there is one of whatever has a cgroup by now.
        List<String> groups = ProcessGroup.find(ProgramGroup::isName);
        Set<String> live =
                registry.live().stream()
                        .map(Lease::claim)
                        .map(ProgramGroup::of)
                        .collect(Collectors.toSet());
        for (String group : groups) {
            Path folder = Path.of(group);
            if (!live.contains(folder.getFileName().toString()) && !isYoung(folder)) {
                ProcessGroup.remove(group);
            }
        }
    }

    private static boolean isYoung(Path folder) {
        try {
            Instant made = Files.getLastModifiedTime(folder).toInstant();
            return made.isAfter(Instant.now().minus(YOUNG));
        } catch (IOException e) {
            return true; // it has gone
        }
    }
}
