package jnvdocker.command.gpu;

import jnvdocker.command.gpu.ConnectionWord.Shown;
import jnvdocker.core.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.PciPlace;
import jnvdocker.lease.GpuStatus;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.protocol.ExitCode;
import jnvdocker.screen.Colour;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.TextTable;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.Callable;

@Command(
        name = "topology",
        description = {
            "Show how the GPUs are connected, and who has them.",
            "A number of GPUs (--gpus 2) gets the best connected ones that are free. CPUS and NUMA"
                    + " are the processors and the memory that are nearest to a GPU."
        })
final class GpuTopology implements Callable<Integer> {
    private final GpuView view;
    private final Leases leases;
    private final Screen screen;

    @Spec private CommandSpec spec;

    @Option(names = "--json", description = "Print JSON, with full UUIDs and ids.")
    private boolean json;

    @Mixin private final Watch watch = new Watch();

    GpuTopology(GpuView view, Screen screen) {
        this.view = view;
        this.leases = view.leases();
        this.screen = screen;
    }

    /** A GPU, its holder, and the nearest processors. */
    record Member(GpuStatus status, PciPlace place) {
        String address() {
            return status.gpu().pciAddress();
        }
    }

    @Override
    public Integer call() throws IOException {
        List<Gpu> gpus = view.gpus();
        List<Member> members =
                leases.status(gpus).stream()
                        .filter(status -> status.state() != GpuStatus.State.MISSING)
                        .map(status ->
                                new Member(
                                        status,
                                        PciPlace.of(view.host(), status.gpu().pciAddress())))
                        .toList();
        Map<GpuPair, Topology> known = view.topologies().get();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(watch.json(TopologyJson.of(members, known)));
        } else {
            lines(members, known, screen).forEach(out::println);
        }
        return ExitCode.OK.code();
    }

    static List<String> lines(List<Member> members, Map<GpuPair, Topology> known, Screen screen) {
        boolean isKnown = members.size() < 2 || !known.isEmpty();
        List<List<Shown>> matrix =
                members.stream()
                        .map(member -> isKnown ? row(member, members, known) : List.<Shown>of())
                        .toList();
        List<String> lines = new ArrayList<>(table(members, matrix).lines(screen));
        lines.add("");
        if (isKnown) {
            matrix.stream()
                    .flatMap(List::stream)
                    .map(Shown::word)
                    .distinct()
                    .sorted()
                    .forEach(word -> lines.add(word.legend()));
        } else {
            lines.add("NVML does not report how the GPUs are connected");
        }
        return lines;
    }

    private static List<Shown> row(
            Member member, List<Member> members, Map<GpuPair, Topology> known) {
        return members.stream()
                .map(other -> ConnectionWord.between(member.address(), other.address(), known))
                .toList();
    }

    /**
     * @param matrix a row for each GPU, all of the same length
     */
    private static TextTable table(List<Member> members, List<List<Shown>> matrix) {
        List<Column> columns = new ArrayList<>(List.of(Column.of("GPU")));
        if (!matrix.isEmpty() && !matrix.getFirst().isEmpty()) {
            members.forEach(it -> columns.add(Column.of(it.status().gpu().number())));
        }
        columns.addAll(
                List.of(
                        Column.of("CPUS"),
                        Column.of("NUMA"),
                        Column.of("STATE"),
                        Column.of("USER"),
                        new Column("CONTAINER", Column.Cut.LAST)));
        TextTable table = new TextTable(columns.toArray(Column[]::new));
        for (int i = 0; i < members.size(); i++) {
            GpuStatus status = members.get(i).status();
            PciPlace place = members.get(i).place();
            String state = status.state().toString();
            OptionalInt node = place.numaNode();
            List<Object> cells = new ArrayList<>(List.of(status.gpu().number()));
            cells.addAll(matrix.get(i));
            cells.add(place.cpus().orElse("-"));
            cells.add(node.isPresent() ? node.getAsInt() : "-");
            cells.add(new TextTable.Cell(state, Colour.ofState(state)));
            cells.add(GpuLs.user(status));
            cells.add(GpuLs.container(status));
            table.row(cells.toArray());
        }
        return table;
    }
}
