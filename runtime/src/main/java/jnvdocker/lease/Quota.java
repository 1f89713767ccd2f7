package jnvdocker.lease;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** How many GPUs each user may have at a time, and has. */
public final class Quota {
    private static final String KEY = "max_gpus_per_user";

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
        return policy.maxGpusPerUser().isPresent();
    }

    /** Whether a user may have so many more now. */
    public boolean allows(Owner owner, int more) {
        return more <= left(owner);
    }

    /** Whether anybody may ever have so many. */
    public boolean allowsEver(int gpus) {
        return gpus <= most();
    }

    /** The leases of a user's, in order of their numbers. */
    public List<Lease> leases(Owner owner) {
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

    /**
     * What each user may have at a time.
     *
     * @param key of the configuration, and its file
     */
    public record Limit(int gpus, String key) {}

    public Limit limit() {
        return new Limit(most(), policy.key(KEY));
    }

    /** How many more a user may have; fewer than none when the rule is newer than the leases. */
    int left(Owner owner) {
        long has =
                held.values().stream()
                        .filter(lease -> lease.claim().owner().uid() == owner.uid())
                        .count();
        return most() - (int) has;
    }

    private int most() {
        return policy.maxGpusPerUser().orElse(Integer.MAX_VALUE);
    }
}
