package jnvdocker.lease;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * How many GPUs each user may have at a time, and has. Pods of Kubernetes have quotas of their own.
 */
public final class Quota {
    private static final String KEY = "max_gpus_per_user";
    private static final String UNKNOWN_KEY = "max_gpus_unknown";

    private final LeasePolicy policy;
    private final Map<String, Lease> held;

    /**
     * @param held the live leases, by the UUIDs of their GPUs
     */
    public Quota(LeasePolicy policy, Map<String, Lease> held) {
        this.policy = policy;
        this.held = held;
    }

    /** Whether it matters who asks. */
    boolean isLimited() {
        return policy.maxGpusPerUser().isPresent() || policy.maxGpusUnknown().isPresent();
    }

    /** Whether a user may have so many more now. */
    public boolean allows(Owner owner, int more) {
        return more <= left(owner);
    }

    /** Whether a user may ever have so many. */
    public boolean allowsEver(Owner owner, int gpus) {
        return gpus <= most(owner);
    }

    /** The leases of a user's, in order of their numbers. */
    public List<Lease> leases(Owner owner) {
        List<Lease> leases = new ArrayList<>();
        Set<Long> seen = new HashSet<>();
        for (Lease lease : held.values()) {
            if (lease.claim().owner().isSameAs(owner) && seen.add(lease.id())) {
                leases.add(lease);
            }
        }
        leases.sort((one, other) -> Long.compare(one.id(), other.id()));
        return leases;
    }

    /**
     * The limits of each user.
     *
     * @param ofUnknown whether it is for all those together who are not known
     * @param key of the configuration, and its file
     */
    public record Limit(int gpus, boolean ofUnknown, String key) {}

    public Limit limit(Owner owner) {
        boolean unknown = isOfUnknown(owner);
        return new Limit(most(owner), unknown, policy.key(unknown ? UNKNOWN_KEY : KEY));
    }

    private boolean isOfUnknown(Owner owner) {
        return owner.isUnknown() && policy.maxGpusUnknown().isPresent();
    }

    /** How many more a user may have; fewer than none when the rule is newer than the leases. */
    int left(Owner owner) {
        long has =
                held.values().stream()
                        .filter(lease -> lease.claim().owner().isSameAs(owner))
                        .count();
        return most(owner) - (int) has;
    }

    private int most(Owner owner) {
        if (owner.isKubernetes()) {
            return Integer.MAX_VALUE;
        }
        return (isOfUnknown(owner) ? policy.maxGpusUnknown() : policy.maxGpusPerUser())
                .orElse(Integer.MAX_VALUE);
    }
}
