package jnvdocker.supply;

import jnvdocker.holder.PresentGpus;
import jnvdocker.host.Gpu;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Allowances;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Situation;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The GPUs that may be given, and all that a choice among them depends on besides the leases and
 * the queue: what is known of them, and the rules of this moment.
 */
public final class Supply {
    /** For the groups of a user, which the host may have to fetch from elsewhere. */
    public static final Duration NAMES_LIMIT = Duration.ofSeconds(2);

    private final PresentGpus inventory;
    private final Supplier<GpuTraits> traits;
    private final Supplier<LeasePolicy> policy;
    private final AllowanceReader users;

    /**
     * @param inventory of the GPUs with their faults
     * @param policy the limits of the configuration, as they are now
     * @param users finds out what users may have by them
     */
    public Supply(
            PresentGpus inventory,
            Supplier<GpuTraits> traits,
            Supplier<LeasePolicy> policy,
            AllowanceReader users) {
        this.inventory = inventory;
        this.traits = traits;
        this.policy = policy;
        this.users = users;
    }

    /**
     * What a choice depends on, read before the leases are.
     *
     * @param gpus of the host
     * @param allowances of the users whom the choice concerns
     * @param before the clients that come first
     */
    public record Terms(
            List<Gpu> gpus,
            GpuTraits traits,
            LeasePolicy rules,
            Allowances allowances,
            List<Ticket> before) {
        public Terms {
            gpus = List.copyOf(gpus);
            before = List.copyOf(before);
        }

        /**
         * The terms for a holder that goes on: rules are for those who get GPUs anew, and its own
         * were not given back to those who wait.
         */
        public Terms ofRestart(Claim claim) {
            return new Terms(
                    gpus,
                    traits.knowing(claim),
                    rules.ofRestart(),
                    Allowances.of(Limits.NONE),
                    List.of());
        }

        /** The terms for a claim whose shares were given before, whatever NVML reports now. */
        public Terms knowing(Claim claim) {
            return new Terms(gpus, traits.knowing(claim), rules, allowances, before);
        }

        /** Uses without a lease, as far as the rules let them bar a GPU. */
        public UnmanagedUses unmanaged(Map<String, List<GpuUse>> uses) {
            return new UnmanagedUses(uses, rules.allowUnmanaged());
        }

        public GpuChoice choice(Holdings holdings, UnmanagedUses unmanaged) {
            return new GpuChoice(
                    new Situation(gpus, traits, holdings, unmanaged, rules, allowances), before);
        }
    }

    /**
     * The terms of this moment for a request of a user.
     *
     * @param before the clients that come first
     */
    public Terms terms(Owner owner, List<Ticket> before) throws IOException {
        return terms(gpus(), List.of(owner), before);
    }

    /**
     * The terms of this moment for GPUs that were read before.
     *
     * @param owners of requests, besides those of the clients that come first
     */
    public Terms terms(List<Gpu> gpus, List<Owner> owners, List<Ticket> before) throws IOException {
        LeasePolicy rules = policy.get();
        GpuTraits known = traits.get().sharing(gpus, rules);
        List<Owner> all = new ArrayList<>(owners);
        before.forEach(ticket -> all.add(ticket.owner()));
        return new Terms(gpus, known, rules, allowances(rules, all), before);
    }

    /**
     * The allowances of some users, and of the owners of stopped containers, where those keep GPUs.
     */
    private Allowances allowances(LeasePolicy rules, List<Owner> owners) throws IOException {
        List<Owner> all = new ArrayList<>(owners);
        if (rules.holdAfterStop().isPresent()) {
            all.addAll(users.ofStopped());
        }
        return users.of(rules, all);
    }

    /** The GPUs that are kept for the owners of stopped containers, by UUID. */
    public Map<String, AfterStop> afterStop(Holdings holdings) throws IOException {
        LeasePolicy rules = policy.get();
        return holdings.afterStop(rules.holdAfterStop(), allowances(rules, List.of()));
    }

    /** The GPUs of stopped containers that are not kept only because of their owners' limits. */
    public Set<String> stopsBeyondLimits(Holdings holdings) throws IOException {
        Optional<Duration> time = policy.get().holdAfterStop();
        if (time.isEmpty() || holdings.stopped().isEmpty()) {
            return Set.of();
        }
        Set<String> gpus =
                new HashSet<>(holdings.afterStop(time, Allowances.of(Limits.NONE)).keySet());
        gpus.removeAll(afterStop(holdings).keySet());
        return gpus;
    }

    /** Returns a user's limits, and what the user holds. */
    public Standing standing(Owner owner, Holdings holdings) throws IOException {
        LeasePolicy rules = policy.get();
        Allowances allowances = allowances(rules, List.of(owner));
        Map<String, AfterStop> kept = holdings.afterStop(rules.holdAfterStop(), allowances);
        return new Standing(
                allowances.of(owner),
                new Quota(allowances, holdings.held()).has(owner) + holdings.keptFor(owner, kept),
                users.hours(rules, owner, true),
                users.hours(rules, owner, false));
    }

    /** The rules that count for a user, whatever is used up, as far as they are known at once. */
    public Allowance allowance(Owner owner) {
        return users.rules(policy.get().limits(), owner);
    }

    /**
     * How long a user's GPUs may be idle before their holder is stopped; empty for as long as the
     * holder likes, and while it is not known which groups the user is in.
     */
    public Optional<Rule<Duration>> longestIdle(Owner owner) {
        return policy.get().limits().idle().isEmpty() ? Optional.empty() : allowance(owner).idle();
    }

    /**
     * Waits until the host has resolved a user's groups, if limits depend on them; if they are not
     * known after that time, the choice reports it.
     */
    public void learn(Owner owner, Duration patience) {
        users.learn(policy.get().limits(), owner, patience);
    }

    /** The GPUs that the host has at this moment. */
    public List<Gpu> gpus() throws IOException {
        return inventory.gpus();
    }

    /** The limits of the configuration, as they are now. */
    public LeasePolicy rules() {
        return policy.get();
    }

    /** Whether a claim's GPUs have neither vanished since they were chosen nor become others. */
    public boolean has(Claim claim) {
        try {
            return gpus().stream()
                            .filter(gpu -> claim.gpus().stream().anyMatch(it -> it.isStill(gpu)))
                            .count()
                    == claim.gpus().size();
        } catch (IOException e) {
            return false;
        }
    }
}
