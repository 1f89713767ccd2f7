package jnvdocker.command.gpu;

import jnvdocker.grant.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;

@Command(
        name = "ls",
        description = {
            "List the GPUs, who holds them, and who uses them without a lease.",
            "AGE is for how long a container has had GPUs, or a GPU has been idle."
        })
final class GpuLs implements Callable<Integer> {
    private final Host host;
    private final Leases leases;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    GpuLs(Host host, Leases leases, Screen screen) {
        this.host = host;
        this.leases = leases;
        this.screen = screen;
    }

    @Override
    public Integer call() throws IOException {
        List<GpuStatus> gpus = leases.status(HostDriver.read(host).gpus());
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(gpus.stream().map(GpuJson::of).toList()));
            leases.unwrittenEnd().ifPresent(spec.commandLine().getErr()::println);
        } else {
            List<Lease> held = gpus.stream().flatMap(gpu -> gpu.lease().stream()).toList();
            table(gpus, leases.tenures(held), Instant.now()).lines(screen).forEach(out::println);
            queue(leases.waiting().size()).ifPresent(out::println);
            leases.unwrittenEnd().ifPresent(out::println);
        }
        return ExitCode.OK.code();
    }

    /**
     * @param tenures the tenures of their leases, by number
     */
    static TextTable table(List<GpuStatus> gpus, Map<Long, Tenure> tenures, Instant now) {
        TextTable table =
                new TextTable(
                        Column.of("GPU"),
                        Column.of("UUID"),
                        new Column("MODEL", Column.Cut.FIRST),
                        Column.of("STATE"),
                        Column.of("USER"),
                        new Column("CONTAINER", Column.Cut.LAST),
                        Column.of("AGE"),
                        Column.note("NOTE"));
        for (GpuStatus status : gpus) {
            Gpu gpu = status.gpu();
            String state = status.state().toString();
            Optional<Tenure> tenure = status.lease().map(lease -> tenures.get(lease.id()));
            table.row(
                    gpu.index(),
                    gpu.shortUuid(),
                    gpu.model(),
                    new TextTable.Cell(state, Colour.ofState(state)),
                    user(status),
                    container(status),
                    age(tenure.map(Tenure::since), status, now),
                    note(tenure, status));
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

    private static String user(GpuStatus status) {
        return status.lease()
                .map(Holding::user)
                .or(() -> status.user().map(Holding::user))
                .orElse("-");
    }

    private static String container(GpuStatus status) {
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
        String restarts = tenure.map(GpuLs::restarts).orElse("");
        return restarts.isEmpty() || status.note().isEmpty()
                ? restarts + status.note()
                : restarts + ", " + status.note();
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
