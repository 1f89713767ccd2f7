package jnvdocker.command.gpu.history;

import jnvdocker.command.caller.CommandOutcome;
import jnvdocker.command.caller.OwnCommand;
import jnvdocker.command.gpu.view.LeaseJson;
import jnvdocker.command.gpu.view.LeaseRow;
import jnvdocker.command.gpu.view.ListedLeases;
import jnvdocker.command.gpu.view.Watch;
import jnvdocker.core.Leases;
import jnvdocker.registry.PastLeases;
import jnvdocker.screen.Json;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;
import jnvdocker.words.Quote;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

@Command(
        name = "leases",
        description = {
            "List the leases, the latest first.",
            "GPUS are the indices at the time of the claim. AGE: how long the container of a live"
                    + " lease has had GPUs over all its starts, or how long an ended lease lasted."
        })
public final class GpuLeases extends OwnCommand {
    private static final String LIMIT = "--limit";
    private static final int MAX = 100_000;

    /** The limit of a table that is shown again and again. */
    private static final int MAX_WATCHED = 1000;

    private final Leases leases;
    private final Screen screen;
    private final Printout out;

    @Option(
            names = "--all",
            description = "Also list the leases that have ended, with the evidence of their end.")
    private boolean all;

    @Option(
            names = {"-n", LIMIT},
            paramLabel = "N",
            defaultValue = "20",
            description = "With --all: list at most N ended leases (${DEFAULT-VALUE}).")
    private int limit;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    public GpuLeases(Leases leases, Screen screen, Printout out) {
        this.leases = leases;
        this.screen = screen;
        this.out = out;
    }

    @Override
    public CommandOutcome call() throws IOException {
        checkLimit();
        boolean watched = watch.interval().isPresent();
        try (var _ = out.reserve(PastLeases.MEMORY)) {
            ListedLeases rows =
                    ListedLeases.of(
                            leases.live().reversed(),
                            new PastLeases(leases.history()::past, all ? limit : 0),
                            leases);
            if (json) {
                Json.print(new LeaseJson.All(rows, leases.observers()), out, watched);
                out.println("");
                leases.unwrittenEnd().ifPresent(this::warn);
            } else {
                Instant now = Instant.now();
                (all ? LeaseRow.withEnds(now) : LeaseRow.ofLive(now))
                        .print(rows, screen, out::println);
                observers().ifPresent(this::print);
                leases.unwrittenEnd().ifPresent(this::print);
            }
        }
        return watch.interval()
                .<CommandOutcome>map(pause -> new CommandOutcome.Again(pause, json))
                .orElse(CommandOutcome.OK);
    }

    /** Names the containers that observe the GPUs, which have no lease. */
    private Optional<String> observers() {
        List<String> names = leases.observers().stream().map(it -> Quote.shown(it.name())).toList();
        return names.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        (names.size() == 1
                                        ? "1 container observes"
                                        : names.size() + " containers observe")
                                + " all GPUs without a lease: "
                                + String.join(", ", names));
    }

    private void checkLimit() {
        boolean watched = watch.interval().isPresent();
        int most = watched ? MAX_WATCHED : MAX;
        if (isTyped(LIMIT) && !all) {
            throw usage(LIMIT + " applies to ended leases only; add --all");
        }
        if (limit < 0 || limit > most) {
            throw usage(
                    "%s %d is not between 0 and %d%s"
                            .formatted(LIMIT, limit, most, watched ? ", as --watch needs it" : ""));
        }
    }
}
