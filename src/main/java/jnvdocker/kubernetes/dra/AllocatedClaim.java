package jnvdocker.kubernetes.dra;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.kubernetes.PodClaims;
import jnvdocker.kubernetes.dra.DraMessages.ClaimRef;
import jnvdocker.lease.Origin;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.MemorySize;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What a {@code ResourceClaim} of {@code resource.k8s.io/v1} has of this driver's devices.
 *
 * @param results in the order of the claim's status; several may have shares of one device
 */
record AllocatedClaim(ClaimRef ref, Origin.Pod pod, List<Result> results) {
    private static final String REMEDY = "delete the pod and its claim, and write another claim";

    /**
     * A device that was allocated for a request of the claim.
     *
     * @param request its name, without that of a subrequest
     * @param device its name
     * @param share the id of the share, of a device that may have several
     * @param memory how many bytes of the GPU's memory the request is for; empty for the whole GPU
     */
    record Result(String request, String device, Optional<String> share, OptionalLong memory) {}

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
        List<Result> results = new ArrayList<>();
        for (JsonNode result : devices.path("results")) {
            if (result.path("driver").asText().equals(driver)) {
                results.add(result(result, claim.path("spec").path("devices"), ref, pool));
            }
        }
        if (results.isEmpty()) {
            throw new RefusedException(
                    "resource claim " + ref.name() + " is not allocated", "delete the pod");
        }
        for (JsonNode config : devices.path("config")) {
            if (config.path("opaque").path("driver").asText().equals(driver)) {
                throw refusal(ref, "has parameters for " + driver + ", which takes none");
            }
        }
        return new AllocatedClaim(ref, pod(claim, ref), results);
    }

    /** The path of a claim at the API server. */
    static String path(String namespace, String name) {
        return "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims/%s"
                .formatted(
                        URLEncoder.encode(namespace, StandardCharsets.UTF_8),
                        URLEncoder.encode(name, StandardCharsets.UTF_8));
    }

    /**
     * Returns the names of the devices that are allocated to a claim on a node.
     *
     * @param uid of the claim; another claim of its name has none of them
     */
    static Set<String> devices(JsonNode claim, String uid, String driver, String pool) {
        Set<String> names = new HashSet<>();
        if (claim.path("metadata").path("uid").asText().equals(uid)) {
            JsonNode devices = claim.path("status").path("allocation").path("devices");
            for (JsonNode result : devices.path("results")) {
                if (result.path("driver").asText().equals(driver)
                        && result.path("pool").asText().equals(pool)) {
                    names.add(result.path("device").asText());
                }
            }
        }
        return names;
    }

    private static Result result(JsonNode result, JsonNode spec, ClaimRef ref, String pool)
            throws RefusedException {
        String device = result.path("device").asText();
        if (!result.path("pool").asText().equals(pool)) {
            throw refusal(ref, "has " + device + " of another node");
        }
        if (result.path("adminAccess").asBoolean()) {
            throw refusal(ref, "requests " + device + " beside its holder: a GPU has one holder");
        }
        // A subrequest is NAME/SUBREQUEST, and a kubelet knows the first part.
        String[] request = result.path("request").asText().split("/", 2);
        Optional<String> share = Optional.ofNullable(result.path("shareID").textValue());
        boolean isWhole = share.isEmpty() || !requestsMemory(spec, request);
        return new Result(
                request[0],
                device,
                share,
                isWhole ? OptionalLong.empty() : OptionalLong.of(consumed(result, ref)));
    }

    /** A request that names no amount is for the whole GPU, and all of its memory is allocated. */
    private static boolean requestsMemory(JsonNode spec, String[] request) {
        for (JsonNode each : spec.path("requests")) {
            if (each.path("name").asText().equals(request[0])) {
                JsonNode exact = each.path("exactly");
                for (JsonNode one : each.path("firstAvailable")) {
                    if (one.path("name").asText().equals(request[request.length - 1])) {
                        exact = one;
                    }
                }
                return exact.path("capacity").path("requests").has(SliceDevices.MEMORY);
            }
        }
        return false;
    }

    private static long consumed(JsonNode result, ClaimRef ref) throws RefusedException {
        String amount = result.path("consumedCapacity").path(SliceDevices.MEMORY).asText();
        return Quantity.parse(amount).orElseThrow(() -> refusalOfAmount(ref, Quote.quoted(amount)));
    }

    private static Origin.Pod pod(JsonNode claim, ClaimRef ref) throws RefusedException {
        JsonNode reserved = claim.path("status").path("reservedFor");
        JsonNode pod = reserved.path(0);
        if (reserved.size() != 1 || !pod.path("resource").asText().equals("pods")) {
            throw refusal(
                    ref,
                    "is reserved for "
                            + reserved.size()
                            + " pods, not for one: a GPU has one holder");
        }
        return new Origin.Pod(pod.path("uid").asText(), ref.namespace(), pod.path("name").asText());
    }

    private static RefusedException refusal(ClaimRef ref, String what) {
        return new RefusedException("resource claim " + ref.name() + " " + what, REMEDY);
    }

    /**
     * What its lease is taken by: the shares of a device are one.
     *
     * @throws RefusedException when the amount of a share is none that a lease may have
     */
    PodClaims.Allocated allocated() throws RefusedException {
        Map<String, OptionalLong> amounts = new LinkedHashMap<>();
        for (Result result : results) {
            amounts.merge(
                    result.device(),
                    result.memory(),
                    (one, other) ->
                            one.isEmpty() || other.isEmpty()
                                    ? OptionalLong.empty()
                                    : OptionalLong.of(one.getAsLong() + other.getAsLong()));
        }
        Map<String, Optional<MemorySize>> devices = new LinkedHashMap<>();
        for (var device : amounts.entrySet()) {
            OptionalLong bytes = device.getValue();
            devices.put(
                    device.getKey(),
                    bytes.isEmpty() ? Optional.empty() : Optional.of(size(bytes.getAsLong())));
        }
        return new PodClaims.Allocated(ref.uid(), pod, devices);
    }

    private MemorySize size(long bytes) throws RefusedException {
        return MemorySize.of(bytes)
                .filter(GpuFilter::isShare)
                .orElseThrow(() -> refusalOfAmount(ref, String.valueOf(bytes)));
    }

    private static RefusedException refusalOfAmount(ClaimRef ref, String bytes) {
        return new RefusedException(
                "resource claim %s requests %s bytes of a GPU's memory"
                        .formatted(ref.name(), bytes),
                "write another claim, for a whole number of M, Mi, G or Gi, and at least "
                        + Quantity.of(GpuFilter.LEAST_SHARE.bytes()));
    }
}
