package jnvdocker.kubernetes.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.kubernetes.dra.AllocatedClaim.Result;
import jnvdocker.kubernetes.dra.DraMessages.ClaimRef;
import jnvdocker.lease.Origin;
import jnvdocker.request.MemorySize;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/** What of a resource claim is given to its pod. */
class AllocatedClaimTest {
    private static final ClaimRef REF = new ClaimRef("team-a", "600378ed", "a-gpu-8s5xs");

    private static final String CLAIM =
            """
            {"metadata": {"name": "a-gpu-8s5xs", "uid": "600378ed", "managedFields": [{}]},
             "status": {
               "allocation": {"devices": {
                 "results": [
                   {"device": "gpu-5c1a0000", "driver": "gpu.jnvdocker", "pool": "node1",
                    "request": "gpu"},
                   {"device": "gpu-5c1a1003", "driver": "gpu.jnvdocker", "pool": "node1",
                    "request": "other/large"},
                   {"device": "nic-1", "driver": "net.example", "pool": "node2",
                    "request": "nic", "adminAccess": true}],
                 "config": [{"opaque": {"driver": "net.example", "parameters": {"mtu": 9000}}}]}},
               "reservedFor": [{"name": "a", "resource": "pods", "uid": "7e9317b9"}]}}
            """;

    private static AllocatedClaim read(String text) throws RefusedException, IOException {
        return AllocatedClaim.of(ApiServer.tree(text), REF, "gpu.jnvdocker", "node1");
    }

    @Test
    void itsDevicesAreThoseOfTheDriverWithTheirRequests() throws Exception {
        AllocatedClaim claim = read(CLAIM);
        assertEquals(new Origin.Pod("7e9317b9", "team-a", "a"), claim.pod());
        assertEquals(
                List.of(
                        new Result("gpu", "gpu-5c1a0000", Optional.empty(), OptionalLong.empty()),
                        new Result(
                                "other", "gpu-5c1a1003", Optional.empty(), OptionalLong.empty())),
                claim.results());
        assertEquals(
                Map.of("gpu-5c1a0000", Optional.empty(), "gpu-5c1a1003", Optional.empty()),
                claim.allocated().devices());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    600378ed", | 11111111", | is another one by now
                    "request": "gpu" | "request": "gpu", "adminAccess": true | beside its holder
                    "node1", | "node3", | of another node
                    gpu.jnvdocker | gpu.example | is not allocated
                    "opaque": {"driver": "net.example" | "opaque": {"driver": "gpu.jnvdocker" \
                    | has parameters for gpu.jnvdocker
                    "uid": "7e9317b9"} | "uid": "7e9317b9"}, {"name": "b", "resource": "pods"} \
                    | is reserved for 2 pods
                    "resource": "pods" | "resource": "podgroups" | not for one
                    """)
    void whatWouldBreakTheRuleOfOneHolderIsRefused(String from, String to, String why) {
        String changed = CLAIM.replaceFirst(java.util.regex.Pattern.quote(from), to);
        if (from.equals("gpu.jnvdocker")) {
            changed = CLAIM.replace(from, to);
        }
        String text = changed;
        var refused = assertThrows(RefusedException.class, () -> read(text));
        assertTrue(refused.getMessage().contains(why), refused::getMessage);
    }

    /** As a scheduler of Kubernetes 1.36 has allocated it. */
    private static String shares(String first, String second) {
        return """
        {"metadata": {"name": "a-gpu-8s5xs", "uid": "600378ed"},
         "spec": {"devices": {"requests": [
           {"name": "gpu", "exactly": {"capacity": {"requests": {"memory": "1"}}}},
           {"name": "other", "firstAvailable": [
             {"name": "large"}, {"name": "small", "capacity": {"requests": {"memory": "1"}}}]},
           {"name": "all", "exactly": {}}]}},
         "status": {
           "allocation": {"devices": {"results": [
             {"device": "gpu-1", "driver": "gpu.jnvdocker", "pool": "node1", "shareID": "a",
              %s},
             {"device": "gpu-1", "driver": "gpu.jnvdocker", "pool": "node1", "shareID": "b",
              %s}]}},
           "reservedFor": [{"name": "a", "resource": "pods", "uid": "7e9317b9"}]}}
        """
                .formatted(first, second);
    }

    private static String result(String request, String memory) {
        return "\"request\": \"%s\", \"consumedCapacity\": {\"memory\": \"%s\"}"
                .formatted(request, memory);
    }

    @ParameterizedTest
    @CsvSource({
        "gpu,         10Gi,   gpu,         2Gi,   12GiB",
        "gpu,         10G,    other/small, 2500M, 12500M",
        "gpu,         1536Mi, other/small, 512Mi, 2GiB",
        "gpu,         10Gi,   all,         30Gi,  ",
        "other/large, 30Gi,   other/small, 10Gi,  ",
    })
    void sharesOfADeviceAreOne(
            String first, String some, String second, String more, String together)
            throws Exception {
        AllocatedClaim claim = read(shares(result(first, some), result(second, more)));
        assertEquals(
                List.of(Optional.of("a"), Optional.of("b")),
                claim.results().stream().map(Result::share).toList());
        assertEquals(
                Map.of("gpu-1", Optional.ofNullable(together).flatMap(MemorySize::parse)),
                claim.allocated().devices());
    }

    /** A lease that had another amount than the claim would not add up. */
    @ParameterizedTest
    @ValueSource(strings = {"1500", "0", "10e3", "127Mi", "100M", "9223372036854775807"})
    void amountThatNoLeaseMayHaveIsRefused(String amount) {
        var refused =
                assertThrows(
                        RefusedException.class,
                        () ->
                                read(shares(result("gpu", amount), result("gpu", amount)))
                                        .allocated());
        assertTrue(refused.getMessage().contains(" of a GPU's memory"), refused::getMessage);
    }
}
