package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Picks the best of the GPUs that a request can have. */
final class GpuPick {
    private final Situation now;
    private final List<Gpu> free;

    /**
     * @param free all that are free, those included of which some are picked
     */
    GpuPick(Situation now, List<Gpu> free) {
        this.now = now;
        this.free = free;
    }

    /**
     * The best among those that the user has booked, if these are enough, else among those that
     * nobody else has booked for later, else among all.
     *
     * @param some of the free ones
     * @return in order of index
     */
    List<Gpu> best(Requested requested, List<Verdict> some, int count) {
        Owner owner = requested.owner();
        List<Verdict> own = some.stream().filter(it -> now.isBookedFor(owner, it.gpu())).toList();
        List<Verdict> unbooked =
                some.stream().filter(it -> !now.isBookedLater(owner, it.gpu())).toList();
        List<Verdict> from = own.size() >= count ? own : unbooked.size() >= count ? unbooked : some;
        return requested.share().isPresent()
                ? fullest(from, count)
                : bestOf(from.stream().map(Verdict::gpu).toList(), count);
    }

    /** Those that are shared already and have the least left, then free ones. */
    private List<Gpu> fullest(List<Verdict> some, int count) {
        return some.stream()
                .sorted(
                        Comparator.comparing(Verdict::isShared)
                                .reversed()
                                .thenComparingLong(it -> it.isShared() ? it.left() : 0)
                                .thenComparing(Verdict::gpu, preference()))
                .limit(count)
                .map(Verdict::gpu)
                .sorted(Gpu.ORDER)
                .toList();
    }

    /**
     * The best connected, and among equals the ones idle longest. Those that may be shared come
     * after all others. MIG instances after whole GPUs, and those without a UUID, which nobody can
     * hold, are the last.
     */
    private List<Gpu> bestOf(List<Gpu> some, int count) {
        List<Gpu> whole =
                some.stream()
                        .filter(gpu -> gpu.hasUuid() && gpu.part().isEmpty())
                        .sorted(preference())
                        .toList();
        if (whole.size() < count) {
            return some.stream()
                    .sorted(
                            Comparator.comparing(Gpu::hasUuid)
                                    .reversed()
                                    .thenComparing(preference()))
                    .limit(count)
                    .sorted(Gpu.ORDER)
                    .toList();
        }
        List<Gpu> unshared = unshared(whole);
        boolean isEnough = unshared.size() >= count;
        return BestSet.of(
                        isEnough ? unshared : whole,
                        isEnough ? 0 : unshared.size(),
                        count,
                        free,
                        now.traits().connections())
                .stream()
                .sorted(Gpu.ORDER)
                .toList();
    }

    /**
     * The usual pick among GPUs that need not be free: those that are come first.
     *
     * @param some of which some may be included already
     * @param included those that are picked already
     * @param count how many there are to be with these
     * @return in order of index
     */
    List<Gpu> preferred(List<Gpu> some, List<Gpu> included, int count) {
        List<Gpu> picked = new ArrayList<>(included);
        List<Gpu> open = some.stream().filter(free::contains).toList();
        List<Gpu> whole = open.stream().filter(gpu -> gpu.part().isEmpty()).toList();
        add(picked, unshared(whole), count, now.traits().connections());
        add(picked, whole, count, now.traits().connections());
        add(picked, open, count, Connections.UNKNOWN);
        add(picked, some, count, now.traits().connections());
        return picked.stream().sorted(Gpu.ORDER).toList();
    }

    private void add(List<Gpu> picked, List<Gpu> some, int count, Connections connections) {
        if (picked.size() < count) {
            List<Gpu> from = new ArrayList<>(picked);
            some.stream()
                    .filter(gpu -> !picked.contains(gpu))
                    .sorted(preference())
                    .forEach(from::add);
            List<Gpu> best = BestSet.of(from, picked.size(), count, free, connections);
            picked.clear();
            picked.addAll(best);
        }
    }

    /** Those that may not be shared, which whole requests take before others. */
    private List<Gpu> unshared(List<Gpu> some) {
        return some.stream().filter(gpu -> now.traits().shareLimit(gpu) == 0).toList();
    }

    private Comparator<Gpu> preference() {
        return Comparator.comparing((Gpu gpu) -> gpu.part().isPresent())
                .thenComparing(gpu -> now.traits().shareLimit(gpu) > 0)
                .thenComparing(this::idleSince)
                .thenComparing(Gpu.ORDER);
    }

    private Instant idleSince(Gpu gpu) {
        return now.holdings().idleSince().getOrDefault(gpu.uuid(), Instant.MIN);
    }
}
