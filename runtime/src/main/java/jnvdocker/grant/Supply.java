package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The GPUs that may be given, and all that a choice among them depends on besides the leases and
 * the queue: what is known of them, and the rules of this moment.
 */
final class Supply {
    private final ClaimVolumes.Inventory inventory;
    private final Supplier<GpuTraits> traits;
    private final Supplier<LeasePolicy> policy;

    /**
     * @param inventory of the GPUs with their faults
     * @param policy the limits of the configuration, as they are now
     */
    Supply(
            ClaimVolumes.Inventory inventory,
            Supplier<GpuTraits> traits,
            Supplier<LeasePolicy> policy) {
        this.inventory = inventory;
        this.traits = traits;
        this.policy = policy;
    }

    /**
     * What a choice depends on, read before the leases are.
     *
     * @param gpus of the host
     */
    record Terms(List<Gpu> gpus, GpuTraits traits, LeasePolicy rules) {
        Terms {
            gpus = List.copyOf(gpus);
        }

        /** Uses without a lease, as far as the rules let them bar a GPU. */
        UnmanagedUses unmanaged(Map<String, List<GpuUse>> uses) {
            return new UnmanagedUses(uses, rules.allowUnmanaged());
        }

        /**
         * A choice.
         *
         * @param before the clients that come first
         */
        GpuChoice choice(Holdings holdings, UnmanagedUses unmanaged, List<Ticket> before) {
            return new GpuChoice(gpus, traits, holdings, unmanaged, before, rules);
        }
    }

    /** The terms of this moment. */
    Terms terms() throws IOException {
        return terms(gpus());
    }

    /** The terms of this moment for GPUs that were read before. */
    Terms terms(List<Gpu> gpus) {
        return new Terms(gpus, traits.get(), policy.get());
    }

    /** The GPUs that the host has at this moment. */
    List<Gpu> gpus() throws IOException {
        return inventory.gpus();
    }

    /** The limits of the configuration, as they are now. */
    LeasePolicy rules() {
        return policy.get();
    }

    /** Whether a claim's GPUs have neither vanished since they were chosen nor become others. */
    boolean has(Claim claim) {
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
