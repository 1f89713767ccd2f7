package jnvdocker.command.gpu;

import jnvdocker.command.hosts.HostAnswer;
import jnvdocker.command.hosts.HostGpus;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

@Command(
        name = "ls",
        aliases = {"list", "ps", "status"},
        description = {
            "List the GPUs, who holds them, and who uses them without a lease.",
            "AGE: how long a container has had GPUs, or a GPU has been idle."
        })
final class GpuLs implements Callable<Integer> {
    private final GpuView view;
    private final Leases leases;
    private final Screen screen;

    @Mixin private final HostQuery hosts;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    GpuLs(GpuView view, HostQuery hosts, Screen screen) {
        this.view = view;
        this.leases = view.leases();
        this.hosts = hosts;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException, RefusedException {
        if (hosts.isRequested()) {
            return ofHosts();
        }
        GpuNotes notes = view.notes();
        List<GpuStatus> gpus = notes.on(view.status());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(gpus.stream().map(gpu -> GpuJson.of(gpu, notes)).toList()));
            leases.unwrittenEnd().ifPresent(spec.commandLine().getErr()::println);
        } else {
            table(gpus, leases.tenures(held(gpus)), notes, GpuLs::share)
                    .lines(screen)
                    .forEach(out::println);
            queue(leases.waiting().size()).ifPresent(out::println);
            leases.unwrittenEnd().ifPresent(out::println);
        }
        return ExitCode.OK.code();
    }

    /** Returns 1 when a host did not answer, unless the query is repeated anyway. */
    private int ofHosts() throws IOException, RefusedException {
        List<HostAnswer> answers = hosts.run(HostGpus.COMMAND);
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(HostGpus.documents(answers)));
        } else {
            HostGpus.lines(answers, Instant.now(), screen).forEach(out::println);
        }
        return watch.interval().isPresent()
                        || answers.stream().allMatch(answer -> answer.failure().isEmpty())
                ? ExitCode.OK.code()
                : ExitCode.WRONG.code();
    }

    /** The leases that are shown. */
    static List<Lease> held(List<GpuStatus> gpus) {
        return gpus.stream()
                .flatMap(gpu -> gpu.each().stream())
                .flatMap(gpu -> gpu.lease().stream())
                .toList();
    }

    /**
     * A row for each GPU, and each share of a shared one.
     *
     * @param tenures the tenures of their leases, by number
     * @param notes whose figures are columns, if there are any
     * @param share describes a share
     */
    static TextTable table(
            List<GpuStatus> gpus,
            Map<Long, Tenure> tenures,
            GpuNotes notes,
            Function<GpuStatus, String> share) {
        List<GpuStatus> rows = gpus.stream().flatMap(gpu -> gpu.each().stream()).toList();
        boolean shared = rows.stream().anyMatch(row -> row.share().isPresent());
        boolean figures =
                notes.readings().values().stream().anyMatch(it -> it.figures().isPresent());
        List<Column> columns =
                new ArrayList<>(
                        List.of(
                                Column.of("GPU"),
                                Column.of("UUID"),
                                new Column("MODEL", Column.Cut.FIRST),
                                Column.of("STATE"),
                                Column.of("USER"),
                                new Column("CONTAINER", Column.Cut.LAST),
                                Column.of("AGE")));
        if (shared) {
            columns.add(Column.of("SHARE"));
        }
        if (figures) {
            FigureText.TITLES.forEach(title -> columns.add(Column.figure(title)));
        }
        columns.add(Column.note("NOTE"));
        TextTable table = new TextTable(columns.toArray(Column[]::new));
        for (GpuStatus status : rows) {
            Gpu gpu = status.gpu();
            String state = status.state().toString();
            Optional<Tenure> tenure = status.lease().map(lease -> tenures.get(lease.id()));
            List<Object> cells =
                    new ArrayList<>(
                            List.of(
                                    gpu.number(),
                                    gpu.shortUuid(),
                                    HostGpus.model(gpu.model()),
                                    new TextTable.Cell(state, Colour.ofState(state)),
                                    user(status),
                                    container(status),
                                    age(tenure.map(Tenure::since), status, notes.now())));
            if (shared) {
                cells.add(status.share().isPresent() ? share.apply(status) : "-");
            }
            if (figures) {
                cells.addAll(FigureText.cells(notes.figures(gpu)));
            }
            cells.add(note(tenure, status));
            table.row(cells.toArray());
        }
        return table;
    }

    /** Names the command that shows the queue; empty when the queue is. */
    static Optional<String> queue(int waiting) {
        return waiting == 0
                ? Optional.empty()
                : Optional.of(
                        waiting
                                + (waiting == 1 ? " client waits" : " clients wait")
                                + " for GPUs: jnvdocker gpu queue");
    }

    /** The amount that is promised. */
    static String share(GpuStatus status) {
        return status.share().orElseThrow().amount().toString();
    }

    static String user(GpuStatus status) {
        return status.lease()
                .map(Holding::user)
                .or(() -> status.user().map(Holding::user))
                .orElse("-");
    }

    static String container(GpuStatus status) {
        return status.lease()
                .map(Holding::container)
                .or(() -> status.user().map(LeaseText::name))
                .orElse("-");
    }

    private static String age(Optional<Instant> since, GpuStatus status, Instant now) {
        return since.map(it -> Span.between(it, now))
                .or(() -> status.idleSince().map(it -> "idle " + Span.between(it, now)))
                .orElse("-");
    }

    private static String note(Optional<Tenure> tenure, GpuStatus status) {
        return Stream.of(
                        tenure.map(GpuLs::restarts).orElse(""),
                        status.lease().flatMap(TimeText::due).orElse(""),
                        status.note())
                .filter(note -> !note.isEmpty())
                .collect(Collectors.joining(", "));
    }

    /** Returns {@code restarted 3 times}; empty if it was not restarted. */
    static String restarts(Tenure tenure) {
        return switch (tenure.restarts()) {
            case 0 -> "";
            case 1 -> "restarted once";
            default -> "restarted " + tenure.restarts() + " times";
        };
    }
}
