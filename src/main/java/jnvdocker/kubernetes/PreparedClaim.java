package jnvdocker.kubernetes;

import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A resource claim that a kubelet has had prepared, by the kubelet's own file.
 *
 * @param namespace of the claim
 * @param name of the claim; another claim may have the name by now
 * @param pods the uids of the pods that use the claim
 */
public record PreparedClaim(String namespace, String name, Set<String> pods) {
    public PreparedClaim {
        pods = Set.copyOf(pods);
    }

    /** Returns the uids of the pods of each claim. */
    static Map<String, Set<String>> pods(Map<String, PreparedClaim> claims) {
        return claims.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, claim -> claim.getValue().pods()));
    }
}
