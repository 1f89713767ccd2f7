package jnvdocker.lease;

import jnvdocker.labels.Quote;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** How many GPUs each user may have at a time, and has. */
final class Quota {
    private static final String KEY = "max_gpus_per_user";

    private final Policy policy;
    private final Map<String, Lease> held;

    /**
     * @param held the live leases, by the UUIDs of their GPUs
     */
    Quota(Policy policy, Map<String, Lease> held) {
        this.policy = policy;
        this.held = held;
    }

    /** Whether it matters who asks. */
    boolean isLimited() {
        return policy.maxGpusPerUser().isPresent();
    }

    /** Whether a user may have so many more now. */
    boolean allows(Owner owner, int more) {
        return more <= left(owner);
    }

    /** Whether anybody may ever have so many. */
    boolean allowsEver(int gpus) {
        return gpus <= limit();
    }

    /** The leases of a user's, in order of their numbers. */
    List<Lease> leases(Owner owner) {
        List<Lease> leases = new ArrayList<>();
        Set<Long> seen = new HashSet<>();
        for (Lease lease : held.values()) {
            if (lease.claim().owner().uid() == owner.uid() && seen.add(lease.id())) {
                leases.add(lease);
            }
        }
        leases.sort((one, other) -> Long.compare(one.id(), other.id()));
        return leases;
    }

    /** {@code each user may have 4 at a time (max_gpus_per_user in /etc/jnvdocker/config.toml)}. */
    String rule() {
        return "each user may have " + limit() + " at a time (" + policy.key(KEY) + ")";
    }

    /** {@code alice has 3 of the 4 that each user may have at a time (…): GPU 0 is held by …}. */
    String excess(Owner owner) {
        List<Lease> leases = leases(owner);
        List<ClaimedGpu> gpus =
                leases.stream().flatMap(lease -> lease.claim().gpus().stream()).toList();
        return Quote.shown(owner.name())
                + " has "
                + gpus.size()
                + " of the "
                + limit()
                + " that each user may have at a time ("
                + policy.key(KEY)
                + "): "
                + Refusals.held(gpus, leases);
    }

    /** How many more a user may have; fewer than none when the rule is newer than the leases. */
    int left(Owner owner) {
        long has =
                held.values().stream()
                        .filter(lease -> lease.claim().owner().uid() == owner.uid())
                        .count();
        return limit() - (int) has;
    }

    private int limit() {
        return policy.maxGpusPerUser().orElse(Integer.MAX_VALUE);
    }
}
