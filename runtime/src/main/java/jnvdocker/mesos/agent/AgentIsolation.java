package jnvdocker.mesos.agent;

import jnvdocker.words.RefusedException;

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

    /**
     * Adds what the hook needs: a root file system, images, and a devices cgroup.
     *
     * @throws RefusedException when Mesos' own isolator for GPUs is among those given
     */
    static AgentIsolation of(String given) throws RefusedException {
        List<String> all =
                new ArrayList<>(
                        Stream.of(given.split(","))
                                .map(String::strip)
                                .filter(name -> !name.isEmpty())
                                .toList());
        for (String name : all) {
            refuseOther(name);
        }
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

    private static void refuseOther(String name) throws RefusedException {
        if (name.equals("gpu/nvidia")) {
            throw new RefusedException(
                    "gpu/nvidia and jnvdocker would both give out this host's GPUs",
                    "leave gpu/nvidia out of --isolation, and do not give --nvidia_gpu_devices to"
                            + " the agent");
        }
    }

    @Override
    public String toString() {
        return String.join(",", all);
    }
}
