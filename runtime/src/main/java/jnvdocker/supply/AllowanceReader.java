package jnvdocker.supply;

import jnvdocker.holder.Pace;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Allowances;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.time.DayOfWeek;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.temporal.TemporalAdjusters;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Finds out what users may have: the groups that they are in, from the host's user database, and
 * the GPU-hours that they have used, from the registry. Both are done before a choice is made.
 */
public final class AllowanceReader {
    /** A queue is checked every second, and a sum of a week's leases takes a while. */
    private static final Duration USE_KNOWN = Duration.ofSeconds(2);

    private final LeaseRegistry registry;
    private final Groups groups;
    private final Pace pace;
    private volatile Optional<Use> day = Optional.empty();
    private volatile Optional<Use> week = Optional.empty();

    public AllowanceReader(LeaseRegistry registry, Groups groups, Pace pace) {
        this.registry = registry;
        this.groups = groups;
        this.pace = pace;
    }

    /** The groups of the host's users. */
    @FunctionalInterface
    public interface Groups {
        /** Those that its database reports; earlier answers are remembered. */
        Groups OF_THIS_HOST = HostNames.ofThisHost()::groupsOf;

        /**
         * Returns those of some groups that a user is in, at once or within a given time.
         *
         * @throws NoAnswerException when they are not known in that time
         */
        Set<String> of(int uid, Set<String> among, Duration patience) throws NoAnswerException;
    }

    /** The use of GPUs since a moment, as of another, with those that were kept after a stop. */
    private record Use(Instant from, Optional<Duration> afterStop, GpuTime time, long asOf) {}

    /** A calendar day or week of the host. */
    private record Window(Instant from, Instant until) {
        static Window day(Instant now) {
            LocalDate today = LocalDate.ofInstant(now, ZoneId.systemDefault());
            return new Window(start(today), start(today.plusDays(1)));
        }

        static Window week(Instant now) {
            LocalDate monday =
                    LocalDate.ofInstant(now, ZoneId.systemDefault())
                            .with(TemporalAdjusters.previousOrSame(DayOfWeek.MONDAY));
            return new Window(start(monday), start(monday.plusWeeks(1)));
        }

        private static Instant start(LocalDate day) {
            return day.atStartOfDay(ZoneId.systemDefault()).toInstant();
        }
    }

    /** Waits until the host has resolved a user's groups, if limits depend on them. */
    public void learn(Limits limits, Owner owner, Duration patience) {
        try {
            groups(limits, owner, patience);
        } catch (NoAnswerException e) {
            // The choice refuses.
        }
    }

    /** Returns the allowances of these owners, as far as they are known at once. */
    public Allowances of(LeasePolicy rules, Collection<Owner> owners) throws IOException {
        Map<Owner, Allowance> known = new HashMap<>();
        for (Owner owner : Set.copyOf(owners)) {
            known.put(owner, of(rules, owner));
        }
        return new Allowances(rules.limits(), known);
    }

    /** The owners of the containers that have stopped and whose GPUs nobody else had since. */
    List<Owner> ofStopped() throws IOException {
        return registry.holdings().stopped().values().stream()
                .map(Holdings.Stopped::owner)
                .distinct()
                .toList();
    }

    private Allowance of(LeasePolicy rules, Owner owner) throws IOException {
        Allowance allowance = rules(rules.limits(), owner);
        Optional<Allowance.Spent> spent = spent(rules, allowance.perWeek(), owner, false);
        return allowance.with(
                spent.isPresent() ? spent : spent(rules, allowance.perDay(), owner, true));
    }

    /** The rules that count for an owner, whatever is used up, as far as they are known at once. */
    Allowance rules(Limits limits, Owner owner) {
        try {
            return limits.of(owner, groups(limits, owner, Duration.ZERO));
        } catch (NoAnswerException e) {
            return Allowance.UNKNOWN;
        }
    }

    private Set<String> groups(Limits limits, Owner owner, Duration patience)
            throws NoAnswerException {
        Set<String> among = limits.groups();
        return among.isEmpty() || owner.uid() == Owner.UNKNOWN.uid()
                ? Set.of()
                : groups.of(owner.uid(), among, patience);
    }

    private Optional<Allowance.Spent> spent(
            LeasePolicy rules, Optional<Rule<Duration>> rule, Owner owner, boolean ofDay)
            throws IOException {
        if (rule.isEmpty()) {
            return Optional.empty();
        }
        Standing.Hours hours = hours(rules, owner, ofDay);
        return hours.used().compareTo(rule.get().limit()) < 0
                ? Optional.empty()
                : Optional.of(new Allowance.Spent(rule.get(), ofDay, hours.until()));
    }

    /** The GPU-hours that an owner has used in this day, else in this week. */
    Standing.Hours hours(LeasePolicy rules, Owner owner, boolean ofDay) throws IOException {
        Instant now = registry.now();
        Window window = ofDay ? Window.day(now) : Window.week(now);
        return new Standing.Hours(
                used(rules.holdAfterStop(), owner, window, ofDay), window.until());
    }

    private Duration used(Optional<Duration> afterStop, Owner owner, Window window, boolean ofDay)
            throws IOException {
        Optional<Use> known =
                (ofDay ? day : week)
                        .filter(use -> use.from().equals(window.from()))
                        .filter(use -> use.afterStop().equals(afterStop))
                        .filter(use -> pace.nanos() - use.asOf() < USE_KNOWN.toNanos());
        if (known.isPresent()) {
            return known.get().time().of(owner);
        }
        GpuTime time = registry.history().gpuTimeWithKept(window.from(), afterStop);
        Optional<Use> read = Optional.of(new Use(window.from(), afterStop, time, pace.nanos()));
        if (ofDay) {
            day = read;
        } else {
            week = read;
        }
        return time.of(owner);
    }
}
