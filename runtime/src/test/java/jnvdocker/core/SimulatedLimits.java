package jnvdocker.core;

import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.TemporalAdjusters;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The limits of a simulated lab's users other than how many GPUs at a time, and what is used of
 * them: by the leases of the registry, added up here once more.
 */
final class SimulatedLimits {
    /** The daemon may add up what is used as seldom as this. */
    static final Duration KNOWN = Duration.ofMillis(2_100);

    private final SimulatedWorld world;
    private Wish wish = Wish.NONE;

    SimulatedLimits(SimulatedWorld world) {
        this.world = world;
    }

    /**
     * The limits of the configuration file, all of them in seconds; 0 for none.
     *
     * @param day GPU time in a day of the user with limits of its own
     * @param week GPU time in a week of each user
     * @param hold how long each user's leases may last
     * @param allowed of that user, a bit for each GPU
     */
    record Wish(int day, int week, int hold, int allowed) {
        static final Wish NONE = new Wish(0, 0, 0, 0);
    }

    void set(Wish other) {
        wish = other;
    }

    /** Returns limits with these ones. */
    Limits with(Limits limits, LeasePolicy policy) {
        Subject own = Subject.parse("" + SimulatedLab.LIMITED);
        return new Limits(
                limits.gpus(),
                rules(own, wish.day(), "limits." + own.name() + ".hours_per_day"),
                rules(Subject.EVERYBODY, wish.week(), "limits.*.hours_per_week"),
                rules(Subject.EVERYBODY, wish.hold(), "limits.*.max_hold"),
                limits.waits(),
                limits.idle(),
                wish.allowed() == 0
                        ? List.of()
                        : List.of(
                                new Rule<>(
                                        own,
                                        allowed(),
                                        "limits." + own.name() + ".allowed",
                                        SimulatedLab.FILE)),
                limits.priority());
    }

    private static List<Rule<Duration>> rules(Subject subject, int seconds, String key) {
        return seconds == 0
                ? List.of()
                : List.of(new Rule<>(subject, Duration.ofSeconds(seconds), key, SimulatedLab.FILE));
    }

    private List<String> allowed() {
        List<String> all = world.gpus.all();
        return Stream.iterate(0, i -> i < all.size(), i -> i + 1)
                .filter(i -> (wish.allowed() >> i & 1) == 1)
                .map(all::get)
                .toList();
    }

    boolean allows(Owner owner, String gpu) {
        return wish.allowed() == 0
                || owner.uid() != SimulatedLab.LIMITED
                || allowed().contains(gpu);
    }

    /** How long a lease of this user may last. */
    Optional<Duration> time(Owner owner, Optional<Duration> wanted) {
        return owner.isKubernetes() ? wanted : time(wanted);
    }

    /** How long a lease of any user may last. */
    Optional<Duration> time(Optional<Duration> wanted) {
        Optional<Duration> hold =
                Optional.of(Duration.ofSeconds(wish.hold())).filter(Duration::isPositive);
        return Stream.concat(wanted.stream(), hold.stream()).min(Comparator.naturalOrder());
    }

    /** Whether a user may want GPUs for as long. */
    boolean allows(Optional<Duration> wanted) {
        return time(wanted).equals(wanted.or(() -> time(Optional.empty())));
    }

    /** Whether the GPU time of a user must be known to be used up at a moment. */
    boolean wasSpent(Owner owner, Instant at) {
        Instant known = at.minus(KNOWN);
        return isSpent(owner, known, false);
    }

    /**
     * Whether the GPU time of a user may be used up by now, or was by what was added up before the
     * clock was set.
     */
    boolean mayBeSpent(Owner owner) {
        return isSpent(owner, world.daemon.parts().registry().now(), true)
                || isLimited(owner) && world.machine.sinceClockSet().compareTo(KNOWN) < 0;
    }

    private boolean isLimited(Owner owner) {
        return !owner.isKubernetes()
                && (wish.week() > 0 || wish.day() > 0 && owner.uid() == SimulatedLab.LIMITED);
    }

    private boolean isSpent(Owner owner, Instant until, boolean atMost) {
        if (owner.isKubernetes()) {
            return false;
        }
        boolean own = owner.uid() == SimulatedLab.LIMITED;
        LocalDate day = LocalDate.ofInstant(until, ZoneId.systemDefault());
        LocalDate monday = day.with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
        return own && wish.day() > 0 && used(owner, day, until, atMost) >= wish.day() * 1000L
                || wish.week() > 0 && used(owner, monday, until, atMost) >= wish.week() * 1000L;
    }

    /**
     * The milliseconds for which a user has had GPUs since a day began.
     *
     * @param atMost whether what a user has had twice at one time counts twice, and so does what
     *     may have been kept for the user after a stop
     */
    private long used(Owner owner, LocalDate since, Instant until, boolean atMost) {
        long from = since.atStartOfDay(ZoneId.systemDefault()).toInstant().toEpochMilli();
        Map<String, List<long[]>> whole = new HashMap<>();
        double sum = 0;
        for (Lease lease : leases()) {
            long begin = Math.max(from, lease.since().toEpochMilli());
            long to = lease.end().map(Lease.End::at).orElse(until).toEpochMilli();
            // Where the clock was set back, what was used is of a time to come.
            long end = atMost ? to : Math.min(until.toEpochMilli(), to);
            if (!lease.claim().owner().isSameAs(owner)) {
                continue;
            }
            if (atMost) {
                sum += kept(lease, from, until);
            }
            if (end <= begin) {
                continue;
            }
            for (ClaimedGpu gpu : lease.claim().gpus()) {
                if (atMost || gpu.share().isPresent()) {
                    sum += (end - begin) * SimulatedLab.part(lease.claim().share());
                } else {
                    whole.computeIfAbsent(gpu.uuid(), _ -> new ArrayList<>())
                            .add(new long[] {begin, end});
                }
            }
        }
        return Math.round(sum) + whole.values().stream().mapToLong(SimulatedLimits::covered).sum();
    }

    /** The milliseconds for which the GPUs of a lease may have been kept after its end. */
    private long kept(Lease lease, long from, Instant until) {
        Optional<Duration> hold = world.lab.policy().holdAfterStop();
        if (hold.isEmpty() || lease.end().isEmpty() || !SimulatedLab.keepsItsGpus(lease)) {
            return 0;
        }
        long end = lease.end().get().at().toEpochMilli();
        long kept =
                Math.min(
                        hold.get().toMillis(),
                        Math.min(until.toEpochMilli() - end, end + hold.get().toMillis() - from));
        return Math.max(0, kept) * lease.claim().gpus().size();
    }

    private static long covered(List<long[]> periods) {
        periods.sort(Comparator.comparingLong(period -> period[0]));
        long covered = 0;
        long end = Long.MIN_VALUE;
        for (long[] period : periods) {
            covered += Math.max(0, period[1] - Math.max(end, period[0]));
            end = Math.max(end, period[1]);
        }
        return covered;
    }

    /** The leases that a user has or had. */
    List<Lease> leases(Owner owner) {
        return leases().stream().filter(it -> it.claim().owner().isSameAs(owner)).toList();
    }

    private List<Lease> leases() {
        try {
            List<Lease> all = new ArrayList<>(world.daemon.parts().registry().live());
            all.addAll(world.daemon.parts().registry().history().past(Long.MAX_VALUE, 1000));
            return all;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
