package jnvdocker.command.gpu;

import jnvdocker.command.caller.Caller;
import jnvdocker.core.Leases;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.Rule;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.Owners;
import jnvdocker.lease.text.QuotaText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.supply.Standing;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

@Command(
        name = "limits",
        description = {
            "Show how many GPUs a user may have, for how long, and how much of that is used.",
            "RULE is the key of the configuration that sets the limit, with its file and line."
        })
final class GpuLimits implements Callable<Integer> {
    private static final double HOUR_MILLIS = 3_600_000;

    private final Leases leases;
    private final ClientRequest request;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "USER",
            arity = "0..1",
            description = "A user's name or uid; without it, the user who runs the command.")
    private String user;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    GpuLimits(Leases leases, ClientRequest request, Screen screen) {
        this.leases = leases;
        this.request = request;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        Owner owner = user == null ? Caller.owner(request) : named(user);
        Standing standing = leases.standing(owner);
        if (!standing.allowance().isKnown()) {
            Quota.Unsure unsure = new Quota.Unsure(owner);
            throw new RefusedException(QuotaText.why(unsure), QuotaText.remedy(unsure));
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(Json.text(new Document(owner, limits(standing))));
        } else {
            lines(owner, limits(standing), screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    private static Owner named(String user) throws RefusedException {
        Owner owner =
                user.matches("[0-9]{1,10}")
                        ? Owners.of((int) Long.parseLong(user))
                        : Owners.named(user);
        if (owner.uid() == Owner.UNKNOWN.uid()) {
            throw new RefusedException(
                    "this host knows no user " + Quote.quoted(user), "give a user's name or uid");
        }
        return owner;
    }

    /** A limit, as {@code --json} prints it: durations in seconds. */
    record Limit(
            String limit, Long max, List<String> gpus, Double used, String until, String rule) {
        private static Limit of(String limit, Rule<?> rule, Long max) {
            return new Limit(limit, max, null, null, null, rule.key());
        }

        private static Limit hours(String limit, Rule<Duration> rule, Standing.Hours hours) {
            return new Limit(
                    limit,
                    rule.limit().toHours(),
                    null,
                    hours.used().toMillis() / HOUR_MILLIS,
                    hours.until().toString(),
                    rule.key());
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
        var allowance = standing.allowance();
        return Stream.of(
                        allowance
                                .gpus()
                                .map(rule ->
                                        new Limit(
                                                "gpus",
                                                (long) rule.limit(),
                                                null,
                                                standing.gpus(),
                                                null,
                                                rule.key())),
                        allowance
                                .perDay()
                                .map(rule -> Limit.hours("hours_per_day", rule, standing.day())),
                        allowance
                                .perWeek()
                                .map(rule -> Limit.hours("hours_per_week", rule, standing.week())),
                        allowance
                                .hold()
                                .map(rule -> Limit.of("max_hold", rule, rule.limit().toSeconds())),
                        allowance
                                .waits()
                                .map(rule -> Limit.of("max_wait", rule, rule.limit().toSeconds())),
                        allowance
                                .idle()
                                .map(rule -> Limit.of("idle_stop", rule, rule.limit().toSeconds())),
                        allowance
                                .allowed()
                                .map(rule ->
                                        new Limit(
                                                "allowed",
                                                null,
                                                rule.limit(),
                                                null,
                                                null,
                                                rule.key())),
                        allowance
                                .priority()
                                .map(rule -> Limit.of("priority", rule, (long) rule.limit())))
                .flatMap(Optional::stream)
                .toList();
    }

    private static List<String> lines(Owner owner, List<Limit> limits, Screen screen) {
        if (limits.isEmpty()) {
            return List.of("no limit applies to " + Quote.shown(owner.name()));
        }
        TextTable table =
                new TextTable(
                        Column.of("LIMIT"),
                        Column.of("MAX"),
                        Column.of("USED"),
                        Column.of("UNTIL"),
                        Column.note("RULE"));
        for (Limit limit : limits) {
            table.row(
                    limit.limit(),
                    limit.shown(),
                    limit.shownUse(),
                    limit.until() == null ? "-" : LeaseText.time(Instant.parse(limit.until())),
                    limit.rule());
        }
        return table.lines(screen);
    }
}
