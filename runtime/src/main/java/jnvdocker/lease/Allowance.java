package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.request.GpuResolver;

import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * What one owner may have: of each kind of limit the rule that counts, empty if there is none.
 *
 * @param isKnown false when the host has not resolved the owner's groups, on which the rules depend
 * @param spent the GPU-hours that are used up
 */
public record Allowance(
        Optional<Rule<Integer>> gpus,
        Optional<Rule<Duration>> perDay,
        Optional<Rule<Duration>> perWeek,
        Optional<Rule<Duration>> hold,
        Optional<Rule<Duration>> waits,
        Optional<Rule<Duration>> idle,
        Optional<Rule<List<String>>> allowed,
        Optional<Rule<Integer>> priority,
        boolean isKnown,
        Optional<Spent> spent) {
    /** The allowance of an owner with unknown groups: nothing, until they are known. */
    public static final Allowance UNKNOWN =
            new Allowance(
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    false,
                    Optional.empty());

    /**
     * GPU-hours that are used up.
     *
     * @param day whether of a day, else of a week
     * @param until when the next day or week begins
     */
    public record Spent(Rule<Duration> rule, boolean day, Instant until) {}

    /** Whether the owner's past use matters. */
    public boolean countsHours() {
        return perDay.isPresent() || perWeek.isPresent();
    }

    /** A copy that knows what is used up. */
    public Allowance with(Optional<Spent> used) {
        return new Allowance(
                gpus, perDay, perWeek, hold, waits, idle, allowed, priority, isKnown, used);
    }

    /** Whether the owner may have a GPU, regardless of its present holder. */
    public boolean allows(Gpu gpu) {
        return allowed.isEmpty()
                || allowed.get().limit().stream().anyMatch(id -> GpuResolver.covers(id, gpu));
    }

    /**
     * How long a lease may last.
     *
     * @param wanted by its user
     */
    public Optional<Duration> time(Optional<Duration> wanted) {
        return Stream.concat(wanted.stream(), hold.map(Rule::limit).stream())
                .min(Comparator.naturalOrder());
    }

    /** The place of the owner's requests in the queue: a higher number comes first. */
    public int rank() {
        return priority.map(Rule::limit).orElse(0);
    }

    /** How many GPUs at a time. */
    int most() {
        return gpus.map(Rule::limit).orElse(Integer.MAX_VALUE);
    }
}
