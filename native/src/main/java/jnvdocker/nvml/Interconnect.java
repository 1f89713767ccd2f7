package jnvdocker.nvml;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How near the GPUs of a session are to each other. Each GPU is queried on its own, and may be
 * queried again: a pair is known once both have answered.
 */
final class Interconnect {
    private final Map<String, Member> members = new ConcurrentHashMap<>();
    private final Map<GpuPair, Topology> known = new ConcurrentHashMap<>();
    private volatile Set<String> gpus = Set.of();

    /**
     * @param linkEnds how many NVLinks go to which PCI address
     */
    private record Member(NvmlGpu gpu, Map<String, Integer> linkEnds) {
        int linksTo(String address) {
            return linkEnds.getOrDefault(address, 0);
        }
    }

    /** Forgets GPUs that are no more, and takes no other one for a switch. */
    synchronized void setGpus(Set<String> addresses) {
        gpus = Set.copyOf(addresses);
        members.keySet().retainAll(addresses);
        known.keySet()
                .removeIf(pair ->
                        !addresses.contains(pair.one()) || !addresses.contains(pair.other()));
    }

    /**
     * Queries a GPU's links, and its common ancestors with the GPUs that have answered before.
     *
     * @throws NvmlException when the GPU is lost
     */
    void learn(String address, NvmlGpu gpu) throws NvmlException {
        Member member = new Member(gpu, gpu.linkEnds());
        join(address, member);
        for (Map.Entry<String, Member> entry : members.entrySet()) {
            String otherAddress = entry.getKey();
            Member other = entry.getValue();
            if (!otherAddress.equals(address)) {
                int direct = Math.min(member.linksTo(otherAddress), other.linksTo(address));
                keep(
                        new GpuPair(address, otherAddress),
                        new Topology(
                                gpu.ancestor(other.gpu), direct + throughSwitches(member, other)));
            }
        }
    }

    /** Ignores the answer of a GPU that has vanished meanwhile. */
    private synchronized void join(String address, Member member) {
        if (gpus.contains(address)) {
            members.put(address, member);
        }
    }

    private synchronized void keep(GpuPair pair, Topology topology) {
        if (gpus.contains(pair.one()) && gpus.contains(pair.other())) {
            known.put(pair, topology);
        }
    }

    private int throughSwitches(Member one, Member other) {
        return one.linkEnds.keySet().stream()
                .filter(end -> !gpus.contains(end))
                .mapToInt(end -> Math.min(one.linksTo(end), other.linksTo(end)))
                .sum();
    }

    boolean knows(String address) {
        return members.containsKey(address);
    }

    Map<GpuPair, Topology> known() {
        return Map.copyOf(known);
    }
}
