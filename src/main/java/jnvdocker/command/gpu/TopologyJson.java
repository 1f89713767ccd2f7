package jnvdocker.command.gpu;

import com.fasterxml.jackson.annotation.JsonUnwrapped;

import jnvdocker.command.gpu.GpuTopology.Member;
import jnvdocker.host.Gpu;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** A GPU and how it is connected to the others, as {@code topology} prints them. */
record TopologyJson(
        int index,
        String uuid,
        String model,
        String pciAddress,
        String state,
        Long lease,
        @JsonUnwrapped HolderJson holder,
        Integer numaNode,
        String cpus,
        List<ConnectionJson> connections) {

    /** To another GPU; null for what NVML does not report. */
    record ConnectionJson(int index, String pciAddress, Integer nvlinks, String nearest) {
        private static ConnectionJson of(Member other, Optional<Topology> topology) {
            return new ConnectionJson(
                    other.status().gpu().index(),
                    other.address(),
                    topology.map(Topology::links).orElse(null),
                    topology.map(Topology::ancestor)
                            .filter(it -> it != Topology.Ancestor.UNKNOWN)
                            .map(it -> it.name().toLowerCase(Locale.ROOT))
                            .orElse(null));
        }
    }

    static List<TopologyJson> of(List<Member> members, Map<GpuPair, Topology> known) {
        return members.stream().map(member -> of(member, members, known)).toList();
    }

    private static TopologyJson of(
            Member member, List<Member> members, Map<GpuPair, Topology> known) {
        GpuStatus status = member.status();
        Gpu gpu = status.gpu();
        return new TopologyJson(
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
                        .map(other ->
                                ConnectionJson.of(
                                        other,
                                        Optional.ofNullable(
                                                known.get(
                                                        new GpuPair(
                                                                member.address(),
                                                                other.address())))))
                        .toList());
    }
}
