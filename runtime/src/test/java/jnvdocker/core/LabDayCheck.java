package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.lease.Ticket;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.request.MemorySize;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What must be true of a lab's day, by an account of its own: the containers that ran when. */
final class LabDayCheck {
    /** All but 512 MiB of a GPU may be shared. */
    private static final long SHARED = LabPlan.MEMORY - (512L << 20);

    /** A start and an end take less. */
    private static final Duration A_MOMENT = Duration.ofSeconds(8);

    private static final double ROUNDING = 1e-6;

    private final LabDay day;

    /** How long each student's containers ran that have ended, in minutes of a GPU. */
    private final Map<Owner, Double> used = new HashMap<>();

    private final Map<Owner, Integer> sessions = new HashMap<>();
    private int now;

    LabDayCheck(LabDay day) {
        this.day = day;
    }

    void began(LabDay.Session session) throws IOException {
        Owner owner = session.planned().owner();
        sessions.merge(owner, 1, Integer::sum);
        oneHolder(session);
        withinLimits(session);
        for (ClaimedGpu gpu : session.claim().gpus()) {
            Gpu present = day.gpus.get(gpu.index());
            assertTrue(allows(owner, present), () -> session + " has a GPU that is not allowed");
            assertTrue(
                    bookedFor(present).filter(other -> !other.equals(owner)).isEmpty(),
                    () -> session + " has a GPU that another has booked");
        }
        Optional<Duration> hold = limit(day.policy.limits().hold(), owner);
        assertTrue(
                session.planned().time().isEmpty()
                        || hold.isEmpty()
                        || session.planned().time().get().compareTo(hold.get()) <= 0,
                () -> session + " may last too long");
    }

    private void oneHolder(LabDay.Session session) {
        for (ClaimedGpu gpu : session.claim().gpus()) {
            List<LabDay.Session> others =
                    on(gpu.index()).stream().filter(other -> other != session).toList();
            Optional<MemorySize> share = session.claim().share();
            boolean fits =
                    share.isPresent()
                            ? others.stream().allMatch(it -> it.claim().share().isPresent())
                                    && promised(others) + share.get().bytes() <= SHARED
                                    && day.policy.shares(day.gpus.get(gpu.index()))
                            : others.isEmpty();
            assertTrue(fits, () -> "GPU " + gpu.index() + ": " + session + " beside " + others);
        }
    }

    private void withinLimits(LabDay.Session session) {
        Owner owner = session.planned().owner();
        Optional<Integer> gpus = limit(day.policy.limits().gpus(), owner);
        assertTrue(
                gpus.isEmpty() || held(owner) <= gpus.get() + ROUNDING,
                () -> owner + " has " + held(owner));
        assertTrue(hasHours(owner), () -> session + " begins after " + minutes(owner) + " minutes");
    }

    private boolean hasHours(Owner owner) {
        Optional<Duration> hours = limit(day.policy.limits().perDay(), owner);
        return hours.isEmpty() || minutes(owner) < hours.get().toMinutes() - ROUNDING;
    }

    /** The minutes of GPUs that a student has had, by now. */
    private double minutes(Owner owner) {
        return used.getOrDefault(owner, 0.0)
                + of(owner).stream()
                        .mapToDouble(session -> (now - session.began()) * count(session))
                        .sum();
    }

    private double held(Owner owner) {
        return of(owner).stream().mapToDouble(LabDayCheck::count).sum();
    }

    private List<LabDay.Session> of(Owner owner) {
        return day.running.stream()
                .filter(session -> session.planned().owner().equals(owner))
                .toList();
    }

    private List<LabDay.Session> on(int gpu) {
        return day.running.stream()
                .filter(session -> LabDay.indexes(session.claim()).contains(gpu))
                .toList();
    }

    private static double count(LabDay.Session session) {
        return session.claim().gpus().size() * part(session.claim().share());
    }

    private static double part(Optional<MemorySize> share) {
        return share.map(amount -> (double) amount.bytes() / LabPlan.MEMORY).orElse(1.0);
    }

    private static long promised(List<LabDay.Session> some) {
        return some.stream().mapToLong(it -> it.claim().share().orElseThrow().bytes()).sum();
    }

    private static <T> Optional<T> limit(List<Rule<T>> rules, Owner owner) {
        return rules.stream()
                .filter(rule ->
                        rule.subject().kind() == Subject.Kind.EVERYBODY
                                || rule.subject().kind() == Subject.Kind.GROUP
                                        && rule.subject()
                                                .name()
                                                .equals(LabPlan.groupOf(owner.uid())))
                .findFirst()
                .map(Rule::limit);
    }

    private boolean allows(Owner owner, Gpu gpu) {
        return limit(day.policy.limits().allowed(), owner)
                .filter(ids -> ids.stream().noneMatch(id -> GpuResolver.covers(id, gpu)))
                .isEmpty();
    }

    private Optional<Owner> bookedFor(Gpu gpu) throws IOException {
        return day.parts().leases().bookings().all().stream()
                .filter(booking -> booking.isNow(day.machine.instant()))
                .filter(booking -> booking.isOf(gpu))
                .map(Booking::owner)
                .findFirst();
    }

    void ended(LabDay.Session session) {
        Owner owner = session.planned().owner();
        used.merge(owner, (now - session.began()) * count(session), Double::sum);
    }

    /** A refusal has a reason that is true. */
    void refused(LabPlan.Session planned, String message) {
        boolean spent = message.contains("GPU-hours that");
        assertEquals(spent, !hasHours(planned.owner()), () -> planned + ": " + message);
        boolean many = message.contains(" at a time (");
        boolean taken =
                message.contains(" is free")
                        || message.contains(" free: ")
                        || message.contains(" free, ")
                        || message.contains("has 10G left");
        boolean late = message.startsWith("gave up after ");
        boolean tooLong = message.contains(" may hold GPUs for ");
        assertTrue(spent || many || taken || late || tooLong, () -> planned + ": " + message);
    }

    /** Checks a minute that is over. */
    void after(int minute) throws IOException {
        nobodyWaitsForFreeGpus();
        nobodyHoldsTooLong(minute);
        if (minute % 30 == 0) {
            hoursAddUp();
        }
    }

    /** Notes that a minute begins. */
    void minute(int minute) {
        now = minute;
    }

    /** Free GPUs are kept for the first in the queue, and for nobody who may not have more. */
    private void nobodyWaitsForFreeGpus() throws IOException {
        Set<Gpu> free = new HashSet<>();
        for (Gpu gpu : day.gpus) {
            if (on(gpu.index()).isEmpty()) {
                free.add(gpu);
            }
        }
        Set<Gpu> rests = new HashSet<>(day.gpus);
        for (Ticket ticket : day.queue()) {
            Owner owner = ticket.owner();
            GpuRequest.Count request = (GpuRequest.Count) ticket.requested().request();
            Optional<MemorySize> share = request.filter().share();
            double more = request.gpus() * part(share);
            Optional<Integer> most = limit(day.policy.limits().gpus(), owner);
            if (!hasHours(owner)
                    || most.isPresent() && held(owner) + more > most.get() + ROUNDING) {
                continue;
            }
            List<Gpu> fitting = new ArrayList<>();
            for (Gpu gpu : day.gpus) {
                if (allows(owner, gpu)
                        && bookedFor(gpu).filter(other -> !other.equals(owner)).isEmpty()
                        && (share.isEmpty()
                                ? free.contains(gpu)
                                : hasRoom(gpu, share.get(), free) && rests.contains(gpu))) {
                    fitting.add(gpu);
                }
            }
            assertTrue(
                    fitting.size() < request.gpus(),
                    () -> ticket + " waits, though these are free: " + fitting);
            free.removeAll(fitting);
            day.gpus.stream()
                    .filter(gpu -> isShared(gpu) && allows(owner, gpu))
                    .limit(request.gpus() - fitting.size())
                    .forEach(rests::remove);
        }
    }

    private boolean hasRoom(Gpu gpu, MemorySize amount, Set<Gpu> free) {
        return day.policy.shares(gpu)
                && (free.contains(gpu)
                        || isShared(gpu) && promised(on(gpu.index())) + amount.bytes() <= SHARED);
    }

    private boolean isShared(Gpu gpu) {
        return !on(gpu.index()).isEmpty()
                && on(gpu.index()).stream().allMatch(it -> it.claim().share().isPresent());
    }

    /** Holders of overdue leases are stopped, and idle ones. */
    private void nobodyHoldsTooLong(int minute) {
        for (LabDay.Session session : day.running) {
            Owner owner = session.planned().owner();
            Optional<Duration> hold =
                    session.planned().time().or(() -> limit(day.policy.limits().hold(), owner));
            assertTrue(
                    hold.isEmpty() || minute - session.began() <= hold.get().toMinutes(),
                    () -> session + " runs for longer than " + hold.get());
            Optional<Duration> idle = limit(day.policy.limits().idle(), owner);
            int unused = minute - session.began() - session.planned().active();
            assertTrue(
                    idle.isEmpty() || unused <= idle.get().toMinutes() + 6,
                    () -> session + " is idle for longer than " + idle.get());
        }
    }

    private void hoursAddUp() throws IOException {
        GpuTime time =
                day.parts()
                        .registry()
                        .history()
                        .gpuTime(day.begin, Optional.empty(), Optional.empty());
        double sum = 0;
        for (Owner owner : LabPlan.students()) {
            Duration own = Duration.ofSeconds(Math.round(minutes(owner) * 60));
            Duration counted = time.of(owner);
            long most = A_MOMENT.toSeconds() * sessions.getOrDefault(owner, 0);
            assertTrue(
                    own.minus(counted).abs().toSeconds() <= most,
                    () -> owner + " had " + own + ", and not " + counted);
            sum += minutes(owner);
        }
        assertTrue(sum <= now * day.gpus.size() + ROUNDING, "more than there are");
    }
}
