package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.kubernetes.dra.DraDriver;
import jnvdocker.kubernetes.dra.DraMessages.ClaimRef;

import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * A resource claim in the namespace {@code team-a} that is allocated to a pod, as a real scheduler
 * was recorded to do it.
 *
 * @param devices by their names
 * @param share how much memory of each is requested, as {@code 10Gi}; empty for whole GPUs
 */
public record TestClaim(
        String uid, String name, TestPod pod, List<String> devices, Optional<String> share) {
    private static final ObjectMapper JSON = new ObjectMapper();

    public TestClaim {
        devices = List.copyOf(devices);
    }

    public static TestClaim of(TestPod pod, List<String> devices) {
        return of(pod, devices, Optional.empty());
    }

    /** One for shares of devices. */
    public static TestClaim of(TestPod pod, List<String> devices, Optional<String> share) {
        return new TestClaim(
                UUID.randomUUID().toString(), pod.name() + "-gpu-8s5xs", pod, devices, share);
    }

    /** Another claim of the same name. */
    public TestClaim another() {
        return new TestClaim("0".repeat(8), name, pod, devices, share);
    }

    /** As a kubelet names it. */
    public ClaimRef ref() {
        return new ClaimRef("team-a", uid, name);
    }

    JsonNode json() {
        ObjectNode claim =
                JSON.createObjectNode()
                        .put("apiVersion", "resource.k8s.io/v1")
                        .put("kind", "ResourceClaim");
        claim.putObject("metadata").put("name", name).put("namespace", "team-a").put("uid", uid);
        ObjectNode exact =
                claim.putObject("spec")
                        .putObject("devices")
                        .putArray("requests")
                        .addObject()
                        .put("name", "gpu")
                        .putObject("exactly")
                        .put("deviceClassName", DraDriver.NAME);
        share.ifPresent(
                amount -> exact.putObject("capacity").putObject("requests").put("memory", amount));
        ObjectNode status = claim.putObject("status");
        ArrayNode results = status.putObject("allocation").putObject("devices").putArray("results");
        for (String device : devices) {
            ObjectNode result =
                    results.addObject()
                            .put("device", device)
                            .put("driver", DraDriver.NAME)
                            .put("pool", TestApiServer.NODE)
                            .put("request", "gpu");
            share.ifPresent(amount ->
                    result.put("shareID", UUID.randomUUID().toString())
                            .putObject("consumedCapacity")
                            .put("memory", amount));
        }
        status.putArray("reservedFor")
                .addObject()
                .put("name", pod.name())
                .put("resource", "pods")
                .put("uid", pod.uid());
        return claim;
    }
}
