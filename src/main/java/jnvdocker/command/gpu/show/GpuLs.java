package jnvdocker.command.gpu.show;

import jnvdocker.command.gpu.view.FigureText;
import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuNotes;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.LeaseRow;
import jnvdocker.command.gpu.view.WatchedCommand;
import jnvdocker.command.hosts.HostGpus;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.Leases;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.TimeText;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.io.IOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

@Command(
        name = "ls",
        aliases = {"list", "ps", "status"},
        description = {
            "List the GPUs, who holds them, and who uses them without a lease.",
            "AGE: how long a container has had GPUs, or a GPU has been idle.",
            "With --topology, show how the GPUs are connected: a number of GPUs (--gpus 2) gets the"
                    + " best connected ones that are free. CPUS and NUMA are the processors and the"
                    + " memory that are nearest to a GPU."
        })
public final class GpuLs extends WatchedCommand {
    private final GpuView view;

    @Option(names = "--topology", description = "Show how the GPUs are connected.")
    private boolean topology;

    @Mixin private final HostQuery hosts;

    public GpuLs(GpuView view, HostQuery hosts, Screen screen) {
        super(screen);
        this.view = view;
        this.hosts = hosts;
    }

    @Override
    protected Shown show() throws IOException, RefusedException {
        if (topology && hosts.isRequested()) {
            throw usage("--topology is that of one host: leave out --on");
        }
        if (topology) {
            return GpuTopology.of(view);
        }
        if (hosts.isRequested()) {
            return new HostGpus(hosts.run(HostGpus.COMMAND), Instant.now(), isRepeated());
        }
        GpuNotes notes = view.notes();
        return new Gpus(notes.on(view.status()), notes, view.leases());
    }

    private record Gpus(List<GpuStatus> gpus, GpuNotes notes, Leases leases) implements Shown {
        @Override
        public Object document() {
            return gpus.stream().map(gpu -> GpuJson.of(gpu, notes)).toList();
        }

        @Override
        public List<String> lines(Screen screen) throws IOException {
            List<String> lines =
                    new ArrayList<>(
                            table(gpus, leases.tenures(held(gpus)), notes, GpuLs::share, screen));
            queue(leases.waiting().size()).ifPresent(lines::add);
            return lines;
        }

        @Override
        public Optional<String> remark() {
            return leases.unwrittenEnd();
        }
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
    static List<String> table(
            List<GpuStatus> gpus,
            Map<Long, Tenure> tenures,
            GpuNotes notes,
            Function<GpuStatus, String> share,
            Screen screen) {
        List<GpuStatus> rows = gpus.stream().flatMap(gpu -> gpu.each().stream()).toList();
        List<Column<GpuStatus>> columns = new ArrayList<>();
        columns.add(Column.of("GPU", it -> it.gpu().number()));
        columns.add(Column.of("UUID", it -> it.gpu().shortUuid()));
        columns.add(
                new Column<>("MODEL", Column.Cut.FIRST, it -> HostGpus.model(it.gpu().model())));
        columns.add(Column.state(it -> it.state().toString()));
        columns.add(Column.of("USER", GpuLs::user));
        columns.add(new Column<>("CONTAINER", Column.Cut.LAST, GpuLs::container));
        columns.add(Column.of("AGE", it -> age(tenure(it, tenures), it, notes.now())));
        if (rows.stream().anyMatch(row -> row.share().isPresent())) {
            columns.add(Column.of("SHARE", it -> it.share().isPresent() ? share.apply(it) : "-"));
        }
        if (notes.readings().values().stream().anyMatch(it -> it.figures().isPresent())) {
            columns.addAll(FigureText.columns(it -> notes.figures(it.gpu())));
        }
        columns.add(Column.note("NOTE", it -> note(tenure(it, tenures), it)));
        return new TextTable<>(columns).lines(rows, screen);
    }

    private static Optional<Tenure> tenure(GpuStatus status, Map<Long, Tenure> tenures) {
        return status.lease().map(lease -> tenures.get(lease.id()));
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
                .map(HolderName::shown)
                .or(() -> status.user().map(LeaseText::name))
                .orElse("-");
    }

    private static String age(Optional<Tenure> tenure, GpuStatus status, Instant now) {
        return tenure.map(it -> Span.between(it.since(), now))
                .or(() -> status.idleSince().map(it -> "idle " + Span.between(it, now)))
                .orElse("-");
    }

    private static String note(Optional<Tenure> tenure, GpuStatus status) {
        return Stream.of(
                        tenure.map(LeaseRow::restarts).orElse(""),
                        status.lease().flatMap(TimeText::due).orElse(""),
                        status.note())
                .filter(note -> !note.isEmpty())
                .collect(Collectors.joining(", "));
    }
}
