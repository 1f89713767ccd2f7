package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Indices;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Describes why a request gets no GPU; {@link Refusals} adds the advice. */
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

    static String holders(Outcome.Taken taken) {
        String free =
                taken.request() instanceof GpuRequest.Count count
                        ? onlyFree(count, taken.free()) + ": "
                        : "";
        return free + HoldersText.taken(taken.busy());
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

    /** The reason why a request cannot be met as things are, and what its user can do. */
    static Refusal refusal(Outcome.Impossible why) {
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

    static String indices(List<Gpu> gpus) {
        return Indices.numbers(gpus.stream().map(Gpu::number));
    }
}
