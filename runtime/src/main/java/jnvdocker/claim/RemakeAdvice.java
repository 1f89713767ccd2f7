package jnvdocker.claim;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Quota;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.ChoiceText;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import java.util.List;
import java.util.Map;

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
    static RefusedException refusal(GpuChoice.Impossible why) {
        Refusal refusal =
                switch (why) {
                    case GpuChoice.Sick(Gpu gpu) -> GpuText.sick(gpu);
                    case GpuChoice.Cordoned(Gpu gpu, Cordon cordon, _) -> cordoned(gpu, cordon);
                    // Its shares are requested as a number, and of its own GPUs alone.
                    case GpuChoice.TooFew few when !few.cordoned().isEmpty() -> {
                        Gpu gpu = few.cordoned().keySet().iterator().next();
                        yield cordoned(gpu, few.cordoned().get(gpu));
                    }
                    case GpuChoice.TooFew few when !few.sick().isEmpty() ->
                            GpuText.sick(few.sick().getFirst());
                    default -> ChoiceText.refusal(why);
                };
        return new RefusedException(refusal.what(), refusal.remedy().orElseThrow() + OTHER_GPUS);
    }

    private static Refusal cordoned(Gpu gpu, Cordon cordon) {
        return new Refusal(
                LeaseText.name(gpu.number(), gpu.uuid()) + " is " + LeaseText.cordoned(cordon),
                "start this container again when the cordon is lifted");
    }

    /**
     * Why a container cannot be started while GPUs are used without a lease, or kept for others.
     *
     * @param used its GPUs of which that is so
     * @param kept the reasons, by UUID
     */
    static RefusedException refusal(
            List<ClaimedGpu> used, UnmanagedUses unmanaged, Map<String, Kept> kept) {
        boolean one = used.size() == 1;
        String ends = one ? "it has ended" : "they have ended";
        String comesFree = one ? "it is free" : "they are free";
        return new RefusedException(
                HoldersText.taken(used, List.of(), unmanaged, kept),
                "start this container again when "
                        + (kept.isEmpty() ? ends : comesFree)
                        + OTHER_GPUS);
    }
}
