package jnvdocker.command.gpu;

import jnvdocker.core.Leases;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.protocol.ExitCode;
import jnvdocker.registry.PastLeases;
import jnvdocker.screen.Json;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

@Command(
        name = "leases",
        description = {
            "List the leases, the latest first.",
            "GPUS are the indices at the time of the claim. AGE: how long the container of a live"
                    + " lease has had GPUs over all its starts, or how long an ended lease lasted."
        })
final class GpuLeases implements Callable<Integer> {
    private static final String LIMIT = "--limit";
    private static final int MAX = 100_000;

    /** The limit of a table that is shown again and again. */
    private static final int MAX_WATCHED = 1000;

    private final Leases leases;
    private final Screen screen;
    private final Printout out;

    @Spec private CommandSpec spec;

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

    GpuLeases(Leases leases, Screen screen, Printout out) {
        this.leases = leases;
        this.screen = screen;
        this.out = out;
    }

    @Override
    public Integer call() throws IOException {
        checkLimit();
        List<Lease> live = leases.live().reversed();
        try (var _ = out.reserve(PastLeases.MEMORY)) {
            LeaseTable.Ended past = ended(leases.past(all ? limit : 0), live);
            if (json) {
                printJson(live, past);
                leases.unwrittenEnd().ifPresent(spec.commandLine().getErr()::println);
            } else {
                Instant now = Instant.now();
                LeaseTable table = all ? LeaseTable.withEnds(now) : LeaseTable.ofLive(now);
                Map<Long, Tenure> tenures = leases.tenures(live);
                live.forEach(
                        lease -> table.live(lease, leases.state(lease), tenures.get(lease.id())));
                table.print(past, screen, out::println);
                Optional<String> unwritten = leases.unwrittenEnd();
                if (unwritten.isPresent()) {
                    out.println(unwritten.get());
                }
            }
        }
        return ExitCode.OK.code();
    }

    /** Leases that end while this is printed count as live. */
    static LeaseTable.Ended ended(PastLeases past, List<Lease> live) {
        Set<Long> shown = live.stream().map(Lease::id).collect(Collectors.toSet());
        return visitor ->
                past.each(lease -> {
                    if (!shown.contains(lease.id())) {
                        visitor.visit(lease);
                    }
                });
    }

    static LeaseJson.All json(List<Lease> live, LeaseTable.Ended past, Leases leases)
            throws IOException {
        Map<Long, Tenure> tenures = leases.tenures(live);
        return new LeaseJson.All(
                live.stream()
                        .map(lease ->
                                LeaseJson.live(lease, leases.state(lease), tenures.get(lease.id())))
                        .toList(),
                past);
    }

    private void printJson(List<Lease> live, LeaseTable.Ended past) throws IOException {
        Json.print(json(live, past, leases), out, watch.interval().isPresent());
        out.println("");
    }

    private void checkLimit() {
        boolean typed = spec.commandLine().getParseResult().hasMatchedOption(LIMIT);
        if (typed && !all) {
            throw new ParameterException(
                    spec.commandLine(), LIMIT + " applies to ended leases only; add --all");
        }
        int most = watch.interval().isPresent() ? MAX_WATCHED : MAX;
        if (limit < 0 || limit > most) {
            throw new ParameterException(
                    spec.commandLine(),
                    LIMIT
                            + " "
                            + limit
                            + " is not between 0 and "
                            + most
                            + (watch.interval().isPresent() ? ", as --watch needs it" : ""));
        }
    }
}
