package jnvdocker.kubernetes.dra;

import jnvdocker.kubernetes.PreparedClaim;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The devices that the cluster has allocated to the claims of this node's pods, as the API server
 * said last. It says nothing when a claim is deleted, or loses its devices, while a pod still runs:
 * so it is queried about one claim after the other.
 */
final class AllocatedDevices {
    private static final Logger LOG = LoggerFactory.getLogger(AllocatedDevices.class);

    /** From the server's memory: thousands of nodes query. */
    private static final String PERHAPS_OLD = "?resourceVersion=0";

    private final ApiServer api;
    private final String node;
    private Map<String, Set<String>> known = Map.of();
    private String last = "";

    /**
     * @param node the name of this host in the cluster
     */
    AllocatedDevices(ApiServer api, String node) {
        this.api = api;
        this.node = node;
    }

    /**
     * Queries the server about one of these claims, the next in order of the uids.
     *
     * @param claims by their uids; empty for one that the kubelet does not know any more
     * @return the names of the devices of each claim; without the claims of which nothing is known
     */
    Map<String, Set<String>> of(Map<String, Optional<PreparedClaim>> claims) {
        Map<String, Set<String>> now = new HashMap<>(known);
        now.keySet().retainAll(claims.keySet());
        TreeSet<String> order = new TreeSet<>();
        claims.forEach((uid, claim) -> {
            if (claim.isPresent()) {
                order.add(uid);
            } else {
                now.put(uid, Set.of());
            }
        });
        if (!order.isEmpty()) {
            String next = order.higher(last);
            last = next == null ? order.first() : next;
            query(last, claims.get(last).orElseThrow())
                    .ifPresent(devices -> now.put(last, devices));
        }
        known = Map.copyOf(now);
        return known;
    }

    /** Empty when the server does not say: what it said last counts. */
    private Optional<Set<String>> query(String uid, PreparedClaim claim) {
        try {
            String path = AllocatedClaim.path(claim.namespace(), claim.name()) + PERHAPS_OLD;
            return Optional.of(AllocatedClaim.devices(api.get(path), uid, DraDriver.NAME, node));
        } catch (ApiException e) {
            LOG.debug("claim {}: {}", uid, e.getMessage());
            // A kubelet may read the claims of its node's pods, and of no others.
            return e.isNotFound() || e.isForbidden() ? Optional.of(Set.of()) : Optional.empty();
        } catch (RefusedException | IOException e) {
            LOG.debug("claim {}: {}", uid, e.getMessage());
            return Optional.empty();
        }
    }
}
