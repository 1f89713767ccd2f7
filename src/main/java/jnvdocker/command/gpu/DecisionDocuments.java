package jnvdocker.command.gpu;

import jnvdocker.decision.RefusalReason;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.screen.Json;
import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.Locale;
import java.util.Optional;

/**
 * Decisions as documents without line breaks, for other packages to publish. A lease is that of
 * {@code gpu leases}.
 */
public final class DecisionDocuments {
    private DecisionDocuments() {}

    /** Returns that of a lease which has just begun. */
    public static String begun(Lease lease) {
        return Json.line(
                LeaseJson.begun(
                        lease,
                        lease.isReservation() ? GpuStatus.State.RESERVED : GpuStatus.State.HELD));
    }

    /** Returns that of a lease which has just ended. */
    public static String ended(Lease lease, Instant at, String evidence) {
        return Json.line(
                LeaseJson.past(
                        new Lease(
                                lease.id(),
                                lease.claim(),
                                lease.holder(),
                                lease.boot(),
                                lease.since(),
                                lease.time(),
                                lease.mounts(),
                                Optional.of(new Lease.End(at, evidence)))));
    }

    private record RefusalJson(
            String at,
            String user,
            Long uid,
            String purpose,
            String reason,
            String message,
            String remedy) {}

    /**
     * Returns that of a refusal.
     *
     * @param purpose for people: {@code container train-7}
     */
    public static String refused(
            Instant at, Owner owner, String purpose, Refusal why, RefusalReason reason) {
        return Json.line(
                new RefusalJson(
                        at.toString(),
                        owner.name(),
                        HolderJson.uid(owner).orElse(null),
                        purpose,
                        reason.name().toLowerCase(Locale.ROOT),
                        why.what(),
                        why.remedy().orElse(null)));
    }
}
