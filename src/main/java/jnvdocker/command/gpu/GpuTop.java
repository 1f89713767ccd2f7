package jnvdocker.command.gpu;

import jnvdocker.core.Leases;
import jnvdocker.core.Leases.GpuProcess;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.function.Function;

@Command(
        name = GpuTop.NAME,
        aliases = GpuTop.ALIAS,
        description = {
            "Show the GPUs and the processes that use them, refreshed until Ctrl-C.",
            "UTIL and MEM of a process are the driver's figures for it; AGE is how long it has been"
                    + " running. Without a terminal, and without --watch, print once."
        })
final class GpuTop implements Callable<Integer>, Watch.Repeated {
    static final String NAME = "top";
    static final String ALIAS = "usage";

    private static final Duration USUAL = Duration.ofSeconds(2);

    private final GpuView view;
    private final Leases leases;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Option(names = "--no-stream", description = "Print once, even on a terminal.")
    private boolean once;

    @Mixin private final Watch watch = new Watch();

    GpuTop(GpuView view, Screen screen) {
        this.view = view;
        this.leases = view.leases();
        this.screen = screen;
    }

    @Override
    public Optional<Duration> interval() {
        if (once) {
            return Optional.empty();
        }
        return watch.interval()
                .or(() -> screen.isTerminal() && !json ? Optional.of(USUAL) : Optional.empty());
    }

    @Override
    public Integer call() throws IOException {
        Leases.Activity activity = leases.activity(view.gpus());
        GpuNotes notes = view.notes();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(TopJson.of(activity, notes)));
        } else {
            Shares shares = new Shares(activity.processes(), it -> memory(it, notes));
            List<GpuStatus> gpus =
                    notes.on(activity.gpus()).stream().map(shares::noteExcess).toList();
            GpuLs.table(gpus, leases.tenures(GpuLs.held(gpus)), notes, shares::text)
                    .lines(screen)
                    .forEach(out::println);
            out.println();
            lines(activity.processes(), notes, screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    private static OptionalLong memory(GpuProcess process, GpuNotes notes) {
        return notes.process(process)
                .map(GpuFigures.GpuProcess::memory)
                .orElse(OptionalLong.empty());
    }

    /**
     * The use of shares.
     *
     * @param memory of a process, in bytes; empty where NVML does not report it
     */
    record Shares(List<GpuProcess> processes, Function<GpuProcess, OptionalLong> memory) {
        /** Returns {@code 8.1/9.3 GiB}, used and promised; {@code 10G} if the use is not known. */
        String text(GpuStatus status) {
            OptionalLong used = used(status);
            return used.isPresent()
                    ? FigureText.used(used.getAsLong(), promised(status))
                    : GpuLs.share(status);
        }

        GpuStatus noteExcess(GpuStatus status) {
            return noted(status).beside(status.others().stream().map(this::noted).toList());
        }

        private GpuStatus noted(GpuStatus status) {
            return status.share().isPresent() && used(status).orElse(0) > promised(status)
                    ? status.noting("uses more than its share")
                    : status;
        }

        private static long promised(GpuStatus status) {
            return status.share().orElseThrow().amount().bytes();
        }

        /** Empty where NVML reports the memory of none of its processes. */
        private OptionalLong used(GpuStatus status) {
            return processes.stream()
                    .filter(it -> it.use().gpu().equals(status.gpu()))
                    .filter(it -> it.lease().equals(status.lease()))
                    .flatMapToLong(it -> memory.apply(it).stream())
                    .reduce(Long::sum);
        }
    }

    static List<String> lines(List<GpuProcess> processes, GpuNotes notes, Screen screen) {
        if (processes.isEmpty()) {
            return List.of("no process uses a GPU");
        }
        TextTable table =
                new TextTable(
                        Column.of("GPU"),
                        Column.of("PID"),
                        Column.of("USER"),
                        new Column("CONTAINER", Column.Cut.LAST),
                        new Column("COMMAND", Column.Cut.NEXT),
                        Column.of("UTIL"),
                        Column.of("MEM"),
                        Column.of("AGE"));
        Comparator<GpuProcess> byGpu = Comparator.comparing(it -> it.use().gpu(), Gpu.ORDER);
        for (GpuProcess process : processes.stream().sorted(byGpu).toList()) {
            GpuUse.User user = process.use().process().orElseThrow();
            Optional<GpuFigures.GpuProcess> figures = notes.process(process);
            table.row(
                    process.use().gpu().number(),
                    user.id().pid(),
                    process.lease().map(Holding::user).orElseGet(() -> Holding.user(process.use())),
                    process.lease()
                            .map(Holding::container)
                            .orElseGet(() -> container(process.use())),
                    Quote.shown(user.name()),
                    FigureText.utilization(figures),
                    FigureText.memory(figures),
                    Span.between(since(user.id()), Instant.now()));
        }
        return table.lines(screen);
    }

    private static String container(GpuUse use) {
        return LeaseText.containerId(use).isPresent() ? LeaseText.name(use) : "-";
    }

    static Instant since(ProcessId process) {
        return process.since(Instant.now().minus(Posix.timeSinceBoot()));
    }
}
