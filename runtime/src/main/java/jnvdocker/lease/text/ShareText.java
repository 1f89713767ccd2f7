package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Share;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.words.Indices;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Describes which GPUs may be shared, and how much of each is left. */
final class ShareText {
    private ShareText() {}

    /** {@code no shareable GPU has 20G left (GPU 1: 14G of 42.4G, GPU 2: held whole by …)}. */
    static String reason(GpuRequest.Count requested, Outcome.Taken taken) {
        String which = " shareable GPU" + RequestText.condition(requested.filter());
        MemorySize amount = requested.filter().share().orElseThrow();
        String free = Indices.numbers(taken.free().stream().map(Gpu::number));
        return (requested.gpus() == 1
                        ? "no" + which + " has " + amount + " left"
                        : RequestText.gpus(requested)
                                + " requested, but "
                                + switch (taken.free().size()) {
                                    case 0 -> "no" + which + " has that left";
                                    case 1 -> "only GPU " + free + " has that left";
                                    default -> "only GPUs " + free + " have that left";
                                })
                + inBrackets(
                        taken.busy().stream()
                                .map(it -> "GPU " + it.gpu().number() + ": " + left(it))
                                .toList());
    }

    private static String inBrackets(List<String> clauses) {
        return " (" + String.join(", ", HoldersText.some(clauses)) + ")";
    }

    private static String left(Verdict verdict) {
        ClaimedGpu gpu = ClaimedGpu.of(verdict.gpu());
        List<Lease> leases = verdict.leases();
        List<Share> shares =
                leases.stream().flatMap(lease -> lease.share(gpu.uuid()).stream()).toList();
        for (Lease lease : leases) {
            Optional<ClaimedGpu> as = lease.opened(gpu);
            if (as.isPresent()) {
                return NodeText.openTo(lease, as.get()).toString();
            }
        }
        if (!leases.isEmpty() && shares.isEmpty()) {
            return "held whole by " + LeaseText.holder(leases.getFirst());
        }
        List<String> words = new ArrayList<>();
        if (!shares.isEmpty()) {
            long limit = Share.limit(shares.getFirst().memory());
            words.add(left(limit - Share.sum(shares), limit));
        }
        HoldersText.withoutLease(verdict).ifPresent(by -> words.add(by.toString()));
        return String.join(", ", words);
    }

    private static String left(long left, long limit) {
        return MemorySize.rounded(Math.max(0, left)) + " of " + MemorySize.rounded(limit);
    }

    /** The refusal where no holder's end would help. */
    static Refusal refusal(Outcome.NotShared why) {
        if (why.limits().isEmpty()) {
            return new Refusal(
                    RequestText.gpus(why.requested())
                            + " requested, but none may be shared (shareable)",
                    "request a whole GPU, or contact an administrator");
        }
        return new Refusal(
                RequestText.gpus(why.requested())
                        + " requested, but this host has fewer shareable GPUs with as much"
                        + inBrackets(
                                why.limits().entrySet().stream().map(ShareText::limit).toList()),
                "request less, or others ('jnvdocker gpu ls' shows them)");
    }

    private static String limit(Map.Entry<Gpu, Long> gpu) {
        return "GPU " + gpu.getKey().number() + ": " + MemorySize.rounded(gpu.getValue());
    }
}
