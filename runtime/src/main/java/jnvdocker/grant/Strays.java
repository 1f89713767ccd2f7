package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * Gives leases to holders that run although the registry that knew of them is lost, as far as this
 * machine alone shows their GPUs.
 */
final class Strays {
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Supply supply;

    Strays(LeaseRegistry registry, Evidence evidence, Supply supply) {
        this.registry = registry;
        this.evidence = evidence;
        this.supply = supply;
    }

    /** Gives each of them a lease of those of its GPUs that nobody else uses. */
    void adopt() throws IOException {
        if (!registry.claims().isNew()) {
            return;
        }
        List<Gpu> gpus;
        try {
            gpus = supply.gpus().stream().filter(Gpu::isIdentified).toList();
        } catch (NoDriverException e) {
            return; // Without a driver nothing uses a GPU.
        }
        for (HolderKind kind : evidence.kinds()) {
            for (HolderKind.Stray stray : kind.strays(gpus)) {
                endLeasesOfThePast(stray);
                adopt(stray);
            }
        }
    }

    /** A registry that was restored from a copy may give them to others that no longer run. */
    private void endLeasesOfThePast(HolderKind.Stray stray) throws IOException {
        for (Lease lease : registry.live()) {
            boolean concerned = stray.gpus().stream().map(ClaimedGpu::of).anyMatch(lease::excludes);
            if (concerned && !(evidence.of(lease) instanceof Life.Running)) {
                registry.end(lease, stray.origin().title() + " runs with its GPU");
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
                                Claim.newId(),
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
}
