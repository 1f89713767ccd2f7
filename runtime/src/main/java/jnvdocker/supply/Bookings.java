package jnvdocker.supply;

import jnvdocker.decision.UnavailableException;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Booking;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Scope;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.KeptText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Books GPUs ahead. The GPUs of a booking are chosen when it is made, and stay the same: at its
 * beginning they are its user's alone, whatever others have requested since.
 */
public final class Bookings {
    /** How far ahead. */
    private static final Duration AHEAD = Duration.ofDays(90);

    private static final int OF_A_USER = 8;
    private static final int OF_A_HOST = 256;
    private static final String LIST = "'jnvdocker gpu book' lists the bookings";

    private final LeaseRegistry registry;
    private final Supply supply;

    public Bookings(LeaseRegistry registry, Supply supply) {
        this.registry = registry;
        this.supply = supply;
    }

    /**
     * A booking that was made.
     *
     * @param late the leases of others on its GPUs that have no end, or one after its beginning
     */
    public record Made(Booking booking, List<Lease> late) {}

    /** The bookings that are not over, the first to begin first. */
    public List<Booking> all() throws IOException {
        return registry.holdings().bookings();
    }

    /**
     * Books GPUs for a user.
     *
     * @param from a moment that is past stands for now
     * @param byRoot whether the limits of time and number do not count
     * @throws RefusedException when nobody may book, the user's limits forbid it, or too few of the
     *     GPUs are there and not booked for a part of that time
     */
    public Made book(GpuRequest request, Owner owner, Instant from, Duration time, boolean byRoot)
            throws RefusedException, IOException {
        BookingRule rule = supply.rules().bookings();
        if (rule.kind() == BookingRule.Kind.NONE) {
            throw new RefusedException(
                    "GPUs cannot be booked on this host",
                    "an administrator can allow it (bookings)");
        }
        if (request instanceof GpuRequest.None) {
            throw new RefusedException(
                    "no GPU is requested, and a booking needs one",
                    "write how many, as in 'gpu book 2 --for 8h'");
        }
        supply.learn(owner, Supply.NAMES_LIMIT);
        Supply.Terms terms = supply.terms(owner, List.of());
        RefusedException[] refused = new RefusedException[1];
        Optional<Made> made =
                registry.decide(leases -> {
                    Holdings holdings = leases.holdings();
                    Instant begin = from.isBefore(holdings.now()) ? holdings.now() : from;
                    try {
                        if (!byRoot) {
                            refuseTooLong(owner, begin, time, terms, holdings);
                        }
                        refuseTooMany(holdings);
                        List<Gpu> gpus = choose(request, terms, owner, begin, time, holdings);
                        Instant end = begin.plus(time);
                        if (!byRoot) {
                            refuseTooMuch(gpus, owner, begin, end, terms, holdings);
                        }
                        return Optional.of(
                                new Made(
                                        leases.book(
                                                owner,
                                                gpus.stream().map(ClaimedGpu::of).toList(),
                                                begin,
                                                end),
                                        late(gpus, owner, begin, holdings)));
                    } catch (RefusedException e) {
                        refused[0] = e;
                        return Optional.empty();
                    }
                });
        if (made.isEmpty()) {
            throw refused[0];
        }
        return made.get();
    }

    /**
     * Gives back what is booked.
     *
     * @return whether there was such a booking still
     */
    public boolean cancel(Booking booking) throws IOException {
        return registry.decide(leases -> leases.unbook(booking.id()));
    }

    /** What a user has booked for a part of that time counts, too. */
    private static void refuseTooMuch(
            List<Gpu> gpus,
            Owner owner,
            Instant begin,
            Instant end,
            Supply.Terms terms,
            Holdings holdings)
            throws RefusedException {
        Map<String, Double> counts = new HashMap<>();
        terms.gpus().forEach(gpu -> counts.put(gpu.uuid(), gpu.count()));
        double booked =
                holdings.booked().stream()
                        .filter(booking -> booking.overlaps(begin, end))
                        .filter(booking -> booking.owner().uid() == owner.uid())
                        .flatMap(booking -> booking.gpus().stream())
                        .mapToDouble(uuid -> counts.getOrDefault(uuid, 1.0))
                        .sum();
        Optional<Quota.Excess> excess =
                new Quota(terms.allowances(), Map.of())
                        .excess(
                                owner,
                                new Quota.Amount(
                                        gpus.stream().mapToDouble(Gpu::count).sum() + booked, 0));
        // Hours that are used up may have come back by then.
        if (excess.isEmpty() || !(excess.get() instanceof Quota.ForGood why)) {
            return;
        }
        if (booked == 0) {
            throw new UnavailableException(
                    new Outcome.NeverAllowed(new GpuRequest.Count(gpus.size()), why),
                    Addressee.COMMAND,
                    "");
        }
        throw new RefusedException(
                Quote.shown(owner.name())
                        + " has booked "
                        + QuotaText.number(booked)
                        + " for a part of that time, and "
                        + QuotaText.why(why),
                "choose another time, or fewer GPUs; " + LIST);
    }

    private void refuseTooLong(
            Owner owner, Instant begin, Duration time, Supply.Terms terms, Holdings holdings)
            throws RefusedException {
        Duration longest = supply.rules().bookings().longest();
        if (time.compareTo(longest) > 0) {
            throw new RefusedException(
                    "nobody but root may book GPUs for longer than %s (max_booking)"
                            .formatted(Span.spelled(longest)),
                    "book them for less time");
        }
        // No lease of the user may last that long.
        Optional<Rule<Duration>> hold = terms.allowances().of(owner).hold();
        if (hold.filter(rule -> time.compareTo(rule.limit()) > 0).isPresent()) {
            throw new RefusedException(
                    Span.spelled(time) + " requested, but " + TimeText.longestHold(hold.get()),
                    "book them for less time");
        }
        if (begin.isAfter(holdings.now().plus(AHEAD))) {
            throw new RefusedException(
                    "nobody but root may book GPUs more than " + Span.spelled(AHEAD) + " ahead",
                    "choose an earlier beginning");
        }
        long own =
                holdings.bookings().stream()
                        .filter(booking -> booking.owner().uid() == owner.uid())
                        .count();
        if (own >= OF_A_USER) {
            throw new RefusedException(
                    "%s has %s bookings, and nobody may have more"
                            .formatted(Quote.shown(owner.name()), own),
                    "cancel one: " + LIST);
        }
    }

    private static void refuseTooMany(Holdings holdings) throws RefusedException {
        int all = holdings.bookings().size();
        if (all >= OF_A_HOST) {
            throw new RefusedException(
                    "this host has " + all + " bookings, and cannot have more",
                    "cancel one: " + LIST);
        }
    }

    /** Those that nobody is known to have then come first. */
    private static List<Gpu> choose(
            GpuRequest request,
            Supply.Terms terms,
            Owner owner,
            Instant begin,
            Duration time,
            Holdings holdings)
            throws RefusedException {
        List<Verdict> all =
                terms.choice(holdings, UnmanagedUses.NONE)
                        .scope(new Requested(request, owner))
                        .all();
        List<Verdict> usable = all.stream().filter(Bookings::isUsable).toList();
        List<Verdict> wanted =
                switch (request) {
                    case GpuRequest.None _ -> List.of();
                    case GpuRequest.With _ ->
                            throw new RefusedException(
                                    request + " names GPUs that are held, and books none",
                                    "write a number or device=<ids>");
                    case GpuRequest.All _ -> usable;
                    case GpuRequest.Count(_, var filter) when filter.share().isPresent() ->
                            throw new RefusedException(
                                    request + " requests shares, and GPUs are booked whole",
                                    "leave out share");
                    case GpuRequest.Count _ -> usable.stream().filter(Verdict::isSuited).toList();
                    case GpuRequest.Devices(List<String> ids) -> Scope.named(ids, all);
                };
        Instant end = begin.plus(time);
        List<Gpu> free =
                wanted.stream()
                        .filter(Bookings::isUsable)
                        .map(Verdict::gpu)
                        .filter(gpu -> between(gpu, begin, end, holdings).isEmpty())
                        .sorted(
                                Comparator.comparing((Gpu gpu) -> isLate(gpu, begin, holdings))
                                        .thenComparing(Gpu.ORDER))
                        .toList();
        int needed = request instanceof GpuRequest.Count(int count, _) ? count : wanted.size();
        if (needed == 0 || free.size() < needed) {
            throw tooFew(needed, free, wanted, begin, end, holdings);
        }
        return free.stream().limit(needed).sorted(Gpu.ORDER).toList();
    }

    /** Whether its user may have a GPU then, whoever has it now. */
    private static boolean isUsable(Verdict verdict) {
        return !verdict.isBarred() && !verdict.is(Verdict.NotAllowed.class);
    }

    private static Optional<Booking> between(
            Gpu gpu, Instant begin, Instant end, Holdings holdings) {
        return holdings.booked().stream()
                .filter(booking -> booking.overlaps(begin, end))
                .filter(booking -> booking.isOf(gpu))
                .findFirst();
    }

    private static boolean isLate(Gpu gpu, Instant begin, Holdings holdings) {
        return holdings.holders(gpu).stream().anyMatch(lease -> isLate(lease, begin));
    }

    private static boolean isLate(Lease lease, Instant begin) {
        return lease.due().filter(due -> !due.isAfter(begin)).isEmpty();
    }

    private static List<Lease> late(List<Gpu> gpus, Owner owner, Instant begin, Holdings holdings) {
        return gpus.stream()
                .flatMap(gpu -> holdings.holders(gpu).stream())
                .filter(lease -> isLate(lease, begin) && lease.claim().owner().uid() != owner.uid())
                .distinct()
                .toList();
    }

    private static RefusedException tooFew(
            int needed,
            List<Gpu> free,
            List<Verdict> wanted,
            Instant begin,
            Instant end,
            Holdings holdings) {
        Optional<String> booked =
                wanted.stream()
                        .map(Verdict::gpu)
                        .flatMap(gpu ->
                                between(gpu, begin, end, holdings)
                                        .map(it ->
                                                LeaseText.name(gpu.number(), gpu.uuid())
                                                        + " is "
                                                        + KeptText.of(it))
                                        .stream())
                        .findFirst();
        return new RefusedException(
                (needed == 0 ? "all GPUs" : needed == 1 ? "1 GPU" : needed + " GPUs")
                        + " requested from "
                        + LeaseText.time(begin)
                        + " until "
                        + LeaseText.time(end)
                        + ", but "
                        + (free.isEmpty() ? "none" : "only " + free.size())
                        + " can be booked for that time"
                        + booked.map(why -> ": " + why).orElse(""),
                "choose another time, or fewer GPUs; " + LIST);
    }
}
