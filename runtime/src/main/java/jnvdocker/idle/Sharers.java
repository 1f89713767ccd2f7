package jnvdocker.idle;

import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuFigures.GpuProcess;
import jnvdocker.use.GpuUse;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.stream.Collectors;

/**
 * The parties that hold one GPU, and which of the processes that use it may belong to each: to one
 * party alone every process of the host, to one of several the processes of its own containers and
 * programs, and those of nobody who is known.
 *
 * @param parties one, or those that have shares
 * @param processes the parties of each process that was found, by pid
 * @param earlier those of the scan before: what the driver reports is older than a scan, and a
 *     process may have ended between the two
 */
record Sharers(
        Set<String> parties, Map<Long, Set<String>> processes, Map<Long, Set<String>> earlier) {

    /**
     * @param found the uses of the GPU that are known by a process
     * @param isOf whether a use is that of a lease's holder
     */
    static Sharers of(
            Collection<Lease> leases,
            List<GpuUse> found,
            BiPredicate<GpuUse, Lease> isOf,
            Optional<Sharers> before) {
        Set<String> parties =
                leases.stream().map(lease -> lease.claim().party()).collect(Collectors.toSet());
        Map<Long, Set<String>> processes = new HashMap<>();
        for (GpuUse use : found) {
            long pid = use.process().orElseThrow().id().pid();
            Set<String> its = processes.computeIfAbsent(pid, _ -> new HashSet<>());
            if (parties.size() > 1) {
                leases.stream()
                        .filter(lease -> isOf.test(use, lease))
                        .forEach(lease -> its.add(lease.claim().party()));
            }
        }
        return new Sharers(parties, processes, before.map(Sharers::processes).orElse(Map.of()));
    }

    /** Whether no process was found. */
    boolean isEmpty() {
        return processes.isEmpty();
    }

    /** Whether a process that was found belongs to a party, or may. */
    boolean mayUse(String party) {
        return processes.keySet().stream().anyMatch(pid -> mayHave(party, pid));
    }

    /** Whether one of these processes belongs to a party, or may. */
    boolean mayHaveOneOf(String party, List<GpuProcess> some) {
        return some.stream().anyMatch(process -> mayHave(party, process.pid()));
    }

    private boolean mayHave(String party, long pid) {
        Set<String> its = processes.getOrDefault(pid, earlier.getOrDefault(pid, Set.of()));
        return its.contains(party) || its.stream().noneMatch(parties::contains);
    }

    /** Whether a process is known to belong to a party. */
    boolean has(String party, GpuProcess process) {
        return parties.size() == 1
                || processes.getOrDefault(process.pid(), Set.of()).contains(party);
    }
}
