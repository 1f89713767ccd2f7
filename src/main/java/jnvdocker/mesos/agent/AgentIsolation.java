package jnvdocker.mesos.agent;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The isolators of an agent that uses our hook.
 *
 * @param all the result
 * @param added those of them that were not given
 */
record AgentIsolation(List<String> all, List<String> added) {
    /** The default. */
    static final String STANDARD =
            "filesystem/linux,docker/runtime,cgroups/cpu,cgroups/mem,cgroups/devices";

    private static final String FILES = "filesystem/linux";

    AgentIsolation {
        all = List.copyOf(all);
        added = List.copyOf(added);
    }

    /** Adds what the hook needs: a root file system, images, and a devices cgroup. */
    static AgentIsolation of(String given) {
        List<String> all =
                new ArrayList<>(
                        Stream.of(given.split(","))
                                .map(String::strip)
                                .filter(name -> !name.isEmpty())
                                .toList());
        List<String> added = new ArrayList<>();
        for (String name : List.of(FILES, "docker/runtime", "cgroups/devices")) {
            boolean covered = name.startsWith("cgroups/") && all.contains("cgroups/all");
            if (!all.contains(name) && !covered) {
                added.add(name);
            }
        }
        all.addAll(added);
        return new AgentIsolation(all, added);
    }

    @Override
    public String toString() {
        return String.join(",", all);
    }
}
