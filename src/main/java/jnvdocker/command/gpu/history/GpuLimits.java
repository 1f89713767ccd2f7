package jnvdocker.command.gpu.history;

import jnvdocker.command.caller.Caller;
import jnvdocker.command.caller.ShowCommand;
import jnvdocker.command.gpu.view.UserOption;
import jnvdocker.core.Leases;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Rule;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.supply.Standing;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

@Command(
        name = "limits",
        description = {
            "Show how many GPUs a user may have, for how long, and how much of that is used.",
            "RULE is the key of the configuration that sets the limit, with its file and line."
        })
public final class GpuLimits extends ShowCommand {
    private static final double HOUR_MILLIS = 3_600_000;

    private final Leases leases;
    private final ClientRequest request;

    @Parameters(
            paramLabel = "USER",
            arity = "0..1",
            description = "A user's name or uid; without it, the user who runs the command.")
    private String user;

    public GpuLimits(Leases leases, ClientRequest request, Screen screen) {
        super(screen);
        this.leases = leases;
        this.request = request;
    }

    @Override
    protected Listing<Limit> show() throws IOException, RefusedException {
        Owner owner = user == null ? Caller.owner(request) : UserOption.owner(user);
        Standing standing = leases.standing(owner);
        if (!standing.allowance().isKnown()) {
            Quota.Unsure unsure = new Quota.Unsure(owner);
            throw new RefusedException(QuotaText.why(unsure), QuotaText.remedy(unsure));
        }
        List<Limit> limits = limits(standing);
        return new Listing<>(
                limits,
                List.of(
                        Column.of("LIMIT", Limit::limit),
                        Column.of("MAX", Limit::shown),
                        Column.of("USED", Limit::shownUse),
                        Column.of(
                                "UNTIL",
                                it ->
                                        it.until() == null
                                                ? "-"
                                                : LeaseText.time(Instant.parse(it.until()))),
                        Column.note("RULE", Limit::rule)),
                () -> new Document(owner, limits),
                "no limit applies to " + Quote.shown(owner.name()));
    }

    /** A limit, as {@code --json} prints it: durations in seconds. */
    record Limit(
            String limit, Long max, List<String> gpus, Double used, String until, String rule) {
        private static Limit gpus(Rule<Integer> rule, double used) {
            return new Limit("gpus", (long) rule.limit(), null, used, null, shown(rule));
        }

        private static Limit span(String limit, Rule<Duration> rule) {
            return new Limit(limit, rule.limit().toSeconds(), null, null, null, shown(rule));
        }

        private static Limit allowed(Rule<List<String>> rule) {
            return new Limit("allowed", null, rule.limit(), null, null, shown(rule));
        }

        private static Limit priority(Rule<Integer> rule) {
            return new Limit("priority", (long) rule.limit(), null, null, null, shown(rule));
        }

        private static Limit hours(String limit, Rule<Duration> rule, Standing.Hours hours) {
            return new Limit(
                    limit,
                    rule.limit().toHours(),
                    null,
                    hours.used().toMillis() / HOUR_MILLIS,
                    hours.until().toString(),
                    shown(rule));
        }

        /** {@code limits.alice.gpus in /etc/jnvdocker/config.toml:12}. */
        private static String shown(Rule<?> rule) {
            return rule.key() + " in " + rule.place();
        }

        /** The greatest value, for people. */
        private String shown() {
            return switch (limit) {
                case "allowed" -> Quote.shown(Indices.typed(gpus));
                case "max_hold", "max_wait", "idle_stop" -> Span.spelled(Duration.ofSeconds(max));
                default -> max.toString();
            };
        }

        private String shownUse() {
            if (used == null) {
                return "-";
            }
            return until == null
                    ? QuotaText.number(used)
                    : String.format(Locale.ROOT, "%.1f", used);
        }
    }

    record Document(String user, long uid, List<Limit> limits) {
        Document(Owner owner, List<Limit> limits) {
            this(owner.name(), Integer.toUnsignedLong(owner.uid()), limits);
        }
    }

    private static List<Limit> limits(Standing standing) {
        Allowance allowance = standing.allowance();
        return Stream.of(
                        allowance.gpus().map(rule -> Limit.gpus(rule, standing.gpus())),
                        allowance
                                .perDay()
                                .map(rule -> Limit.hours("hours_per_day", rule, standing.day())),
                        allowance
                                .perWeek()
                                .map(rule -> Limit.hours("hours_per_week", rule, standing.week())),
                        allowance.hold().map(rule -> Limit.span("max_hold", rule)),
                        allowance.waits().map(rule -> Limit.span("max_wait", rule)),
                        allowance.idle().map(rule -> Limit.span("idle_stop", rule)),
                        allowance.allowed().map(Limit::allowed),
                        allowance.priority().map(Limit::priority))
                .flatMap(Optional::stream)
                .toList();
    }
}
