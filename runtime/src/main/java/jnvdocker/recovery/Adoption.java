package jnvdocker.recovery;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Life;
import jnvdocker.holder.Unleased;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Gives leases to holders that run without one, since the registry that knew of them is lost. What
 * runs counts: a lease by which another holder has the GPU, and of which nothing runs, is of an
 * older registry or was given by mistake.
 */
final class Adoption {
    private static final Logger LOG = LoggerFactory.getLogger(Adoption.class);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Unleased unleased;
    private final Keeper keeper;

    Adoption(LeaseRegistry registry, Evidence evidence, Unleased unleased, Keeper keeper) {
        this.registry = registry;
        this.evidence = evidence;
        this.unleased = unleased;
        this.keeper = keeper;
    }

    /** The cgroup of a holder that has nothing mounted by which to know it. */
    private static Optional<String> cgroup(Claim claim, Holder holder) {
        return claim.origin().isMounted() ? Optional.empty() : holder.cgroup();
    }

    /** Gives a lease, unless others have the GPUs; returns the leases of these. */
    private List<Lease> begin(Claim claim, Holder holder) throws IOException {
        return registry.decide(leases -> {
            if (leases.live(claim.id()).isPresent()) {
                return List.of();
            }
            List<Lease> others = leases.liveOn(claim);
            if (others.isEmpty()) {
                leases.recover(claim, holder);
            }
            return others;
        });
    }

    /**
     * @param before the live leases by their claims, read before it was seen that this one runs
     */
    void adopt(Claim claim, Holder holder, Map<String, Lease> before) throws IOException {
        if (registry.claims().isReleased(claim.id())) {
            return;
        }
        List<Lease> others = begin(claim, holder);
        if (!others.isEmpty()) {
            endPast(others, claim.displayName(), before);
            others = begin(claim, holder);
        }
        if (others.isEmpty()) {
            return;
        }
        unleased.add(claim.id(), cgroup(claim, holder));
        LOG.error(
                "{} runs without a lease, and {}; stop one of the two",
                claim.displayName(),
                HoldersText.held(claim.gpus(), others));
    }

    /**
     * Gives leases to holders whose claims are lost, too, of those of their GPUs that nobody else
     * uses.
     *
     * @param gpus of this host
     */
    void adoptStrays(List<Gpu> gpus) throws IOException {
        List<Gpu> identified = gpus.stream().filter(Gpu::isIdentified).toList();
        for (HolderKind kind : evidence.kinds()) {
            for (HolderKind.Stray stray : kind.strays(identified)) {
                Map<String, Lease> before = registry.liveByClaim();
                List<Lease> others = new ArrayList<>(before.values());
                others.removeIf(lease ->
                        stray.gpus().stream().map(ClaimedGpu::of).noneMatch(lease::excludes));
                endPast(others, stray.origin().title(), before);
                adopt(stray);
            }
        }
    }

    private void adopt(HolderKind.Stray stray) throws IOException {
        registry.decide(leases -> {
            List<ClaimedGpu> free =
                    stray.gpus().stream()
                            .filter(gpu -> leases.holdings().of(gpu).isEmpty())
                            .filter(gpu -> !leases.wasReleased(stray.origin(), gpu.uuid()))
                            .map(ClaimedGpu::of)
                            .toList();
            if (!free.isEmpty()) {
                Claim claim =
                        new Claim(
                                registry.newKey(),
                                stray.origin(),
                                stray.origin().owner(),
                                free,
                                leases.holdings().now(),
                                stray.container());
                leases.add(claim, Optional.empty());
                leases.recover(claim, stray.holder());
            }
            return null;
        });
    }

    /** Ends the leases of those of which nothing runs, unless they began meanwhile. */
    private void endPast(List<Lease> others, String holder, Map<String, Lease> before)
            throws IOException {
        for (Lease other : others) {
            Lease seen = before.get(other.claim().id());
            boolean same = seen != null && seen.id() == other.id();
            boolean runs = !other.isOfClient() && evidence.of(other) instanceof Life.Running;
            if (same && !runs) {
                keeper.endUnused(other, holder + " runs with its GPU");
            }
        }
    }
}
