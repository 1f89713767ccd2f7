package jnvdocker.lease;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;

/**
 * How many GPUs each user may have at a time, and has. The pods of a namespace of Kubernetes are
 * one user's, with a limit of their own.
 */
public final class Quota {
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

    /** Those whom a limit is for: each of them, or all unknown users together. */
    public enum Of {
        USER("max_gpus_per_user"),
        UNKNOWN("max_gpus_unknown"),
        NAMESPACE("max_gpus_per_namespace");

        private final String key;

        Of(String key) {
            this.key = key;
        }
    }

    /**
     * The limits of each user.
     *
     * @param key of the configuration, and its file
     */
    public record Limit(int gpus, Of of, String key) {}

    public Limit limit(Owner owner) {
        Of of = of(owner);
        return new Limit(most(owner), of, policy.key(of.key));
    }

    private Of of(Owner owner) {
        if (owner.isKubernetes()) {
            return Of.NAMESPACE;
        }
        boolean unknown = owner.isUnknown() && policy.maxGpusUnknown().isPresent();
        return unknown ? Of.UNKNOWN : Of.USER;
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
        OptionalInt most =
                switch (of(owner)) {
                    case USER -> policy.maxGpusPerUser();
                    case UNKNOWN -> policy.maxGpusUnknown();
                    case NAMESPACE ->
                            owner.isNamespace()
                                    ? policy.maxGpusPerNamespace()
                                    : OptionalInt.empty();
                };
        return most.orElse(Integer.MAX_VALUE);
    }
}
