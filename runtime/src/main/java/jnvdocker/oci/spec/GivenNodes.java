package jnvdocker.oci.spec;

import jnvdocker.use.DeviceRule;

import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** The GPUs whose nodes a container has before our runtime gives it any. */
final class GivenNodes {
    private GivenNodes() {}

    /**
     * The minors of the GPUs that it is given by their nodes, or by one of their graphics nodes. A
     * privileged container has every node of the host: of its nodes count those that docker's user
     * has named, and none where the engine does not report which these are.
     */
    static Set<Integer> given(
            RuntimeSpec spec, Optional<DockerContainer> docker, GpuWishes.World world) {
        int major = world.majors().gpu();
        boolean all = spec.allowsAllDevices();
        if (all && docker.isEmpty()) {
            return Set.of();
        }
        Set<Integer> given =
                all
                        ? spec.gpuMinorsAt(major, docker.get().devices())
                        : spec.gpuMinors(major, world.minors());
        given.addAll(GraphicsNodes.named(spec, docker, world.majors()));
        return given;
    }

    /** The nodes that docker's user has named, not those of a request: CDI puts nodes in, too. */
    static Set<Integer> named(
            RuntimeSpec spec, DockerContainer docker, Set<Integer> given, Majors majors) {
        Set<Integer> named = new TreeSet<>(spec.gpuMinorsAt(majors.gpu(), docker.devices()));
        named.addAll(GraphicsNodes.named(spec, Optional.of(docker), majors));
        for (String text : docker.rules()) {
            Optional<DeviceRule> rule = DeviceRule.parse(text);
            given.stream()
                    .filter(minor -> rule.filter(it -> it.covers(majors.gpu(), minor)).isPresent())
                    .forEach(named::add);
        }
        named.retainAll(given);
        return named;
    }
}
