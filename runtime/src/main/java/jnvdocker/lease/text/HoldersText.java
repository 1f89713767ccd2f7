package jnvdocker.lease.text;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Verdict;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Names for whom several GPUs are not free, in one sentence. */
public final class HoldersText {
    private static final int NAMED = 4;

    private HoldersText() {}

    /**
     * For whom GPUs are not free.
     *
     * @param user {@code held by alice's container train-7}
     * @param details that are left out where others are named before it: {@code " since 09:12"}
     */
    record By(String user, String details) {
        @Override
        public String toString() {
            return user + details;
        }
    }

    /** GPUs that are not free for the same user. */
    record Clause(List<ClaimedGpu> gpus, By by) {
        private String full() {
            ClaimedGpu first = gpus.getFirst();
            return (gpus.size() == 1
                            ? LeaseText.name(first.number(), first.uuid()) + " is "
                            : numbers())
                    + by;
        }

        private String brief() {
            return numbers() + by.user();
        }

        private String numbers() {
            return LeaseText.numbers(gpus) + (gpus.size() == 1 ? " is " : " are ");
        }
    }

    /** One clause for each holder and its GPUs; the first few, when there are many. */
    public static String held(List<ClaimedGpu> gpus, List<Lease> leases) {
        return text(clauses(gpus, leases));
    }

    /** Only the first has its details: a message has two lines, and 'gpu ls' shows all. */
    private static String text(List<Clause> clauses) {
        List<String> texts = new ArrayList<>();
        for (Clause clause : clauses) {
            texts.add(texts.isEmpty() ? clause.full() : clause.brief());
        }
        return String.join(", ", some(texts));
    }

    private static List<Clause> clauses(List<ClaimedGpu> gpus, List<Lease> leases) {
        List<Clause> clauses = new ArrayList<>();
        Map<List<ClaimedGpu>, List<Lease>> shares = new LinkedHashMap<>();
        for (Lease lease : leases) {
            for (ClaimedGpu gpu : gpus) {
                lease.opened(gpu)
                        .map(as -> NodeText.openTo(lease, as))
                        .ifPresent(by -> clauses.add(new Clause(List.of(gpu), by)));
            }
            List<ClaimedGpu> its = gpus.stream().filter(lease::claims).toList();
            if (its.isEmpty()) {
                continue;
            }
            if (lease.claim().share().isPresent()) {
                shares.computeIfAbsent(its, _ -> new ArrayList<>()).add(lease);
            } else {
                clauses.add(new Clause(its, heldUntil(lease)));
            }
        }
        shares.forEach((its, all) -> clauses.add(new Clause(its, sharedBy(all))));
        return clauses;
    }

    private static By heldUntil(Lease lease) {
        By by = LeaseText.heldBy(lease);
        return new By(by.user(), by.details() + due(lease));
    }

    static String due(Lease lease) {
        return TimeText.due(lease).map(it -> ", " + it).orElse("");
    }

    /** There may be dozens; {@code gpu why} names each. */
    private static By sharedBy(List<Lease> shares) {
        Lease first = shares.getFirst();
        int others = shares.size() - 1;
        return switch (others) {
            case 0 -> heldUntil(first);
            case 1 ->
                    new By(
                            "shared by "
                                    + LeaseText.holder(first)
                                    + " and "
                                    + LeaseText.holder(shares.getLast()),
                            "");
            default ->
                    new By(
                            "shared by " + LeaseText.holder(first) + " and " + others + " others",
                            "");
        };
    }

    /** Whether {@link #taken} of all of these says what {@link #withoutLease} says of some. */
    static boolean names(List<Verdict> all, List<Verdict> some) {
        List<Clause> clauses = clauses(all);
        List<Clause> shown = clauses.subList(0, Math.min(NAMED, clauses.size()));
        List<Clause> those = others(some);
        return clauses.equals(those)
                || those.size() <= NAMED && Collections.indexOfSubList(shown, those) >= 0;
    }

    /** As many of them as are shown. */
    static List<String> some(List<String> clauses) {
        int more = clauses.size() - NAMED;
        return more <= 0
                ? clauses
                : Stream.concat(
                                clauses.stream().limit(NAMED),
                                Stream.of("and others by " + more + " more"))
                        .toList();
    }

    /** One clause for each reason for which GPUs are busy, and its GPUs. */
    public static String taken(List<Verdict> busy) {
        return text(clauses(busy));
    }

    private static List<Clause> clauses(List<Verdict> busy) {
        List<Lease> leases = busy.stream().flatMap(it -> it.leases().stream()).distinct().toList();
        List<Clause> clauses =
                new ArrayList<>(
                        clauses(busy.stream().map(it -> ClaimedGpu.of(it.gpu())).toList(), leases));
        clauses.addAll(
                others(
                        busy.stream()
                                .filter(it -> {
                                    ClaimedGpu gpu = ClaimedGpu.of(it.gpu());
                                    return leases.stream().noneMatch(its -> its.excludes(gpu));
                                })
                                .toList()));
        return clauses;
    }

    /** Likewise for those that are used without a lease, or kept, whoever holds them. */
    public static String withoutLease(List<Verdict> some) {
        return text(others(some));
    }

    private static List<Clause> others(List<Verdict> some) {
        Map<By, List<ClaimedGpu>> others = new LinkedHashMap<>();
        for (Verdict verdict : some) {
            withoutLease(verdict)
                    .ifPresent(by ->
                            others.computeIfAbsent(by, _ -> new ArrayList<>())
                                    .add(ClaimedGpu.of(verdict.gpu())));
        }
        List<Clause> clauses = new ArrayList<>();
        others.forEach((by, its) -> clauses.add(new Clause(its, by)));
        return clauses;
    }

    /** {@code used by bob's process python3 (pid 4711), …}, or for which user a GPU is kept. */
    static Optional<By> withoutLease(Verdict verdict) {
        return verdict.uses().stream()
                .findFirst()
                .map(LeaseText::usedBy)
                .or(() -> verdict.kept().map(KeptText::by));
    }
}
