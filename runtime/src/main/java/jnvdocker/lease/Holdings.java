package jnvdocker.lease;

import jnvdocker.host.Gpu;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The facts that GPUs are chosen by.
 *
 * @param held the live leases, by the UUIDs of their GPUs
 * @param stopped the containers that held the other GPUs last, by UUID
 * @param cordoned by command, by UUID
 * @param booked the first to begin first, with those that are over
 */
public record Holdings(
        Instant now,
        Map<String, Lease> held,
        Map<String, Instant> idleSince,
        Map<String, Stopped> stopped,
        Map<String, Cordon.ByCommand> cordoned,
        List<Booking> booked) {

    /**
     * A container that has stopped.
     *
     * @param claim the id of its claim
     * @param name for people
     */
    public record Stopped(String claim, Owner owner, String name) {}

    /**
     * The lease for which nobody else may have a GPU now: its own, or that of the GPU that it is a
     * part of, or of a part of it.
     */
    public Optional<Lease> of(Gpu gpu) {
        return of(ClaimedGpu.of(gpu));
    }

    /** The lease of a claimed GPU, or of one that excludes it. */
    public Optional<Lease> of(ClaimedGpu gpu) {
        return Optional.ofNullable(held.get(gpu.uuid()))
                .or(() -> held.values().stream().filter(lease -> lease.excludes(gpu)).findFirst());
    }

    /** The lease that a claim has. */
    public Optional<Lease> ofClaim(String claim) {
        return held.values().stream().filter(lease -> lease.claim().id().equals(claim)).findFirst();
    }

    /** The leases for which nobody else may have the GPUs of a claim, the oldest first. */
    public List<Lease> on(Claim claim) {
        return held.values().stream()
                .distinct()
                .filter(lease -> claim.gpus().stream().anyMatch(lease::excludes))
                .sorted(Comparator.comparingLong(Lease::id))
                .toList();
    }

    /**
     * The GPUs that are kept for the owners of stopped containers, by UUID.
     *
     * @param time for how long after the stop; empty keeps none
     */
    public Map<String, AfterStop> afterStop(Optional<Duration> time) {
        Map<String, AfterStop> kept = new HashMap<>();
        if (time.isPresent()) {
            stopped.forEach((gpu, last) -> {
                Instant until = idleSince.get(gpu).plus(time.get());
                if (now.isBefore(until) && !held.containsKey(gpu)) {
                    kept.put(gpu, new AfterStop(last.claim(), last.owner(), last.name(), until));
                }
            });
        }
        return kept;
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
     * How long a lease that begins now may last: its GPUs may be booked.
     *
     * @param wanted empty for as long as its holder
     */
    public Optional<Duration> time(Claim claim, Optional<Duration> wanted) {
        Optional<Duration> booked = next(claim).map(it -> Duration.between(now, it.from()));
        return Stream.concat(wanted.stream(), booked.stream()).min(Comparator.naturalOrder());
    }

    /** Returns the holdings with one more lease. */
    Holdings with(Lease lease) {
        Map<String, Lease> all = new HashMap<>(held);
        lease.claim().gpus().forEach(gpu -> all.put(gpu.uuid(), lease));
        return new Holdings(now, all, idleSince, stopped, cordoned, booked);
    }

    /** Returns the holdings without one lease. */
    public Holdings without(Lease lease) {
        Map<String, Lease> others = new HashMap<>(held);
        others.values().removeIf(other -> other.id() == lease.id());
        return new Holdings(now, others, idleSince, stopped, cordoned, booked);
    }

    /** Whether a decision on these would be the same on those. */
    public boolean decidesLike(Holdings other) {
        return leases().equals(other.leases())
                && cordoned.equals(other.cordoned)
                && booked.equals(other.booked);
    }

    /** Numbers are never used again. */
    private Map<String, Long> leases() {
        Map<String, Long> leases = new HashMap<>();
        held.forEach((gpu, lease) -> leases.put(gpu, lease.id()));
        return leases;
    }
}
