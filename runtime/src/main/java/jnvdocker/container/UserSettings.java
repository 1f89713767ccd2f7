package jnvdocker.container;

import java.util.Set;

/**
 * The user's own options for a container, as far as they concern our edits.
 *
 * @param variables names of the environment variables that the user sets
 * @param mountTargets directories of the container at which the user mounts something
 * @param gpuMinors minors of the GPUs for which the user gives the node with an option of its own
 */
public record UserSettings(
        Set<String> variables, Set<String> mountTargets, Set<Integer> gpuMinors) {

    public UserSettings {
        variables = Set.copyOf(variables);
        mountTargets = Set.copyOf(mountTargets);
        gpuMinors = Set.copyOf(gpuMinors);
    }
}
