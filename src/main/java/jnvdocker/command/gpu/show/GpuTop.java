package jnvdocker.command.gpu.show;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.gpu.view.FigureText;
import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.Watch;
import jnvdocker.command.gpu.view.WatchedCommand;
import jnvdocker.core.Leases;
import jnvdocker.core.Leases.GpuProcess;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.posix.Posix;
import jnvdocker.posix.ProcessId;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

@Command(
        name = Watch.TOP,
        aliases = Watch.USAGE,
        description = {
            "Show the GPUs and the processes that use them, refreshed until Ctrl-C.",
            "UTIL and MEM of a process are the driver's figures for it; AGE is how long it has been"
                    + " running. Without a terminal, and without --watch, print once."
        })
public final class GpuTop extends WatchedCommand {
    private static final Duration USUAL = Duration.ofSeconds(2);

    private final GpuView view;

    @Option(names = "--no-stream", description = "Print once, even on a terminal.")
    private boolean once;

    public GpuTop(GpuView view, Screen screen) {
        super(screen);
        this.view = view;
    }

    @Override
    protected Optional<Duration> interval() {
        if (once) {
            return Optional.empty();
        }
        return super.interval()
                .or(() ->
                        screen().isTerminal() && !isJson() ? Optional.of(USUAL) : Optional.empty());
    }

    @Override
    protected Shown show() throws IOException {
        Leases.Activity activity = view.leases().activity(view.gpus());
        GpuNotes notes = view.notes();
        List<GpuStatus> gpus = notes.on(activity.gpus());
        Map<Long, Tenure> tenures = view.leases().tenures(GpuLs.held(gpus));
        return new Activity(gpus, activity.processes(), tenures, notes);
    }

    /** The GPUs, and the processes that have them open. */
    private record Activity(
            List<GpuStatus> gpus,
            List<GpuProcess> processes,
            Map<Long, Tenure> tenures,
            GpuNotes notes)
            implements Shown {
        @Override
        public Object document() {
            return gpus.stream().map(this::json).toList();
        }

        private Used json(GpuStatus gpu) {
            List<ProcessJson> its =
                    processes.stream()
                            .filter(it -> it.use().gpu().equals(gpu.gpu()))
                            .map(it -> ProcessJson.of(it, notes))
                            .toList();
            return new Used(GpuJson.of(gpu, notes), its);
        }

        @Override
        public List<String> lines(Screen screen) {
            Shares shares = new Shares(processes, it -> memory(it, notes));
            List<String> lines =
                    new ArrayList<>(
                            GpuLs.table(
                                    gpus.stream().map(shares::noteExcess).toList(),
                                    tenures,
                                    notes,
                                    shares::text,
                                    screen));
            lines.add("");
            lines.addAll(GpuTop.lines(processes, notes, screen));
            return lines;
        }
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

    private static List<String> lines(List<GpuProcess> processes, GpuNotes notes, Screen screen) {
        List<Column<GpuProcess>> columns =
                List.of(
                        Column.of("GPU", it -> it.use().gpu().number()),
                        Column.of("PID", it -> user(it).id().pid()),
                        Column.of(
                                "USER",
                                it ->
                                        it.lease()
                                                .map(Holding::user)
                                                .orElseGet(() -> Holding.user(it.use()))),
                        new Column<>(
                                "CONTAINER",
                                Column.Cut.LAST,
                                it ->
                                        it.lease()
                                                .map(HolderName::shown)
                                                .orElseGet(() -> container(it.use()))),
                        new Column<>(
                                "COMMAND", Column.Cut.NEXT, it -> Quote.shown(user(it).name())),
                        Column.of("UTIL", it -> FigureText.utilization(notes.process(it))),
                        Column.of("MEM", it -> FigureText.memory(notes.process(it))),
                        Column.of("AGE", it -> Span.between(since(user(it).id()), Instant.now())));
        Comparator<GpuProcess> byGpu = Comparator.comparing(it -> it.use().gpu(), Gpu.ORDER);
        return processes.isEmpty()
                ? List.of("no process uses a GPU")
                : new TextTable<>(columns).lines(processes.stream().sorted(byGpu).toList(), screen);
    }

    private static GpuUse.User user(GpuProcess process) {
        return process.use().process().orElseThrow();
    }

    private static String container(GpuUse use) {
        return LeaseText.containerId(use).isPresent() ? LeaseText.name(use) : "-";
    }

    static Instant since(ProcessId process) {
        return process.since(Instant.now().minus(Posix.timeSinceBoot()));
    }

    /** A GPU and the processes that have it open, as {@code --json} prints them. */
    private record Used(@JsonUnwrapped GpuJson gpu, List<ProcessJson> processes) {}

    /** In percent and bytes; null for what the driver does not report. */
    private record ProcessJson(
            int pid,
            String command,
            String user,
            Long uid,
            Long lease,
            String containerId,
            String containerName,
            Integer utilization,
            Long memory,
            String since) {

        private static ProcessJson of(GpuProcess process, GpuNotes notes) {
            GpuUse.User user = GpuTop.user(process);
            Optional<GpuFigures.GpuProcess> figures = notes.process(process);
            HolderJson holder =
                    process.lease()
                            .map(HolderJson::of)
                            .orElseGet(() -> HolderJson.of(process.use()));
            return new ProcessJson(
                    user.id().pid(),
                    user.name(),
                    holder.user(),
                    holder.uid(),
                    process.lease().map(Lease::id).orElse(null),
                    holder.containerId(),
                    holder.containerName(),
                    figures.map(it -> GpuJson.boxed(it.utilization())).orElse(null),
                    figures.map(it -> GpuJson.boxed(it.memory())).orElse(null),
                    GpuTop.since(user.id()).truncatedTo(ChronoUnit.SECONDS).toString());
        }
    }
}
