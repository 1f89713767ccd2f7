package jnvdocker.daemon;

import jnvdocker.config.ConfigFile;
import jnvdocker.config.ConfigValues;
import jnvdocker.config.StartException;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.Span;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The limits of users in the configuration: that of unknown users, those of the table {@code
 * [limits]}, in order, and that of namespaces.
 */
final class ConfiguredLimits {
    /** The value that lifts a limit. */
    private static final String ANY = "any";

    private static final Span.Limits WAITS = new Span.Limits(Duration.ofMinutes(1), Span.LONGEST);
    private static final Span.Limits HOLDS = new Span.Limits(Duration.ofSeconds(1), Span.LONGEST);
    private static final Span.Limits IDLES = new Span.Limits(Duration.ofMinutes(10), Span.LONGEST);
    private static final int HIGHEST = 100;
    private static final String LEAVE_OUT = "or leave the key out";

    private final List<Rule<Integer>> gpus = new ArrayList<>();
    private final List<Rule<Duration>> perDay = new ArrayList<>();
    private final List<Rule<Duration>> perWeek = new ArrayList<>();
    private final List<Rule<Duration>> hold = new ArrayList<>();
    private final List<Rule<Duration>> wait = new ArrayList<>();
    private final List<Rule<Duration>> idle = new ArrayList<>();
    private final List<Rule<List<String>>> allowed = new ArrayList<>();
    private final List<Rule<Integer>> priority = new ArrayList<>();

    private ConfiguredLimits() {}

    static Limits read(ConfigFile written) throws StartException {
        ConfiguredLimits limits = new ConfiguredLimits();
        // No other rule applies to unknown users.
        limits.number(
                written.at("max_gpus_unknown"),
                Subject.UNKNOWN,
                "how many GPUs containers of unknown users may have in all",
                ", for that of each user");
        ConfigFile table = written.in("limits");
        for (String name : table.keys()) {
            ConfigFile its = table.in(name);
            refuseWithoutEffect(name, table.at(name), its);
            limits.add(Subject.parse(name), its);
        }
        limits.number(
                written.at("max_gpus_per_namespace"),
                Subject.NAMESPACES,
                "how many GPUs the pods of a namespace may have in all",
                "");
        return new Limits(
                limits.gpus,
                limits.perDay,
                limits.perWeek,
                limits.hold,
                limits.wait,
                limits.idle,
                limits.allowed,
                limits.priority);
    }

    private static void refuseWithoutEffect(String name, ConfigFile.Entry entry, ConfigFile its)
            throws StartException {
        if (name.isBlank() || name.equals("@")) {
            throw entry.refusal("names nobody", "write a user's name or uid, @group or *");
        }
        Optional<String> other =
                name.startsWith(Owner.NAMESPACE)
                        ? its.keys().stream().filter(key -> !key.equals("gpus")).findFirst()
                        : Optional.empty();
        if (other.isPresent()) {
            throw its.at(other.get())
                    .refusal("has no effect for a namespace", "leave it out: pods have gpus only");
        }
    }

    private void number(ConfigFile.Entry entry, Subject subject, String what, String otherwise)
            throws StartException {
        ConfigValues.oneOrMore(entry, what, otherwise)
                .ifPresent(it -> gpus.add(rule(subject, Optional.of(it), entry)));
    }

    private void add(Subject subject, ConfigFile its) throws StartException {
        add(gpus, subject, its.at("gpus"), entry -> number(entry, 0));
        add(perDay, subject, its.at("hours_per_day"), ConfiguredLimits::hours);
        add(perWeek, subject, its.at("hours_per_week"), ConfiguredLimits::hours);
        add(hold, subject, its.at("max_hold"), entry -> ConfigValues.span(entry, HOLDS, LEAVE_OUT));
        add(wait, subject, its.at("max_wait"), entry -> ConfigValues.span(entry, WAITS, LEAVE_OUT));
        add(
                idle,
                subject,
                its.at("idle_stop"),
                entry -> ConfigValues.span(entry, IDLES, LEAVE_OUT));
        add(
                allowed,
                subject,
                its.at("allowed"),
                entry -> Optional.of(ConfigValues.gpuIds(entry)).filter(ids -> !ids.isEmpty()));
        add(priority, subject, its.at("priority"), ConfiguredLimits::priority);
    }

    private interface Reader<T> {
        Optional<T> read(ConfigFile.Entry entry) throws StartException;
    }

    private static <T> void add(
            List<Rule<T>> rules, Subject subject, ConfigFile.Entry entry, Reader<T> reader)
            throws StartException {
        if (entry.is(ANY)) {
            rules.add(rule(subject, Optional.empty(), entry));
        } else {
            Optional<T> value = reader.read(entry);
            if (value.isPresent()) {
                rules.add(rule(subject, value, entry));
            }
        }
    }

    private static <T> Rule<T> rule(Subject subject, Optional<T> value, ConfigFile.Entry entry) {
        return new Rule<>(subject, value, entry.key(), entry.place());
    }

    private static Optional<Duration> hours(ConfigFile.Entry entry) throws StartException {
        return number(entry, 1).map(Duration::ofHours);
    }

    private static Optional<Integer> priority(ConfigFile.Entry entry) throws StartException {
        OptionalInt number = entry.number();
        if (number.isPresent() && Math.abs(number.getAsInt()) > HIGHEST) {
            throw entry.refusal(
                    Refusal.of(
                            "%s is no priority: write a number from -%s to %s"
                                    .formatted(number.getAsInt(), HIGHEST, HIGHEST)),
                    null);
        }
        return number.stream().boxed().findAny();
    }

    private static Optional<Integer> number(ConfigFile.Entry entry, int least)
            throws StartException {
        OptionalInt number = entry.number();
        if (number.isPresent() && number.getAsInt() < least) {
            throw entry.refusal(
                    Refusal.of(
                            "%s is too few: write %s or more, or %s"
                                    .formatted(number.getAsInt(), least, Quote.quoted(ANY))),
                    null);
        }
        return number.stream().boxed().findAny();
    }
}
