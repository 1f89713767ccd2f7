package jnvdocker.claim;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.List;

/**
 * Explains to the user of a stopped container, which was given the nodes of its own GPUs, why it
 * cannot be started, and how to get other GPUs.
 */
final class RemakeAdvice {
    /** What gives the user of a container other GPUs. */
    static final String RUN_AGAIN = "remove the container and run it again";

    /** The end of a refusal's advice. */
    static final String OTHER_GPUS = ", or " + RUN_AGAIN + " to get other GPUs";

    private RemakeAdvice() {}

    /** Why the limits of the configuration allow a container no new lease, and what to do. */
    static RefusedException refusal(Claim claim, Quota.Excess excess) {
        String has =
                "this container has "
                        + claim.gpus().size()
                        + (claim.gpus().size() == 1 ? " GPU" : " GPUs")
                        + ", and ";
        return switch (excess) {
            case Quota.TooMany many ->
                    new RefusedException(
                            QuotaText.why(many),
                            "stop one of them, then start this container again");
            case Quota.NoHours spent ->
                    new RefusedException(
                            QuotaText.why(spent), "start this container again after that");
            case Quota.Never never when never.limit().limit() > 0 ->
                    new RefusedException(
                            has + QuotaText.why(never),
                            RUN_AGAIN + " with --gpus " + never.limit().limit());
            case Quota.Elsewhere elsewhere ->
                    new RefusedException(
                            "this container has "
                                    + LeaseText.names(claim.gpus())
                                    + ", and "
                                    + QuotaText.why(elsewhere),
                            RUN_AGAIN + " to get one of these");
            case Quota.ForGood ever ->
                    new RefusedException(has + QuotaText.why(ever), QuotaText.remedy(ever));
        };
    }

    /** Why no GPUs can be given for a start, whichever leases end, and what to do. */
    static RefusedException refusal(Outcome.Impossible why) {
        Refusal refusal =
                switch (why) {
                    case Outcome.Barred(Verdict gpu, _) when gpu.cordon().isPresent() ->
                            cordoned(gpu);
                    // Its shares are requested as a number, and of its own GPUs alone.
                    case Outcome.TooFew few -> tooFew(few);
                    default -> Refusals.of(why, Addressee.COMMAND);
                };
        return new RefusedException(refusal.what(), refusal.remedy().orElseThrow() + OTHER_GPUS);
    }

    private static Refusal tooFew(Outcome.TooFew few) {
        List<Verdict> out = few.suited().stream().filter(it -> !it.isInService()).toList();
        return out.stream()
                .filter(it -> it.gpu().isSound())
                .findFirst()
                .map(RemakeAdvice::cordoned)
                .or(() -> out.stream().findFirst().map(it -> GpuText.sick(it.gpu())))
                .orElseGet(() -> Refusals.of(few, Addressee.COMMAND));
    }

    private static Refusal cordoned(Verdict verdict) {
        Gpu gpu = verdict.gpu();
        return gpu.isSound()
                ? new Refusal(
                        LeaseText.name(gpu.number(), gpu.uuid())
                                + " is "
                                + LeaseText.cordoned(verdict.cordon().orElseThrow()),
                        "start this container again when the cordon is lifted")
                : GpuText.sick(gpu);
    }

    /**
     * Why a container cannot be started while GPUs are used without a lease, or kept for others.
     *
     * @param busy its GPUs of which that is so
     */
    static RefusedException refusal(List<Verdict> busy) {
        boolean one = busy.size() == 1;
        String ends = one ? "it has ended" : "they have ended";
        String comesFree = one ? "it is free" : "they are free";
        return new RefusedException(
                HoldersText.withoutLease(busy),
                "start this container again when "
                        + (busy.stream().allMatch(it -> it.kept().isEmpty()) ? ends : comesFree)
                        + OTHER_GPUS);
    }
}
