package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.caller.SpanOption;
import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleHolders;
import jnvdocker.idle.IdleText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.Callable;

@Command(
        name = "idle",
        description = {
            "List the GPUs that are held and not used, the longest idle first.",
            "A GPU is idle while no process has it open, or while the driver says that its"
                    + " utilization is 0. MEM is the memory that processes hold meanwhile, HELD"
                    + " the age of the lease."
        })
final class GpuIdle implements Callable<Integer> {
    private static final Span.Limits LIMITS = new Span.Limits(Duration.ofSeconds(1), Span.LONGEST);

    private final IdleHolders idle;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(
            names = "--for",
            paramLabel = "DURATION",
            defaultValue = "5m",
            converter = Least.class,
            description = "List those that have been idle for at least so long (${DEFAULT-VALUE}).")
    private Duration least;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    static final class Least extends SpanOption {
        Least() {
            super(LIMITS);
        }
    }

    GpuIdle(IdleHolders idle, Screen screen) {
        this.idle = idle;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        List<IdleHolder> holders = idle.idle(least);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(holders.stream().map(Entry::of).toList()));
        } else {
            lines(holders, least, Instant.now(), screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    static List<String> lines(
            List<IdleHolder> holders, Duration least, Instant now, Screen screen) {
        if (holders.isEmpty()) {
            return List.of("no GPU that is held has been idle for " + Span.spelled(least));
        }
        TextTable table =
                new TextTable(
                        Column.of("GPU"),
                        Column.of("USER"),
                        new Column("CONTAINER", Column.Cut.LAST),
                        Column.of("IDLE"),
                        Column.of("SINCE"),
                        Column.of("MEM"),
                        Column.of("HELD"),
                        Column.note("NOTE"));
        for (IdleHolder holder : holders) {
            table.row(
                    holder.gpu().number(),
                    Holding.user(holder.lease()),
                    Holding.container(holder.lease()),
                    Span.text(holder.time(now)),
                    LeaseText.time(holder.since()),
                    memory(holder.memory()),
                    Span.between(holder.lease().since(), now),
                    note(holder));
        }
        return table.lines(screen);
    }

    private static String memory(OptionalLong bytes) {
        return bytes.isPresent() ? IdleText.gib(bytes.getAsLong()) : "-";
    }

    private static String note(IdleHolder holder) {
        String source =
                switch (holder.source()) {
                    case NODES -> "no process has it open";
                    case NVML -> "utilization 0";
                };
        return source + (holder.atLeast() ? ", not watched before" : "");
    }

    /** An idle GPU, as {@code --json} prints it. */
    record Entry(
            int index,
            String uuid,
            long lease,
            String since,
            @JsonUnwrapped HolderJson holder,
            GpuNotes.IdleJson idle) {

        private static Entry of(IdleHolder holder) {
            return new Entry(
                    holder.gpu().index(),
                    holder.gpu().uuid(),
                    holder.lease().id(),
                    holder.lease().since().toString(),
                    HolderJson.of(holder.lease()),
                    GpuNotes.IdleJson.of(holder));
        }
    }
}
