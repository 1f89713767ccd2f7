package jnvdocker.kubernetes;

import jnvdocker.grant.Grants;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.use.GpuUse;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The reservation for a pod that a kubelet admits, of which it is not known yet which it is. */
final class PodAdmission implements Grants.Bid<List<Gpu>> {
    private final List<Gpu> gpus;
    private final ProcessId kubelet;
    private final PodRules rules;
    private final PodReport report;

    PodAdmission(List<Gpu> gpus, ProcessId kubelet, PodRules rules, PodReport report) {
        this.gpus = gpus;
        this.kubelet = kubelet;
        this.rules = rules;
        this.report = report;
    }

    /** The pod waits at its start until unmanaged uses have ended. */
    @Override
    public boolean needsScan(Holdings holdings) {
        return false;
    }

    @Override
    public List<GpuUse> scan() {
        return List.of();
    }

    @Override
    public Optional<Grants.Answer<List<Gpu>>> decide(
            LeaseWriter leases, Map<String, List<GpuUse>> uses) {
        Holdings holdings = leases.holdings();
        List<Lease> others =
                gpus.stream()
                        .flatMap(gpu -> holdings.holders(gpu).stream())
                        .distinct()
                        .filter(PodAdmission::isFinal)
                        .toList();
        if (!others.isEmpty()) {
            return Optional.of(
                    new Grants.Blocked<>(
                            others, () -> report.held(gpus, others, Addressee.POD_AT_ADMISSION)));
        }
        Outcome outcome;
        try {
            outcome = PodRules.whole(gpus, holdings, rules.choice(holdings, UnmanagedUses.NONE));
        } catch (RefusedException e) {
            String advice = Addressee.POD_AT_ADMISSION.advice();
            return Optional.of(
                    new Grants.Refused<>(() -> new RefusedException(e.refusal().what(), advice)));
        }
        if (outcome instanceof Outcome.Unmet unmet) {
            return Optional.of(
                    new Grants.Refused<>(() ->
                            new RefusedException(Refusals.of(unmet, Addressee.POD_AT_ADMISSION))));
        }
        List<Gpu> free = PodRules.free(gpus, holdings);
        for (Gpu gpu : free) {
            Claim claim = report.claim(ClaimedGpu.of(gpu), Origin.Pod.UNKNOWN, holdings);
            leases.add(claim, Optional.empty());
            leases.promise(claim, kubelet);
        }
        return Optional.of(new Grants.Granted<>(free));
    }

    /** Whether a lease does not end soon, as far as a kubelet may wait for that. */
    static boolean isFinal(Lease lease) {
        return !lease.isReservation() && !PodKind.isOfPod(lease);
    }
}
