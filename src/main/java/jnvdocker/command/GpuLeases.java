package jnvdocker.command;

import com.fasterxml.jackson.databind.node.ArrayNode;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Leases;
import jnvdocker.protocol.ExitCode;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;

@Command(
        name = "leases",
        description = {
            "Lists the leases that GPUs are held under, the latest first.",
            "GPUS are the indices that they had when they were claimed."
        })
final class GpuLeases implements Callable<Integer> {
    private static final String LIMIT = "--limit";
    private static final int MAX = 100_000;

    private final Leases leases;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(
            names = "--all",
            description = "List those that have ended, too, with the evidence of their end.")
    private boolean all;

    @Option(
            names = {"-n", LIMIT},
            paramLabel = "N",
            defaultValue = "20",
            description = "With --all: at most so many that have ended (${DEFAULT-VALUE}).")
    private int limit;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    GpuLeases(Leases leases, Screen screen) {
        this.leases = leases;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException {
        checkLimit();
        List<Lease> live = leases.live().reversed();
        List<Lease> past = all ? leases.past(limit) : List.of();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            ArrayNode list = LeaseJson.array();
            live.forEach(lease -> list.add(LeaseJson.live(lease, leases.state(lease))));
            past.forEach(lease -> list.add(LeaseJson.past(lease)));
            out.println(watch.json(list));
        } else {
            Instant now = Instant.now();
            LeaseTable table = all ? LeaseTable.withEnds(now) : LeaseTable.ofLive(now);
            live.forEach(lease -> table.live(lease, leases.state(lease)));
            past.forEach(table::past);
            table.lines(screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    private void checkLimit() {
        boolean typed = spec.commandLine().getParseResult().hasMatchedOption(LIMIT);
        if (typed && !all) {
            throw new ParameterException(
                    spec.commandLine(), LIMIT + " is about leases that have ended; add --all");
        }
        if (limit < 0 || limit > MAX) {
            throw new ParameterException(
                    spec.commandLine(), LIMIT + " " + limit + " is not between 0 and " + MAX);
        }
    }
}
