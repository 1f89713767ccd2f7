package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** The table of refusals: why a request gets no GPU, and what its {@link Addressee} can do. */
public final class Refusals {
    private Refusals() {}

    /** The refusal of a request that was not met. */
    public static Refusal of(Outcome.Unmet unmet, Addressee to) {
        return switch (unmet) {
            case Outcome.Busy busy -> busy(busy, to);
            case Outcome.Impossible why -> impossible(why, to);
        };
    }

    /** The refusal of GPUs that others hold, to one who is told what to do. */
    public static Refusal held(
            List<ClaimedGpu> gpus, List<Lease> by, String remark, Addressee.Told to) {
        return new Refusal(HoldersText.held(gpus, by) + remark, to.advice());
    }

    private static Refusal busy(Outcome.Busy busy, Addressee to) {
        return switch (to) {
            case Addressee.Waits(List<String> ways) ->
                    new Refusal(ChoiceText.reason(busy), advice(busy, ways));
            case Addressee.Service(Owner owner, Predicate<Claim> isPartner) ->
                    new Refusal(
                            ChoiceText.reason(busy),
                            advice(
                                    busy,
                                    Stream.concat(
                                                    PartnerText.ofService(busy, owner, isPartner)
                                                            .stream(),
                                                    Stream.of("start it again later"))
                                            .toList()));
            case Addressee.ByDefault byDefault -> busyByDefault(busy, byDefault);
            case Addressee.Stopped _ -> busyWhenStarted(busy);
            case Addressee.Told(Addressee as, String advice, _) ->
                    new Refusal(busy(busy, as).what(), advice);
        };
    }

    private static Refusal impossible(Outcome.Impossible why, Addressee to) {
        return switch (to) {
            case Addressee.Told(Addressee as, String advice, boolean always) ->
                    always ? new Refusal(impossible(why, as).what(), advice) : impossible(why, as);
            case Addressee.ByDefault(GpuRequest request, _)
                    when why
                            instanceof
                            Outcome.NeverAllowed(GpuRequest.Count requested, var excess) ->
                    new Refusal(
                            byDefault(request, requested.gpus()) + QuotaText.why(excess),
                            excess instanceof Quota.Never never && never.limit().limit() > 0
                                    ? "try --gpus 1"
                                    : QuotaText.remedy(excess));
            case Addressee.Stopped(Claim claim) -> impossibleForNodes(why, claim);
            case Addressee.Waits _, Addressee.Service _, Addressee.ByDefault _ ->
                    ChoiceText.refusal(why);
        };
    }

    private static Refusal busyWhenStarted(Outcome.Busy busy) {
        return switch (busy) {
            case Outcome.OverQuota(_, Quota.TooMany many) ->
                    new Refusal(
                            QuotaText.why(many),
                            "stop one of them, then start this container again");
            case Outcome.OverQuota(_, Quota.NoHours spent) ->
                    new Refusal(QuotaText.why(spent), "start this container again after that");
            // By what holds no lease, and by what is kept for others.
            case Outcome.Taken(_, List<Verdict> gpus, _) -> {
                boolean one = gpus.size() == 1;
                String ends = one ? "it has ended" : "they have ended";
                String comesFree = one ? "it is free" : "they are free";
                yield new Refusal(
                        HoldersText.withoutLease(gpus),
                        "start this container again when "
                                + (gpus.stream().allMatch(gpu -> gpu.kept().isEmpty())
                                        ? ends
                                        : comesFree)
                                + Addressee.Stopped.OTHER_GPUS);
            }
        };
    }

    private static Refusal impossibleForNodes(Outcome.Impossible why, Claim claim) {
        if (why instanceof Outcome.NeverAllowed(_, Quota.ForGood excess)) {
            return neverAllowed(excess, claim.gpus());
        }
        Refusal refusal =
                switch (why) {
                    case Outcome.Barred(Verdict gpu, _) when gpu.cordon().isPresent() ->
                            outOfService(gpu);
                    // Its shares are requested as a number, and of its own GPUs alone.
                    case Outcome.TooFew few -> {
                        List<Verdict> out =
                                few.suited().stream().filter(gpu -> !gpu.isInService()).toList();
                        yield out.stream()
                                .filter(gpu -> gpu.gpu().isSound())
                                .findFirst()
                                .or(() -> out.stream().findFirst())
                                .map(Refusals::outOfService)
                                .orElseGet(() -> ChoiceText.refusal(few));
                    }
                    default -> ChoiceText.refusal(why);
                };
        return new Refusal(
                refusal.what(), refusal.remedy().orElseThrow() + Addressee.Stopped.OTHER_GPUS);
    }

    private static Refusal neverAllowed(Quota.ForGood excess, List<ClaimedGpu> gpus) {
        String number = gpus.size() + (gpus.size() == 1 ? " GPU" : " GPUs");
        String has = excess instanceof Quota.Elsewhere ? LeaseText.names(gpus) : number;
        return new Refusal(
                "this container has " + has + ", and " + QuotaText.why(excess),
                switch (excess) {
                    case Quota.Never never when never.limit().limit() > 0 ->
                            Addressee.Stopped.RUN_AGAIN + " with --gpus " + never.limit().limit();
                    case Quota.Elsewhere _ -> Addressee.Stopped.RUN_AGAIN + " to get one of these";
                    default -> QuotaText.remedy(excess);
                });
    }

    private static Refusal outOfService(Verdict verdict) {
        Gpu gpu = verdict.gpu();
        return gpu.isSound()
                ? new Refusal(
                        LeaseText.name(gpu.number(), gpu.uuid())
                                + " is "
                                + LeaseText.cordoned(verdict.cordon().orElseThrow()),
                        "start this container again when the cordon is lifted")
                : GpuText.sick(gpu);
    }

    private static Refusal busyByDefault(Outcome.Busy busy, Addressee.ByDefault to) {
        String wait =
                to.byEngine()
                        ? "start the container again later, with --gpus 1"
                        : "wait with --gpus 1 --gpu-wait";
        return switch (busy) {
            case Outcome.Taken taken ->
                    new Refusal(
                            byDefault(to.request(), taken.busy().size() + taken.free().size())
                                    + ChoiceText.holders(taken),
                            taken.free().isEmpty()
                                    ? wait
                                    : "try --gpus 1 (free: "
                                            + ChoiceText.indices(taken.free())
                                            + ")");
            case Outcome.OverQuota(GpuRequest.Count requested, Quota.ForNow excess) ->
                    new Refusal(
                            byDefault(to.request(), requested.gpus()) + QuotaText.why(excess),
                            switch (excess) {
                                case Quota.TooMany many ->
                                        many.allowsMore() ? "try --gpus 1" : wait + ", or stop one";
                                case Quota.NoHours _ -> wait;
                            });
        };
    }

    private static String byDefault(GpuRequest request, int all) {
        return "without --gpus this image gets " + subject(request, all) + ", and ";
    }

    /**
     * @param all how many that is
     */
    private static String subject(GpuRequest request, int all) {
        return switch (request) {
            case GpuRequest.All _ -> all == 1 ? "the GPU" : "all " + all + " GPUs";
            case GpuRequest.Count count -> RequestText.gpus(count);
            case GpuRequest.Devices(List<String> ids) ->
                    (ids.size() == 1 ? "GPU " : "GPUs ") + Quote.shown(Indices.typed(ids));
            case GpuRequest.With(String holder) -> "the GPUs of " + holder;
            case GpuRequest.None _ -> "no GPU";
        };
    }

    /** Every way to get GPUs: {@code wait with --gpu-wait, stop one, or request fewer}. */
    private static String advice(Outcome.Busy busy, List<String> waits) {
        List<String> ways = new ArrayList<>(waits);
        switch (busy) {
            case Outcome.OverQuota(GpuRequest.Count requested, Quota.TooMany many) -> {
                ways.add("stop one");
                if (many.allowsMore()) {
                    ways.add("request " + less(requested));
                }
            }
            case Outcome.OverQuota(_, Quota.NoHours _) -> {}
            case Outcome.Taken taken -> {
                if (taken.request() instanceof GpuRequest.With) {
                    return "start it again when that is over";
                }
                addInstead(taken, ways);
            }
        }
        return switch (ways.size()) {
            case 1 -> ways.getFirst();
            default ->
                    String.join(", ", ways.subList(0, ways.size() - 1)) + ", or " + ways.getLast();
        };
    }

    private static String less(GpuRequest.Count requested) {
        return requested.filter().share().isPresent() ? "less" : "fewer";
    }

    private static void addInstead(Outcome.Taken taken, List<String> ways) {
        if (isBookedLater(taken)) {
            ways.add("say with --gpu-time that you need less");
        }
        String free = " (free: " + ChoiceText.indices(taken.free()) + ")";
        boolean some = !taken.free().isEmpty();
        switch (taken.request()) {
            case GpuRequest.Count count when count.filter().share().isPresent() || some ->
                    ways.add("request " + less(count));
            case GpuRequest.Count _ -> {}
            case GpuRequest.Devices _ when some && taken.busy().size() == 1 ->
                    ways.add("take another" + free);
            default -> {
                if (some) {
                    ways.add("take others" + free);
                }
            }
        }
    }

    /** Whether one of the GPUs could be had for less time. */
    private static boolean isBookedLater(Outcome.Taken taken) {
        return taken.busy().stream()
                .flatMap(gpu -> gpu.kept().stream())
                .anyMatch(kept ->
                        kept instanceof Booking booking && booking.from().isAfter(Instant.now()));
    }
}
