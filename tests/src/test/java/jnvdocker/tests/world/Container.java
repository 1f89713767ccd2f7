package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A container, as docker describes it.
 *
 * @param state docker's word for it: {@code running}
 * @param pid of its first process, 0 when there is none
 * @param label the claim in its label, empty without one
 * @param claims whose volumes it mounts
 * @param devices its nodes
 */
record Container(
        String name,
        String state,
        int pid,
        String label,
        Set<String> claims,
        List<String> devices) {
    private static final String CLAIM_VOLUME = "jnvdocker_claim_";

    /**
     * @param described the engine's description of it, as docker inspect prints it
     */
    static Container of(JsonNode described) {
        return new Container(
                described.path("Name").asText().substring(1),
                described.path("State").path("Status").asText(),
                described.path("State").path("Pid").asInt(),
                idOf(described.path("Config").path("Labels").path("jnvdocker.claim").asText()),
                claimsOf(described.path("Mounts").findValuesAsText("Name").stream()),
                described
                        .path("HostConfig")
                        .path("Devices")
                        .findValuesAsText("PathInContainer")
                        .stream()
                        .filter(node -> node.matches("/dev/nvidia\\d+"))
                        .sorted()
                        .toList());
    }

    boolean runs() {
        return pid != 0;
    }

    boolean isClaimed() {
        return claims.contains(label);
    }

    /** A container that is about to be restarted keeps its lease. */
    boolean isOf(Registry.Lease lease) {
        return claims.contains(lease.claim()) && (runs() || state.equals("restarting"));
    }

    List<String> differences(List<Registry.Lease> live) {
        var own = live.stream().filter(lease -> lease.claim().equals(label)).findFirst();
        if (own.isEmpty()) {
            return List.of(name + " runs without a lease");
        }
        List<String> nodes =
                own.get().minors().values().stream()
                        .map(minor -> "/dev/nvidia" + minor)
                        .sorted()
                        .toList();
        List<String> wrong = new ArrayList<>();
        if (!nodes.equals(devices)) {
            wrong.add(name + " has the nodes " + devices + " and a lease of " + nodes);
        }
        if (own.get().init() != pid) {
            wrong.add(name + " has the first process " + pid + " and the lease " + own.get());
        }
        return wrong;
    }

    /** The claims of these volumes, taken from their names. */
    static Set<String> claimsOf(Stream<String> volumes) {
        return volumes.filter(name -> name.startsWith(CLAIM_VOLUME))
                .map(name -> idOf(name.substring(CLAIM_VOLUME.length())))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    /** Both names of a claim have its secret, too. */
    private static String idOf(String name) {
        return name.replaceFirst("-[0-9a-f]{32}$", "");
    }
}
