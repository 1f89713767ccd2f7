package jnvdocker.dra;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.dra.DraMessages.ClaimRef;
import jnvdocker.kubernetes.PodClaims;
import jnvdocker.lease.Origin;
import jnvdocker.words.RefusedException;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a {@code ResourceClaim} of {@code resource.k8s.io/v1} has of this driver's devices.
 *
 * @param requests of the claim, by the names of the devices that were allocated for them
 */
record AllocatedClaim(ClaimRef ref, Origin.Pod pod, Map<String, String> requests) {
    private static final String REMEDY = "delete the pod and its claim, and write another claim";

    /**
     * @param pool of this node
     * @throws RefusedException when it is not allocated here, or in a way that is not supported
     */
    static AllocatedClaim of(JsonNode claim, ClaimRef ref, String driver, String pool)
            throws RefusedException {
        if (!claim.path("metadata").path("uid").asText().equals(ref.uid())) {
            throw new RefusedException(
                    "resource claim " + ref.name() + " is another one by now",
                    "wait until the old pod has ended");
        }
        JsonNode devices = claim.path("status").path("allocation").path("devices");
        Map<String, String> requests = new LinkedHashMap<>();
        for (JsonNode result : devices.path("results")) {
            if (result.path("driver").asText().equals(driver)) {
                String device = result.path("device").asText();
                boolean here = result.path("pool").asText().equals(pool);
                if (!here || result.path("adminAccess").asBoolean() || result.has("shareID")) {
                    throw refusal(
                            ref,
                            here
                                    ? "requests " + device + " beside its holder"
                                    : "has " + device + " of another node");
                }
                // A subrequest is NAME/SUBREQUEST, and a kubelet knows the first part.
                requests.put(device, result.path("request").asText().split("/", 2)[0]);
            }
        }
        if (requests.isEmpty()) {
            throw new RefusedException(
                    "resource claim " + ref.name() + " is not allocated", "delete the pod");
        }
        for (JsonNode config : devices.path("config")) {
            if (config.path("opaque").path("driver").asText().equals(driver)) {
                throw refusal(ref, "has parameters for " + driver + ", which takes none");
            }
        }
        return new AllocatedClaim(ref, pod(claim, ref), requests);
    }

    private static Origin.Pod pod(JsonNode claim, ClaimRef ref) throws RefusedException {
        JsonNode reserved = claim.path("status").path("reservedFor");
        JsonNode pod = reserved.path(0);
        if (reserved.size() != 1 || !pod.path("resource").asText().equals("pods")) {
            throw refusal(ref, "is reserved for " + reserved.size() + " pods, not for one");
        }
        return new Origin.Pod(pod.path("uid").asText(), ref.namespace(), pod.path("name").asText());
    }

    private static RefusedException refusal(ClaimRef ref, String what) {
        return new RefusedException(
                "resource claim " + ref.name() + " " + what + ": a GPU has one holder", REMEDY);
    }

    /** What its lease is taken by. */
    PodClaims.Allocated allocated() {
        return new PodClaims.Allocated(ref.uid(), pod, List.copyOf(requests.keySet()));
    }
}
