package jnvdocker.command.gpu.show;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.caller.SpanOption;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.WatchedCommand;
import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleHolders;
import jnvdocker.idle.IdleText;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.screen.Column;
import jnvdocker.screen.Listing;
import jnvdocker.screen.Screen;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.OptionalLong;

@Command(
        name = "idle",
        description = {
            "List the GPUs that are held and not used, the longest idle first.",
            "A GPU is idle while no process has it open, or while the driver says that its"
                + " utilization is 0; of a shared GPU, each holder by its own processes. MEM is the"
                + " memory that processes hold meanwhile, HELD the age of the lease."
        })
public final class GpuIdle extends WatchedCommand {
    private static final Span.Limits LIMITS = new Span.Limits(Duration.ofSeconds(1), Span.LONGEST);

    private final IdleHolders idle;

    @Option(
            names = "--for",
            paramLabel = "DURATION",
            defaultValue = "5m",
            converter = Least.class,
            description = "List those that have been idle for at least so long (${DEFAULT-VALUE}).")
    private Duration least;

    static final class Least extends SpanOption {
        Least() {
            super(LIMITS);
        }
    }

    public GpuIdle(IdleHolders idle, Screen screen) {
        super(screen);
        this.idle = idle;
    }

    @Override
    protected Listing<IdleHolder> show() {
        return listing(idle.idle(least), least, Instant.now());
    }

    static Listing<IdleHolder> listing(List<IdleHolder> holders, Duration least, Instant now) {
        return new Listing<>(
                holders,
                List.of(
                        Column.of("GPU", it -> it.gpu().number()),
                        Column.of("USER", it -> Holding.user(it.lease())),
                        new Column<>(
                                "CONTAINER", Column.Cut.LAST, it -> HolderName.shown(it.lease())),
                        Column.of("IDLE", it -> Span.text(it.time(now))),
                        Column.of("SINCE", it -> LeaseText.time(it.since())),
                        Column.of("MEM", it -> memory(it.memory())),
                        Column.of("HELD", it -> Span.between(it.lease().since(), now)),
                        Column.note("NOTE", GpuIdle::note)),
                () -> holders.stream().map(Entry::of).toList(),
                "no GPU that is held has been idle for " + Span.spelled(least));
    }

    private static String memory(OptionalLong bytes) {
        return bytes.isPresent() ? IdleText.gib(bytes.getAsLong()) : "-";
    }

    private static String note(IdleHolder holder) {
        String source =
                switch (holder.source()) {
                    case NODES -> IdleText.noProcess(holder) + " has it open";
                    case NVML -> IdleText.noUse(holder);
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
