package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.DrmNodes;
import jnvdocker.use.DeviceRule;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The graphics nodes of NVIDIA's GPUs in a {@code config.json}. One by one they are requests for
 * their GPUs, as {@code /dev/nvidia0} is. Of the directory {@code /dev/dri}, as people write it for
 * another vendor's card, the nodes of GPUs that the container does not hold are left out.
 */
public final class GraphicsNodes {
    private GraphicsNodes() {}

    static boolean areIn(RuntimeSpec spec, Majors majors) {
        return !minors(spec, majors.graphics().keySet()).isEmpty();
    }

    /** The minors of the graphics nodes, among these, that the container is given. */
    private static Set<Integer> minors(RuntimeSpec spec, Set<Integer> which) {
        Set<Integer> minors = spec.minors(DrmNodes.MAJOR, which);
        minors.retainAll(which);
        return minors;
    }

    /**
     * The minors of the GPUs whose graphics nodes are named one by one.
     *
     * @param docker empty for an engine that does not say what its user has named: the nodes of a
     *     directory come with those of other cards
     */
    public static Set<Integer> named(
            RuntimeSpec spec, Optional<DockerContainer> docker, Majors majors) {
        Set<Integer> named = new TreeSet<>();
        if (docker.isPresent()) {
            for (JsonNode device : devices(spec)) {
                String path = RuntimeSpec.normal(device.path("path").asText(""));
                if (isOf(device) && docker.get().devices().contains(path)) {
                    named.add(device.path("minor").asInt(DeviceRule.ANY));
                }
            }
            for (String text : docker.get().rules()) {
                DeviceRule.parse(text)
                        .filter(rule -> rule.major() == DrmNodes.MAJOR)
                        .ifPresent(rule -> named.add(rule.minor()));
            }
        } else if (minors(spec, others(majors)).isEmpty()) {
            for (JsonNode device : devices(spec)) {
                if (isOf(device)) {
                    named.add(device.path("minor").asInt(DeviceRule.ANY));
                }
            }
        }
        Set<Integer> gpus = new TreeSet<>();
        named.stream()
                .filter(majors.graphics()::containsKey)
                .forEach(minor -> gpus.add(majors.graphics().get(minor)));
        return gpus;
    }

    private static Set<Integer> others(Majors majors) {
        Set<Integer> others = new HashSet<>(majors.cards());
        others.removeAll(majors.graphics().keySet());
        return others;
    }

    /**
     * Takes out those of GPUs that the container does not hold.
     *
     * @param held the minors of the GPUs that it holds
     * @return whether there were any
     */
    public static boolean leaveOut(RuntimeSpec spec, Majors majors, Set<Integer> held) {
        Set<Integer> out = new TreeSet<>();
        majors.graphics()
                .forEach((minor, gpu) -> {
                    if (!held.contains(gpu)) {
                        out.add(minor);
                    }
                });
        if (minors(spec, out).isEmpty()) {
            return false;
        }
        if (devices(spec) instanceof ArrayNode devices) {
            devices.removeIf(
                    device -> isOf(device) && out.contains(device.path("minor").asInt(-1)));
        }
        ObjectNode linux = SpecJson.objectIn(spec.root(), "linux");
        ArrayNode rules = SpecJson.listIn(SpecJson.objectIn(linux, "resources"), "devices");
        Set<Integer> rest = new TreeSet<>(majors.cards());
        rest.removeAll(out);
        List<JsonNode> kept = new ArrayList<>();
        for (JsonNode rule : rules) {
            Optional<DeviceRule> opens =
                    RuntimeSpec.rule(rule).filter(it -> it.major() == DrmNodes.MAJOR);
            if (opens.filter(it -> it.minor() == DeviceRule.ANY).isPresent()) {
                rest.forEach(minor -> kept.add(rule.<ObjectNode>deepCopy().put("minor", minor)));
            } else if (opens.filter(it -> out.contains(it.minor())).isEmpty()) {
                kept.add(rule);
            }
        }
        rules.removeAll();
        rules.addAll(kept);
        return true;
    }

    private static JsonNode devices(RuntimeSpec spec) {
        return spec.root().path("linux").path("devices");
    }

    private static boolean isOf(JsonNode device) {
        return RuntimeSpec.isOfCharacters(device)
                && device.path("major").asLong(-1) == DrmNodes.MAJOR;
    }
}
