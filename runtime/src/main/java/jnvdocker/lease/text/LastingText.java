package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Scope;
import jnvdocker.lease.Verdict;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Says what keeps a client waiting, whichever leases of others end. */
public final class LastingText {
    private LastingText() {}

    /**
     * One thing that keeps it waiting.
     *
     * @param isNamed whether the reason that it reads anyway says so, too
     */
    record Clause(String words, boolean isNamed) {}

    /** All of it. */
    public static String of(Scope scope) {
        return joined(clauses(scope, Optional.empty()));
    }

    /** What {@link ChoiceText#reason} does not say of it; empty when it says all. */
    public static String besides(Outcome.Busy busy, Scope scope) {
        List<Clause> all = clauses(scope, Optional.of(busy));
        List<Clause> unnamed = all.stream().filter(clause -> !clause.isNamed()).toList();
        return !all.isEmpty() && unnamed.isEmpty() ? "" : joined(unnamed);
    }

    private static String joined(List<Clause> clauses) {
        return clauses.isEmpty()
                ? "no GPU is available"
                : String.join(", and ", clauses.stream().map(Clause::words).toList());
    }

    static List<Clause> clauses(Scope scope, Optional<Outcome.Busy> busy) {
        if (scope.excess().isPresent()) {
            boolean isNamed =
                    busy.orElse(null) instanceof Outcome.OverQuota over
                            && over.excess().equals(scope.excess().get());
            return List.of(new Clause(QuotaText.why(scope.excess().get()), isNamed));
        }
        List<Clause> clauses = new ArrayList<>();
        List<Verdict> wanted = scope.wanted();
        List<Verdict> own = wanted.stream().filter(Verdict::isOwn).toList();
        if (!own.isEmpty()) {
            String user = Quote.shown(scope.requested().owner().name());
            List<ClaimedGpu> gpus = own.stream().map(it -> ClaimedGpu.of(it.gpu())).toList();
            clauses.add(new Clause(user + " already holds " + LeaseText.numbers(gpus), false));
        }
        List<Verdict> used =
                wanted.stream().filter(it -> it.isUsedForLong() && !it.isOwn()).toList();
        if (!used.isEmpty()) {
            boolean isNamed =
                    busy.orElse(null) instanceof Outcome.Taken taken
                            && HoldersText.names(taken.busy(), used);
            clauses.add(new Clause(HoldersText.withoutLease(used), isNamed));
        }
        scope.barred().forEach(it -> clauses.add(new Clause(barred(it), false)));
        missing(scope).ifPresent(words -> clauses.add(new Clause(words, false)));
        return clauses;
    }

    private static String barred(Verdict verdict) {
        Gpu gpu = verdict.gpu();
        return gpu.isSound()
                ? "GPU "
                        + gpu.number()
                        + verdict.cordon()
                                .map(cordon -> " is " + LeaseText.cordoned(cordon))
                                .orElse(" has no UUID yet")
                : GpuText.sick(gpu).what();
    }

    private static Optional<String> missing(Scope scope) {
        int wanted = scope.wanted().size();
        return switch (scope.requested().request()) {
            case GpuRequest.Devices(List<String> ids) when wanted == 0 ->
                    Optional.of(
                            "the driver does not show "
                                    + (ids.size() == 1 ? "GPU " : "all of GPUs ")
                                    + Quote.shown(Indices.typed(ids)));
            case GpuRequest.Count count when count.gpus() > wanted ->
                    Optional.of(
                            scope.unclear().isEmpty()
                                    ? RequestText.have(count, wanted)
                                    : RequestText.unclear(scope.unclear()));
            default -> Optional.empty();
        };
    }
}
