package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Gives leases to those who run without one. What runs counts: a lease by which somebody else has
 * the GPU, and of which nothing runs, is of an older registry or was given by mistake.
 */
final class Adoption {
    private static final Logger LOG = LoggerFactory.getLogger(Adoption.class);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Unleased unleased;

    Adoption(LeaseRegistry registry, Evidence evidence, Unleased unleased) {
        this.registry = registry;
        this.evidence = evidence;
        this.unleased = unleased;
    }

    /** The cgroup of a holder that has nothing mounted by which to know it. */
    private static Optional<String> cgroup(Holder holder) {
        return switch (holder) {
            case Holder.Process program -> Optional.of(program.cgroup());
            case Holder.Client _,
                    Holder.Container _,
                    Holder.OciContainer _,
                    Holder.MesosContainer _,
                    Holder.Kubelet _,
                    Holder.Pod _ ->
                    Optional.empty();
        };
    }

    /**
     * @param before the live leases by their claims, read before it was seen that this one runs
     */
    void adopt(Claim claim, Holder holder, Map<String, Lease> before) throws IOException {
        if (registry.claims().isReleased(claim.id())) {
            return;
        }
        List<Lease> others = registry.adopt(claim, holder);
        for (Lease other : others) {
            Lease seen = before.get(other.claim().id());
            boolean same = seen != null && seen.id() == other.id();
            boolean runs = !other.isOfClient() && evidence.of(other) instanceof Evidence.Alive;
            if (same && !runs) {
                registry.end(other, claim.displayName() + " runs with its GPU");
            }
        }
        if (!others.isEmpty()) {
            others = registry.adopt(claim, holder);
        }
        if (others.isEmpty()) {
            return;
        }
        unleased.add(claim.id(), cgroup(holder));
        LOG.error(
                "{} runs without a lease, and {}; stop one of the two",
                claim.displayName(),
                LeaseText.held(claim.gpus(), others));
    }
}
