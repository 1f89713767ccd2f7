package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Obstacle;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.UnmanagedUses;
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
    public static String reason(GpuChoice.Busy busy) {
        return switch (busy) {
            case GpuChoice.OverQuota(_, Quota.ForNow excess) -> QuotaText.why(excess);
            case GpuChoice.Taken(GpuRequest.Count count, _, _, _, _, _)
                    when count.filter().share().isPresent() ->
                    ShareText.reason(count, (GpuChoice.Taken) busy);
            case GpuChoice.Taken taken ->
                    (switch (taken.request()) {
                                case GpuRequest.All _ -> "all GPUs requested, but ";
                                case GpuRequest.Count count -> requested(count) + ", but ";
                                default -> "";
                            })
                            + holders(taken);
        };
    }

    /** The {@link #reason} for a client that waits, without the request, which it has read. */
    public static String reasonToWait(GpuChoice.Busy busy) {
        return switch (busy) {
            case GpuChoice.Taken taken
                    when !(taken.request() instanceof GpuRequest.Count count
                            && count.filter().share().isPresent()) ->
                    holders(taken);
            default -> reason(busy);
        };
    }

    private static String holders(GpuChoice.Taken taken) {
        String free =
                taken.request() instanceof GpuRequest.Count count
                        ? onlyFree(count, taken.free()) + ": "
                        : "";
        return free
                + HoldersText.taken(taken.busy(), taken.leases(), taken.unmanaged(), taken.kept());
    }

    /** The refusal of a request for GPUs in use, with advice for {@code jnvdocker run}. */
    public static Refusal refusal(GpuChoice.Busy busy) {
        return new Refusal(reason(busy), remedy(busy, "wait with --gpu-wait"));
    }

    /** The refusal of a start by an engine, which does not wait for GPUs. */
    public static Refusal refusalOfStart(GpuChoice.Busy busy) {
        return new Refusal(
                reason(busy),
                remedy(busy, "start it again later", "wait with 'jnvdocker run --gpu-wait'"));
    }

    /**
     * What users of compose can do, who do not type {@code jnvdocker run}.
     *
     * @param isPartner whether a claim is of another service of the project
     */
    public static String remedyOfService(GpuChoice.Busy busy, Predicate<Claim> isPartner) {
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
    public static Refusal refusalOfDefault(
            GpuRequest request, GpuChoice.Outcome outcome, boolean byEngine) {
        String wait =
                byEngine
                        ? "start the container again later, with --gpus 1"
                        : "wait with --gpus 1 --gpu-wait";
        String start = "without --gpus this image gets ";
        return switch (outcome) {
            case GpuChoice.Taken taken ->
                    new Refusal(
                            start
                                    + subject(request, taken.busy().size() + taken.free().size())
                                    + ", and "
                                    + holders(taken),
                            taken.free().isEmpty()
                                    ? wait
                                    : "try --gpus 1 (free: " + indices(taken.free()) + ")");
            case GpuChoice.OverQuota(GpuRequest.Count requested, Quota.ForNow excess) ->
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
            case GpuChoice.NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess) ->
                    new Refusal(
                            start
                                    + subject(request, requested.gpus())
                                    + ", and "
                                    + QuotaText.why(excess),
                            excess instanceof Quota.Never never && never.limit().limit() > 0
                                    ? "try --gpus 1"
                                    : QuotaText.remedy(excess));
            case GpuChoice.NotBeside _,
                    GpuChoice.NotShared _,
                    GpuChoice.TooFew _,
                    GpuChoice.Unclear _,
                    GpuChoice.NoGpu _,
                    GpuChoice.Sick _,
                    GpuChoice.Nameless _,
                    GpuChoice.Cordoned _ ->
                    refusal((GpuChoice.Impossible) outcome);
            case GpuChoice.Chosen _ -> throw new IllegalArgumentException("GPUs were chosen");
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
    private static String remedy(GpuChoice.Busy busy, String... waits) {
        List<String> ways = new ArrayList<>(List.of(waits));
        switch (busy) {
            case GpuChoice.OverQuota(GpuRequest.Count requested, Quota.TooMany many) -> {
                ways.add("stop one");
                if (many.allowsMore()) {
                    ways.add("request " + less(requested));
                }
            }
            case GpuChoice.OverQuota(_, Quota.NoHours _) -> {}
            case GpuChoice.Taken taken -> {
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

    private static void addInstead(GpuChoice.Taken taken, List<String> ways) {
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
    private static boolean isBookedLater(GpuChoice.Taken taken) {
        return taken.busy().stream()
                .map(gpu -> taken.kept().get(gpu.uuid()))
                .anyMatch(kept ->
                        kept instanceof Booking booking && booking.from().isAfter(Instant.now()));
    }

    /** The reason why a request cannot be met as things are. */
    public static Refusal refusal(GpuChoice.Impossible why) {
        return switch (why) {
            case GpuChoice.NeverAllowed(GpuRequest.Count requested, Quota.ForGood excess) ->
                    new Refusal(
                            requested(requested) + ", but " + QuotaText.why(excess),
                            QuotaText.remedy(excess));
            case GpuChoice.NotBeside none -> PartnerText.refusal(none);
            case GpuChoice.NotShared none -> ShareText.refusal(none);
            case GpuChoice.NoGpu _ -> new Refusal("the driver shows no GPU on this host", REMEDY);
            case GpuChoice.Sick(Gpu gpu) -> GpuText.sick(gpu);
            case GpuChoice.Nameless(Gpu gpu) ->
                    new Refusal(
                            "GPU "
                                    + gpu.number()
                                    + " at "
                                    + gpu.pciAddress()
                                    + " has no UUID yet, so it cannot be leased",
                            "run nvidia-smi once as root, or start nvidia-persistenced at boot");
            case GpuChoice.Cordoned(Gpu gpu, Cordon cordon, List<Gpu> free) ->
                    new Refusal(
                            LeaseText.name(gpu.number(), gpu.uuid())
                                    + " is "
                                    + LeaseText.cordoned(cordon),
                            (free.isEmpty()
                                            ? ""
                                            : "take another (free: " + indices(free) + "), or ")
                                    + "contact an administrator");
            case GpuChoice.TooFew few ->
                    new Refusal(
                            requested(few.requested()) + ", but " + inService(few),
                            (few.requested().filter().isAny() ? "request fewer" : "request others")
                                    + " ('jnvdocker gpu ls' shows them)");
            case GpuChoice.Unclear(GpuRequest.Count requested, List<Gpu> unclear) ->
                    new Refusal(
                            requested(requested) + ", but " + RequestText.unclear(unclear),
                            // A share is a part of the memory, whichever GPU it is of.
                            requested.filter().share().isPresent()
                                    ? "try again in a minute ('jnvdocker gpu doctor' checks NVML)"
                                    : "try again in a minute, or name a model or GPUs ('jnvdocker"
                                            + " gpu ls' shows them)");
        };
    }

    /** {@code only 7 GPUs are in service: GPU 7 is cordoned by root since 09:12 (RMA)}. */
    private static String inService(GpuChoice.TooFew few) {
        Map<String, List<Gpu>> out = new LinkedHashMap<>();
        if (!few.sick().isEmpty()) {
            out.put("sick", few.sick());
        }
        few.cordoned()
                .forEach((gpu, cordon) ->
                        out.computeIfAbsent(LeaseText.cordoned(cordon), _ -> new ArrayList<>())
                                .add(gpu));
        if (out.isEmpty()) {
            return "this host has " + (few.usable() == 0 ? "none" : few.usable());
        }
        String which = few.requested().filter().isAny() ? "" : " of these";
        String start =
                switch (few.usable()) {
                    case 0 -> "none" + which + " is in service: ";
                    case 1 -> "only 1 GPU" + which + " is in service: ";
                    default -> "only " + few.usable() + " GPUs" + which + " are in service: ";
                };
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

    /** Whether {@link #reason} names an obstacle. */
    public static boolean names(GpuChoice.Busy busy, Obstacle obstacle) {
        return switch (busy) {
            case GpuChoice.OverQuota(_, Quota.ForNow excess) ->
                    obstacle.equals(new Obstacle.OverQuota(excess));
            case GpuChoice.Taken taken ->
                    obstacle instanceof Obstacle.Used used
                            && HoldersText.names(clauses(taken), clauses(used));
        };
    }

    private static List<HoldersText.Clause> clauses(GpuChoice.Taken taken) {
        return HoldersText.clauses(taken.busy(), taken.leases(), taken.unmanaged(), taken.kept());
    }

    private static List<HoldersText.Clause> clauses(Obstacle.Used used) {
        return HoldersText.clauses(used.gpus(), List.of(), used.unmanaged(), Map.of());
    }

    /** Why a client that waits cannot be served. */
    public static String obstacles(List<Obstacle> obstacles) {
        return obstacles.isEmpty()
                ? "no GPU is available"
                : obstacles.stream().map(ChoiceText::clause).collect(Collectors.joining(", and "));
    }

    private static String clause(Obstacle obstacle) {
        return switch (obstacle) {
            case Obstacle.OverQuota(Quota.Excess excess) -> QuotaText.why(excess);
            case Obstacle.Own(Owner owner, List<ClaimedGpu> gpus, List<Lease> _) ->
                    Quote.shown(owner.name()) + " already holds " + LeaseText.numbers(gpus);
            case Obstacle.Used(List<ClaimedGpu> gpus, UnmanagedUses unmanaged) ->
                    HoldersText.used(gpus, unmanaged);
            case Obstacle.Sick(Gpu gpu) -> GpuText.sick(gpu).what();
            case Obstacle.Cordoned(Gpu gpu, Cordon cordon) ->
                    "GPU " + gpu.number() + " is " + LeaseText.cordoned(cordon);
            case Obstacle.Nameless(Gpu gpu) -> "GPU " + gpu.number() + " has no UUID yet";
            case Obstacle.Missing(List<String> ids) ->
                    "the driver does not show "
                            + (ids.size() == 1 ? "GPU " : "all of GPUs ")
                            + Quote.shown(Indices.typed(ids));
            case Obstacle.TooFew(GpuRequest.Count requested, int gpus) ->
                    RequestText.have(requested, gpus);
            case Obstacle.Unclear(List<Gpu> unclear) -> RequestText.unclear(unclear);
        };
    }
}
