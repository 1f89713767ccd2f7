package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.host.DrmNodes;
import jnvdocker.use.DeviceRule;

import java.util.Set;

/** Takes NVIDIA's devices out of the device rules of a container that may open every device. */
final class OtherDevices {
    /** Majors of character devices are below this (the kernel's CHRDEV_MAJOR_MAX). */
    private static final int MAJORS = 512;

    private OtherDevices() {}

    /**
     * Rules that deny do it best where a rule of type a allows everything: the container can then
     * open the devices of drivers that are loaded later, and have privileged containers in it. But
     * runc refuses them where all character devices are allowed, crun refuses them with systemd's
     * cgroups, and runc has systemd deny every device from its next reload on. There, the devices
     * of each other driver are allowed instead.
     *
     * @param systemd whether systemd makes the container's cgroup
     */
    static void allowAlone(ArrayNode rules, Majors majors, boolean systemd) {
        boolean everything = false;
        for (JsonNode rule : rules) {
            everything |= rule.path("allow").asBoolean(false) && isOfEveryType(rule);
        }
        if (everything && !systemd) {
            majors.all().forEach(major -> deny(rules).put("type", "c").put("major", major));
            majors.graphics()
                    .keySet()
                    .forEach(minor ->
                            deny(rules)
                                    .put("type", "c")
                                    .put("major", DrmNodes.MAJOR)
                                    .put("minor", minor));
            return;
        }
        ArrayNode before = rules.deepCopy();
        rules.removeAll();
        // A new cgroup of version 1 allows what its parent does, and crun takes nothing from that.
        deny(rules);
        for (JsonNode rule : before) {
            if (RuntimeSpec.rule(rule).filter(DeviceRule::isOfAnyMajor).isPresent()) {
                addOthers(rules, rule, majors);
            } else {
                rules.add(rule);
            }
        }
    }

    /** The meaning of a rule that allows all majors, or is of type a, without NVIDIA's. */
    private static void addOthers(ArrayNode rules, JsonNode rule, Majors majors) {
        String access = rule.path("access").asText("");
        ObjectNode other = rule.deepCopy();
        other.put("access", access.isEmpty() ? "rwm" : access).put("type", "c");
        int named = rule.path("major").asInt(DeviceRule.ANY);
        if (isOfEveryType(rule)) {
            rules.add(other.deepCopy().put("type", "b"));
        }
        Set<Integer> nvidias = majors.all();
        for (int major = 1; major < MAJORS; major++) {
            if (!nvidias.contains(major) && (named <= 0 || named == major)) {
                rules.add(other.deepCopy().put("major", major));
            }
        }
    }

    private static ObjectNode deny(ArrayNode rules) {
        return rules.addObject().put("allow", false).put("access", "rwm");
    }

    private static boolean isOfEveryType(JsonNode rule) {
        return !Set.of("b", "c", "p", "u").contains(rule.path("type").asText(""));
    }
}
