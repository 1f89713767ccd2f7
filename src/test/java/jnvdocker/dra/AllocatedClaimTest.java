package jnvdocker.dra;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.dra.DraMessages.ClaimRef;
import jnvdocker.lease.Origin;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.Map;

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
        assertEquals(Map.of("gpu-5c1a0000", "gpu", "gpu-5c1a1003", "other"), claim.requests());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    600378ed", | 11111111", | is another one by now
                    "request": "gpu" | "request": "gpu", "adminAccess": true | beside its holder
                    "request": "gpu" | "request": "gpu", "shareID": "1" | beside its holder
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
}
