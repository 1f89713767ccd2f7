package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.RefusedException;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A request, and the verdicts on the GPUs that it may be given, in order of index.
 *
 * @param all also on GPUs that its user may not have, and on those of which the user may not have
 *     as many as are requested
 * @param some on the others
 * @param wanted of these, on those that can serve the request; none if it names one that is not
 *     there
 * @param excess why the limits of the user do not allow the request now
 */
public record Scope(
        Requested requested,
        List<Verdict> all,
        List<Verdict> some,
        List<Verdict> wanted,
        Optional<Quota.Excess> excess) {

    static Scope of(Situation now, Requested requested) {
        List<Verdict> all = now.verdicts(requested);
        List<Verdict> some = within(now, requested, allowed(all));
        List<Verdict> wanted = wanted(requested, some);
        return new Scope(requested, all, some, wanted, excess(now, requested, some, wanted));
    }

    private static List<Verdict> allowed(List<Verdict> all) {
        return all.stream().filter(it -> !it.is(Verdict.NotAllowed.class)).toList();
    }

    /**
     * Some GPUs count as less than others. If there are not so many of which the user may have as
     * many as are requested, all are left, and the request is over the limit.
     */
    private static List<Verdict> within(Situation now, Requested requested, List<Verdict> allowed) {
        if (!(requested.request() instanceof GpuRequest.Count count)
                || now.quota().allowance(requested.owner()).gpus().isEmpty()) {
            return allowed;
        }
        List<Verdict> suited = allowed.stream().filter(Verdict::isSuited).toList();
        Map<Double, Boolean> fits = new HashMap<>();
        List<Verdict> fitting =
                suited.stream()
                        .filter(it ->
                                fits.computeIfAbsent(
                                        now.traits().count(count.filter(), it.gpu()),
                                        each -> fits(now, requested, count, each)))
                        .toList();
        return fitting.size() < count.gpus() || fitting.size() == suited.size() ? allowed : fitting;
    }

    private static boolean fits(
            Situation now, Requested requested, GpuRequest.Count count, double each) {
        Quota.Amount amount = Quota.Amount.of(count, count.gpus() * each);
        return now.quota().excess(requested.owner(), amount).isEmpty();
    }

    private static Optional<Quota.Excess> excess(
            Situation now, Requested requested, List<Verdict> some, List<Verdict> wanted) {
        Quota.Amount amount =
                requested.request() instanceof GpuRequest.Count count
                        ? Quota.Amount.of(count, now.traits().count(count, gpus(some)))
                        : new Quota.Amount(
                                wanted.isEmpty()
                                        ? needed(requested, wanted)
                                        : wanted.stream().mapToDouble(it -> it.gpu().count()).sum(),
                                0);
        return now.quota().excess(requested.owner(), amount);
    }

    /** Whether the request is for GPUs that its user may not have. */
    boolean isForOthers() throws RefusedException {
        List<Verdict> allowed = allowed(all);
        return allowed.size() < all.size()
                && switch (requested.request()) {
                    case GpuRequest.None _, GpuRequest.With _ -> false;
                    case GpuRequest.All _ -> allowed.isEmpty();
                    case GpuRequest.Count(int count, _) ->
                            count > allowed.stream().filter(Verdict::isSuited).count()
                                    && allowed.stream().noneMatch(Verdict::isUnclear);
                    case GpuRequest.Devices(List<String> ids) ->
                            named(ids, all).stream()
                                    .anyMatch(it -> it.is(Verdict.NotAllowed.class));
                };
    }

    /** The verdicts on the GPUs that are named. */
    public static List<Verdict> named(List<String> ids, List<Verdict> verdicts)
            throws RefusedException {
        Map<Gpu, Verdict> found = new HashMap<>();
        verdicts.forEach(it -> found.put(it.gpu(), it));
        return GpuResolver.resolve(ids, gpus(verdicts)).stream().map(found::get).toList();
    }

    static List<Gpu> gpus(List<Verdict> verdicts) {
        return verdicts.stream().map(Verdict::gpu).toList();
    }

    /** The GPUs that nobody has, and whole. */
    List<Gpu> free() {
        return free(some);
    }

    static List<Gpu> free(List<Verdict> verdicts) {
        return gpus(verdicts.stream().filter(Verdict::isFree).toList());
    }

    private static List<Verdict> wanted(Requested requested, List<Verdict> some) {
        return switch (requested.request()) {
            // Such a request does not wait.
            case GpuRequest.None _, GpuRequest.With _ -> List.of();
            case GpuRequest.All _ -> some.stream().filter(Verdict::isInService).toList();
            case GpuRequest.Count _ -> some.stream().filter(Verdict::isSuited).toList();
            case GpuRequest.Devices(List<String> ids) -> {
                try {
                    yield named(ids, some);
                } catch (RefusedException e) {
                    yield List.of();
                }
            }
        };
    }

    /** How many of those; never 0, so that a request for all of no GPUs is not served. */
    private static int needed(Requested requested, List<Verdict> wanted) {
        return switch (requested.request()) {
            case GpuRequest.None _, GpuRequest.With _ -> 0;
            case GpuRequest.All _ -> Math.max(1, wanted.size());
            case GpuRequest.Count(int count, _) -> count;
            case GpuRequest.Devices(List<String> ids) -> ids.size();
        };
    }

    /** As many GPUs as are requested, whole or shares, whichever they are. */
    GpuRequest.Count number() {
        return number(wanted);
    }

    /** As many likewise, if the user might have all GPUs. */
    GpuRequest.Count numberOfAll() {
        return number(wanted(requested, all));
    }

    private GpuRequest.Count number(List<Verdict> those) {
        return new GpuRequest.Count(
                Math.max(1, needed(requested, those)), GpuFilter.sharing(requested.share()));
    }

    /** Whether it can be served without its user giving anything back. */
    boolean canBeServed() {
        return excess.isEmpty()
                && wanted.stream().filter(Verdict::mayComeFree).count()
                        >= needed(requested, wanted);
    }

    /** Whether the configuration never allows the request. */
    public boolean isForbidden() {
        return excess.filter(Quota.Never.class::isInstance).isPresent();
    }

    /** The GPUs out of service and without a name for which it cannot be served. */
    public List<Verdict> barred() {
        List<Verdict> those = requested.request() instanceof GpuRequest.All ? some : wanted;
        return those.stream().filter(Verdict::isBarred).toList();
    }

    /** Those that may do, if NVML reports their memory. */
    public List<Gpu> unclear() {
        return gpus(some.stream().filter(Verdict::isUnclear).toList());
    }
}
