package jnvdocker.command.gpu.show;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.gpu.view.GpuJson;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.HolderJson;
import jnvdocker.host.Gpu;
import jnvdocker.host.PciPlace;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.screen.Column;
import jnvdocker.screen.Screen;
import jnvdocker.screen.Shown;
import jnvdocker.screen.TextTable;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** How the GPUs of a host are connected, and who has them: {@code gpu ls --topology}. */
final class GpuTopology {
    private GpuTopology() {}

    /** A GPU, its holder, and the nearest processors. */
    record Member(GpuStatus status, PciPlace place) {
        String address() {
            return status.gpu().pciAddress();
        }
    }

    static Connections of(GpuView view) throws IOException {
        List<Member> members =
                view.status().stream()
                        .filter(status -> status.state() != GpuStatus.State.MISSING)
                        .map(status ->
                                new Member(
                                        status,
                                        PciPlace.of(view.host(), status.gpu().pciAddress())))
                        .toList();
        return new Connections(members, view.topologies().get());
    }

    /** The GPUs, and what NVML reports of each pair. */
    record Connections(List<Member> members, Map<GpuPair, Topology> known) implements Shown {
        @Override
        public List<GpuConnections> document() {
            return members.stream().map(this::json).toList();
        }

        @Override
        public List<String> lines(Screen screen) {
            boolean isKnown = members.size() < 2 || !known.isEmpty();
            List<Member> others = isKnown ? members : List.of();
            List<Column<Member>> columns = new ArrayList<>();
            columns.add(Column.of("GPU", it -> it.status().gpu().number()));
            for (Member other : others) {
                columns.add(Column.of(other.status().gpu().number(), it -> between(it, other)));
            }
            columns.addAll(PLACE_AND_HOLDER);
            List<String> lines = new ArrayList<>(new TextTable<>(columns).lines(members, screen));
            lines.add("");
            if (!isKnown) {
                lines.add("NVML does not report how the GPUs are connected");
            }
            others.stream()
                    .flatMap(it -> others.stream().map(other -> between(it, other).word()))
                    .distinct()
                    .sorted()
                    .forEach(word -> lines.add(word.legend()));
            return lines;
        }

        private ConnectionWord.Shown between(Member one, Member other) {
            return ConnectionWord.between(one.address(), other.address(), known);
        }

        private GpuConnections json(Member member) {
            GpuStatus status = member.status();
            Gpu gpu = status.gpu();
            return new GpuConnections(
                    gpu.index(),
                    gpu.isIdentified() ? gpu.uuid() : null,
                    gpu.isIdentified() ? gpu.model() : null,
                    gpu.pciAddress(),
                    GpuJson.word(status.state()),
                    status.lease().map(Lease::id).orElse(null),
                    GpuJson.holder(status),
                    GpuJson.boxed(member.place().numaNode()),
                    member.place().cpus().orElse(null),
                    members.stream()
                            .filter(other -> !other.address().equals(member.address()))
                            .map(other -> connection(member, other))
                            .toList());
        }

        private Connection connection(Member member, Member other) {
            Optional<Topology> topology =
                    Optional.ofNullable(known.get(new GpuPair(member.address(), other.address())));
            return new Connection(
                    other.status().gpu().index(),
                    other.address(),
                    topology.map(Topology::links).orElse(null),
                    topology.map(Topology::ancestor)
                            .filter(it -> it != Topology.Ancestor.UNKNOWN)
                            .map(it -> it.name().toLowerCase(Locale.ROOT))
                            .orElse(null));
        }
    }

    private static final List<Column<Member>> PLACE_AND_HOLDER =
            List.of(
                    Column.of("CPUS", it -> it.place().cpus().orElse("-")),
                    Column.of("NUMA", it -> numaNode(it.place())),
                    Column.state(it -> it.status().state().toString()),
                    Column.of("USER", it -> GpuLs.user(it.status())),
                    new Column<>("CONTAINER", Column.Cut.LAST, it -> containers(it.status())));

    /** A GPU has one row here, whoever shares it; {@code gpu ls} names each of them. */
    private static String containers(GpuStatus status) {
        int others = status.each().size() - 1;
        return GpuLs.container(status)
                + (others == 0 ? "" : " and " + others + (others == 1 ? " other" : " others"));
    }

    private static String numaNode(PciPlace place) {
        OptionalInt node = place.numaNode();
        return node.isPresent() ? String.valueOf(node.getAsInt()) : "-";
    }

    /** A GPU and how it is connected to the others, as {@code --json} prints them. */
    record GpuConnections(
            int index,
            String uuid,
            String model,
            String pciAddress,
            String state,
            Long lease,
            @JsonUnwrapped HolderJson holder,
            Integer numaNode,
            String cpus,
            List<Connection> connections) {}

    /** To another GPU; null for what NVML does not report. */
    record Connection(int index, String pciAddress, Integer nvlinks, String nearest) {}
}
