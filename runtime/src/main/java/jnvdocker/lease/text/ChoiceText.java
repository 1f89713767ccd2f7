package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Describes why a request gets no GPU, and the remedy. */
public final class ChoiceText {
    private static final String REMEDY = "check the kernel log (dmesg | grep -i nvrm)";

    private ChoiceText() {}

    /** The holders of the requested GPUs. */
    public static String reason(Outcome.Busy busy) {
        return switch (busy) {
            case Outcome.OverQuota(_, Quota.ForNow excess) -> QuotaText.why(excess);
            case Outcome.Taken(GpuRequest.Count count, _, _)
                    when count.filter().share().isPresent() ->
                    ShareText.reason(count, (Outcome.Taken) busy);
            case Outcome.Taken taken ->
                    (switch (taken.request()) {
                                case GpuRequest.All _ -> "all GPUs requested, but ";
                                case GpuRequest.Count count -> requested(count) + ", but ";
                                default -> "";
                            })
                            + holders(taken);
        };
    }

    /** The {@link #reason} for a client that waits, without the request, which it has read. */
    public static String reasonToWait(Outcome.Busy busy) {
        return switch (busy) {
            case Outcome.Taken taken
                    when !(taken.request() instanceof GpuRequest.Count count
                            && count.filter().share().isPresent()) ->
                    holders(taken);
            default -> reason(busy);
        };
    }

    private static String holders(Outcome.Taken taken) {
        String free =
                taken.request() instanceof GpuRequest.Count count
                        ? onlyFree(count, taken.free()) + ": "
                        : "";
        return free + HoldersText.taken(taken.busy());
    }

    /** The refusal of a request for GPUs in use, with advice for {@code jnvdocker run}. */
    public static Refusal refusal(Outcome.Busy busy) {
        return new Refusal(reason(busy), remedy(busy, "wait with --gpu-wait"));
    }

    /** The refusal of a start by an engine, which does not wait for GPUs. */
    public static Refusal refusalOfStart(Outcome.Busy busy) {
        return new Refusal(
                reason(busy),
                remedy(busy, "start it again later", "wait with 'jnvdocker run --gpu-wait'"));
    }

    /**
     * What users of compose can do, who do not type {@code jnvdocker run}.
     *
     * @param isPartner whether a claim is of another service of the project
     */
    public static String remedyOfService(Outcome.Busy busy, Predicate<Claim> isPartner) {
        return remedy(
                busy,
                Stream.concat(
                                PartnerText.ofService(busy, isPartner).stream(),
                                Stream.of("start it again later"))
                        .toArray(String[]::new));
    }

    /**
     * The refusal of a request without {@code --gpus}, so that a default says how many GPUs the
     * image gets.
     *
     * @param byEngine whether the request comes from an engine, which does not wait
     */
    public static Refusal refusalOfDefault(GpuRequest request, Outcome outcome, boolean byEngine) {
        String wait =
                byEngine
                        ? "start the container again later, with --gpus 1"
                        : "wait with --gpus 1 --gpu-wait";
        String start = "without --gpus this image gets ";
        return switch (outcome) {
            case Outcome.Taken taken ->
                    new Refusal(
                            start
                                    + subject(request, taken.busy().size() + taken.free().size())
                                    + ", and "
                                    + holders(taken),
                            taken.free().isEmpty()
                                    ? wait
                                    : "try --gpus 1 (free: " + indices(taken.free()) + ")");
            case Outcome.OverQuota(GpuRequest.Count requested, Quota.ForNow excess) ->
                    new Refusal(
                            start
                                    + subject(request, requested.gpus())
                                    + ", and "
                                    + QuotaText.why(excess),
                            switch (excess) {
                                case Quota.TooMany many ->
                                        many.allowsMore() ? "try --gpus 1" : wait + ", or stop one";
                                case Quota.NoHours _ -> wait;
                            });
            case Outcome.NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess) ->
                    new Refusal(
                            start
                                    + subject(request, requested.gpus())
                                    + ", and "
                                    + QuotaText.why(excess),
                            excess instanceof Quota.Never never && never.limit().limit() > 0
                                    ? "try --gpus 1"
                                    : QuotaText.remedy(excess));
            case Outcome.NeverTheirs _,
                    Outcome.NotBeside _,
                    Outcome.NotShared _,
                    Outcome.TooFew _,
                    Outcome.Unclear _,
                    Outcome.NoGpu _,
                    Outcome.Barred _ ->
                    refusal((Outcome.Impossible) outcome);
            case Outcome.Chosen _ -> throw new IllegalArgumentException("GPUs were chosen");
        };
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

    /** {@code only GPUs 1,3 are free}; others may be that are not requested. */
    private static String onlyFree(GpuRequest.Count requested, List<Gpu> free) {
        String which = requested.filter().isAny() ? "" : " of these";
        return switch (free.size()) {
            case 0 -> "none" + which + " is free";
            case 1 -> "only GPU " + indices(free) + which + " is free";
            default -> "only GPUs " + indices(free) + which + " are free";
        };
    }

    /** Every way to get GPUs: {@code wait with --gpu-wait, stop one, or request fewer}. */
    private static String remedy(Outcome.Busy busy, String... waits) {
        List<String> ways = new ArrayList<>(List.of(waits));
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
        String free = " (free: " + indices(taken.free()) + ")";
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

    /** The reason why a request cannot be met as things are. */
    public static Refusal refusal(Outcome.Impossible why) {
        return switch (why) {
            case Outcome.NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess) ->
                    new Refusal(
                            requested(requested) + ", but " + QuotaText.why(excess),
                            QuotaText.remedy(excess));
            case Outcome.NeverTheirs(List<ClaimedGpu> chosen, Quota.ForGood excess) ->
                    new Refusal(
                            "this container requests "
                                    + QuotaText.number(Quota.Amount.of(chosen).gpus())
                                    + " GPUs, and "
                                    + QuotaText.why(excess),
                            QuotaText.remedy(excess));
            case Outcome.NotBeside none -> PartnerText.refusal(none);
            case Outcome.NotShared none -> ShareText.refusal(none);
            case Outcome.NoGpu _ -> new Refusal("the driver shows no GPU on this host", REMEDY);
            case Outcome.Barred(Verdict gpu, List<Gpu> free) -> barred(gpu, free);
            case Outcome.TooFew few ->
                    new Refusal(
                            requested(few.requested()) + ", but " + inService(few),
                            (few.requested().filter().isAny() ? "request fewer" : "request others")
                                    + " ('jnvdocker gpu ls' shows them)");
            case Outcome.Unclear(GpuRequest.Count requested, List<Gpu> unclear) ->
                    new Refusal(
                            requested(requested) + ", but " + RequestText.unclear(unclear),
                            // A share is a part of the memory, whichever GPU it is of.
                            requested.filter().share().isPresent()
                                    ? "try again in a minute ('jnvdocker gpu doctor' checks NVML)"
                                    : "try again in a minute, or name a model or GPUs ('jnvdocker"
                                            + " gpu ls' shows them)");
        };
    }

    private static Refusal barred(Verdict verdict, List<Gpu> free) {
        Gpu gpu = verdict.gpu();
        if (!gpu.isSound()) {
            return GpuText.sick(gpu);
        }
        if (!gpu.hasUuid()) {
            return new Refusal(
                    "GPU "
                            + gpu.number()
                            + " at "
                            + gpu.pciAddress()
                            + " has no UUID yet, so it cannot be leased",
                    "run nvidia-smi once as root, or start nvidia-persistenced at boot");
        }
        return new Refusal(
                LeaseText.name(gpu.number(), gpu.uuid())
                        + " is "
                        + LeaseText.cordoned(verdict.cordon().orElseThrow()),
                (free.isEmpty() ? "" : "take another (free: " + indices(free) + "), or ")
                        + "contact an administrator");
    }

    /** {@code only 7 GPUs are in service: GPU 7 is cordoned by root since 09:12 (RMA)}. */
    private static String inService(Outcome.TooFew few) {
        Map<String, List<Gpu>> out = new LinkedHashMap<>();
        for (Verdict verdict : few.suited()) {
            if (verdict.is(Verdict.Sick.class)) {
                out.computeIfAbsent("sick", _ -> new ArrayList<>()).add(verdict.gpu());
            }
        }
        for (Verdict verdict : few.suited()) {
            if (!verdict.is(Verdict.Sick.class) && verdict.cordon().isPresent()) {
                out.computeIfAbsent(
                                LeaseText.cordoned(verdict.cordon().get()), _ -> new ArrayList<>())
                        .add(verdict.gpu());
            }
        }
        long usable = few.suited().stream().filter(Verdict::isInService).count();
        if (out.isEmpty()) {
            return "this host has " + (usable == 0 ? "none" : usable);
        }
        String which = few.requested().filter().isAny() ? "" : " of these";
        String start =
                usable == 0
                        ? "none" + which + " is in service: "
                        : usable == 1
                                ? "only 1 GPU" + which + " is in service: "
                                : "only " + usable + " GPUs" + which + " are in service: ";
        return out.entrySet().stream()
                .map(entry ->
                        (entry.getValue().size() == 1 ? "GPU " : "GPUs ")
                                + indices(entry.getValue())
                                + (entry.getValue().size() == 1 ? " is " : " are ")
                                + entry.getKey())
                .collect(Collectors.joining(", ", start, ""));
    }

    private static String requested(GpuRequest.Count count) {
        return RequestText.gpus(count) + " requested";
    }

    private static String indices(List<Gpu> gpus) {
        return Indices.numbers(gpus.stream().map(Gpu::number));
    }
}
