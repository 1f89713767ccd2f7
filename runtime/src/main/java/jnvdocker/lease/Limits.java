package jnvdocker.lease;

import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The limits of users. Of each kind the first rule that fits a user counts, whatever the others
 * say.
 *
 * @param gpus how many GPUs at a time
 * @param perDay GPU-hours in a calendar day of the host
 * @param perWeek GPU-hours in a week, which begins on Monday
 * @param hold how long a lease may last before it is overdue
 * @param waits how long a request may wait
 * @param idle how long a holder may leave its GPUs idle before it is stopped
 * @param allowed ids of the only GPUs, as {@code --gpus} spells them
 * @param priority of requests: those with a higher one come first in the queue; 0 without a rule
 */
public record Limits(
        List<Rule<Integer>> gpus,
        List<Rule<Duration>> perDay,
        List<Rule<Duration>> perWeek,
        List<Rule<Duration>> hold,
        List<Rule<Duration>> waits,
        List<Rule<Duration>> idle,
        List<Rule<List<String>>> allowed,
        List<Rule<Integer>> priority) {
    public static final Limits NONE =
            new Limits(
                    List.of(), List.of(), List.of(), List.of(), List.of(), List.of(), List.of(),
                    List.of());

    public Limits {
        gpus = List.copyOf(gpus);
        perDay = List.copyOf(perDay);
        perWeek = List.copyOf(perWeek);
        hold = List.copyOf(hold);
        waits = List.copyOf(waits);
        idle = List.copyOf(idle);
        allowed = List.copyOf(allowed);
        priority = List.copyOf(priority);
    }

    /** All that rules are for, each once. */
    public List<Subject> subjects() {
        return all().<Subject>map(Rule::subject).distinct().toList();
    }

    /** The groups of the host that rules are for, in the order of the rules. */
    public Set<String> groups() {
        return subjects().stream()
                .filter(subject -> subject.kind() == Subject.Kind.GROUP)
                .map(Subject::name)
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private Stream<Rule<?>> all() {
        return Stream.of(gpus, perDay, perWeek, hold, waits, idle, allowed, priority)
                .flatMap(List::stream);
    }

    /**
     * The rules that count for an owner.
     *
     * @param groups the names of the owner's groups
     */
    public Allowance of(Owner owner, Set<String> groups) {
        return new Allowance(
                first(gpus, owner, groups),
                first(perDay, owner, groups),
                first(perWeek, owner, groups),
                first(hold, owner, groups),
                first(waits, owner, groups),
                first(idle, owner, groups),
                first(allowed, owner, groups),
                first(priority, owner, groups),
                true,
                Optional.empty());
    }

    private static <T> Optional<Rule<T>> first(
            List<Rule<T>> rules, Owner owner, Set<String> groups) {
        return rules.stream()
                .filter(rule -> rule.subject().fits(owner, groups))
                .findFirst()
                .filter(rule -> rule.value().isPresent());
    }
}
