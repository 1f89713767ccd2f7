package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The facts that GPUs are chosen by.
 *
 * @param held the live leases, by the UUIDs of their GPUs, the oldest first; those of one GPU are
 *     of one party, or have shares of it
 * @param stopped the containers that held the other GPUs last, by UUID
 * @param cordoned by command, by UUID
 * @param booked the first to begin first, with those that are over
 */
public record Holdings(
        Instant now,
        Map<String, List<Lease>> held,
        Map<String, Instant> idleSince,
        Map<String, Stopped> stopped,
        Map<String, Cordon.ByCommand> cordoned,
        List<Booking> booked) {

    /**
     * A container that has stopped.
     *
     * @param claim the id of its claim
     * @param name for people
     * @param counts as how many GPUs the one counts that it has given back
     */
    public record Stopped(String claim, Owner owner, String name, double counts) {}

    /** The leases of GPUs by their UUIDs, in the order in which they come. */
    public static Map<String, List<Lease>> byGpu(Collection<Lease> leases) {
        Map<String, List<Lease>> held = new HashMap<>();
        for (Lease lease : leases) {
            for (ClaimedGpu gpu : lease.claim().gpus()) {
                held.computeIfAbsent(gpu.uuid(), _ -> new ArrayList<>(1)).add(lease);
            }
        }
        return Collections.unmodifiableMap(held);
    }

    /**
     * The lease for which nobody else may have a GPU now: its own, or that of the GPU that it is a
     * part of, or of a part of it, or one whose holder may open it. If there are several, it is the
     * oldest.
     */
    public Optional<Lease> of(Gpu gpu) {
        return of(ClaimedGpu.of(gpu));
    }

    /** The lease of a claimed GPU, or of one that excludes it. */
    public Optional<Lease> of(ClaimedGpu gpu) {
        List<Lease> own = held.get(gpu.uuid());
        return own == null
                ? all().filter(lease -> lease.excludes(gpu)).findFirst()
                : Optional.of(own.getFirst());
    }

    /** The leases of one GPU, the oldest first. */
    public List<Lease> allOf(String uuid) {
        return held.getOrDefault(uuid, List.of());
    }

    /**
     * All leases of a GPU, the oldest first; else those of GPUs that it is a part of, or has. Those
     * whose holders may open it come last.
     */
    public List<Lease> holders(Gpu gpu) {
        return holders(gpu, allOf(gpu.uuid()).isEmpty() ? List.of() : opening(gpu));
    }

    /**
     * All leases of a GPU likewise.
     *
     * @param opening those whose holders may open it
     */
    List<Lease> holders(Gpu gpu, List<Lease> opening) {
        List<Lease> own = allOf(gpu.uuid());
        return own.isEmpty()
                ? of(gpu).stream().toList()
                : Stream.concat(own.stream(), opening.stream()).toList();
    }

    /** The leases of other GPUs whose holders may open this one, the oldest first. */
    public List<Lease> opening(Gpu gpu) {
        ClaimedGpu now = ClaimedGpu.of(gpu);
        return sorted(lease -> lease.opened(now).isPresent());
    }

    /** The shares of a GPU that are held; none of one that is held whole. */
    public List<Share> shares(String uuid) {
        return allOf(uuid).stream().flatMap(lease -> lease.share(uuid).stream()).toList();
    }

    /** The lease that a claim has. */
    public Optional<Lease> ofClaim(String claim) {
        return all().filter(lease -> lease.claim().id().equals(claim)).findFirst();
    }

    /** The live leases, each once for each of its GPUs. */
    private Stream<Lease> all() {
        return held.values().stream().flatMap(List::stream);
    }

    /** The live leases, the oldest first. */
    public List<Lease> leases() {
        return sorted(_ -> true);
    }

    private List<Lease> sorted(Predicate<Lease> which) {
        Map<Long, Lease> leases = new TreeMap<>();
        all().filter(which).forEach(lease -> leases.put(lease.id(), lease));
        return List.copyOf(leases.values());
    }

    /** The leases on account of which a claim may not have its GPUs, the oldest first. */
    public List<Lease> on(Claim claim) {
        return sorted(lease ->
                !lease.claim().isBeside(claim)
                        && claim.gpus().stream().anyMatch(gpu -> isInTheWay(lease, gpu, claim)));
    }

    private boolean isInTheWay(Lease lease, ClaimedGpu gpu, Claim claim) {
        if (gpu.share().isEmpty() || lease.share(gpu.uuid()).isEmpty()) {
            return lease.excludes(gpu);
        }
        List<Share> all =
                Stream.concat(
                                allOf(gpu.uuid()).stream()
                                        .filter(other -> !other.claim().id().equals(claim.id()))
                                        .flatMap(other -> other.share(gpu.uuid()).stream()),
                                gpu.share().stream())
                        .toList();
        return Share.sum(all) > Share.limit(gpu.share().get().memory());
    }

    /** The other leases of a claim's party that have some of its GPUs, the oldest first. */
    public List<Lease> beside(Claim claim) {
        return sorted(lease ->
                lease.claim().isBeside(claim)
                        && !lease.claim().id().equals(claim.id())
                        && claim.gpus().stream().anyMatch(gpu -> lease.isOf(gpu.uuid())));
    }

    /**
     * The GPUs that are kept for the owners of stopped containers, by UUID. They count for the
     * limits of their owners: what is held comes first, then the GPUs that were given back last. A
     * GPU that does not fit is not kept.
     *
     * @param time for how long after the stop; empty keeps none
     * @param allowances of the owners; where an owner's groups are not known, nothing is over
     */
    public Map<String, AfterStop> afterStop(Optional<Duration> time, Allowances allowances) {
        Map<String, AfterStop> kept = new HashMap<>();
        if (time.isPresent()) {
            Quota quota = new Quota(allowances, held);
            for (String gpu : stoppedWithin(time.get())) {
                Stopped last = stopped.get(gpu);
                if (quota.allows(last.owner(), keptFor(last.owner(), kept) + last.counts())) {
                    Instant until = idleSince.get(gpu).plus(time.get());
                    kept.put(gpu, new AfterStop(last.claim(), last.owner(), last.name(), until));
                }
            }
        }
        return kept;
    }

    /** As how many GPUs those count that are kept for an owner. */
    public double keptFor(Owner owner, Map<String, AfterStop> kept) {
        return kept.entrySet().stream()
                .filter(gpu -> gpu.getValue().owner().isSameAs(owner))
                .mapToDouble(gpu -> stopped.get(gpu.getKey()).counts())
                .sum();
    }

    /** The free GPUs of containers that have stopped within a time, the latest first. */
    private List<String> stoppedWithin(Duration time) {
        return stopped.keySet().stream()
                .filter(gpu ->
                        now.isBefore(idleSince.get(gpu).plus(time)) && !held.containsKey(gpu))
                .sorted(
                        Comparator.comparing((String gpu) -> idleSince.get(gpu))
                                .reversed()
                                .thenComparing(Comparator.naturalOrder()))
                .toList();
    }

    /** The bookings whose time has begun and is not over. */
    public List<Booking> bookedNow() {
        return booked.stream().filter(booking -> booking.isNow(now)).toList();
    }

    /** The bookings that are not over, the first to begin first. */
    public List<Booking> bookings() {
        return booked.stream().filter(booking -> now.isBefore(booking.until())).toList();
    }

    /** The bookings of a GPU that are not over, the first to begin first. */
    public List<Booking> bookings(Gpu gpu) {
        return bookings().stream().filter(booking -> booking.isOf(gpu)).toList();
    }

    /** The next booking of one of a claim's GPUs by another user that has not begun yet. */
    public Optional<Booking> next(Claim claim) {
        return next(claim.owner(), booking -> claim.gpus().stream().anyMatch(booking::isOf));
    }

    /** The next booking of a GPU by another user that has not begun yet. */
    Optional<Booking> next(Owner owner, Gpu gpu) {
        return next(owner, booking -> booking.isOf(gpu));
    }

    private Optional<Booking> next(Owner owner, Predicate<Booking> which) {
        return booked.stream()
                .filter(booking -> now.isBefore(booking.from()))
                .filter(booking -> !booking.owner().isSameAs(owner))
                .filter(which)
                .findFirst();
    }

    /**
     * How long a lease that begins now may last: its GPUs may be booked, and beside another lease
     * it lasts no longer than that one may.
     *
     * @param wanted empty for as long as its holder
     */
    public Optional<Duration> time(Claim claim, Optional<Duration> wanted) {
        Optional<Duration> booked = next(claim).map(it -> Duration.between(now, it.from()));
        return Stream.concat(
                        Stream.concat(wanted.stream(), booked.stream()),
                        beside(claim).stream().flatMap(lease -> lease.left(now).stream()))
                .min(Comparator.naturalOrder());
    }

    /** Returns the same holdings at another time. */
    public Holdings at(Instant time) {
        return new Holdings(time, held, idleSince, stopped, cordoned, booked);
    }

    /** Returns the holdings with one more lease. */
    Holdings with(Lease lease) {
        List<Lease> all = new ArrayList<>(leases());
        all.add(lease);
        return with(all);
    }

    /** Returns the holdings without some leases. */
    public Holdings without(Predicate<Lease> which) {
        return with(sorted(which.negate()));
    }

    /** Returns the holdings as they count for a holder that goes on with the GPUs that it has. */
    public Holdings ofRestart() {
        return new Holdings(now, held, idleSince, Map.of(), Map.of(), List.of());
    }

    private Holdings with(List<Lease> leases) {
        return new Holdings(now, byGpu(leases), idleSince, stopped, cordoned, booked);
    }
}
