package jnvdocker.holder;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Claims that have no lease though processes have them mounted or are in their cgroups: since the
 * registry has lost them, or since it says that others have their GPUs. As long as they run, their
 * GPUs are nobody else's.
 */
public final class Unleased {
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Map<String, Sign> claims = new ConcurrentHashMap<>();

    public Unleased(LeaseRegistry registry, Evidence evidence) {
        this.registry = registry;
        this.evidence = evidence;
    }

    /**
     * By what one of them is known.
     *
     * @param cgroup that its processes are in; empty when they have it mounted
     * @param given the GPUs whose nodes an engine says that it has given to its container
     */
    private record Sign(Optional<String> cgroup, Set<String> given) {}

    /**
     * One of them.
     *
     * @param claim empty when only its mount or cgroup is known
     * @param given the GPUs that its engine has reported; empty as long as it has not
     * @param process the oldest that has it mounted, or is in its cgroup
     */
    public record Running(String id, Optional<Claim> claim, Set<String> given, ProcessId process) {

        /**
         * Without its claim it may have any GPU, until its engine says which. Its cgroup does not
         * show that: while the container is being created, it does not yet allow everything that it
         * is going to.
         */
        public boolean mayUse(Gpu gpu) {
            ClaimedGpu now = ClaimedGpu.of(gpu);
            return claim.map(known ->
                            known.gpus().stream()
                                    .anyMatch(its -> its.excludes(now) || its.opens(now)))
                    .orElseGet(() -> given.isEmpty() || given.contains(gpu.uuid()));
        }
    }

    /**
     * @param cgroup that its processes are in; empty when they have it mounted
     */
    public void add(String claim, Optional<String> cgroup) {
        claims.putIfAbsent(claim, new Sign(cgroup, ConcurrentHashMap.newKeySet()));
    }

    /** Those that still run, and still have no lease. */
    public List<Running> running() throws IOException {
        return running(List.of());
    }

    private List<Running> running(Collection<GpuUse> seen) throws IOException {
        if (claims.isEmpty()) {
            return List.of();
        }
        try {
            ClaimMounts.Seen mounted = evidence.mountedClaims();
            List<Running> running = new ArrayList<>();
            for (Map.Entry<String, Sign> each : Map.copyOf(claims).entrySet()) {
                String id = each.getKey();
                Optional<String> cgroup = each.getValue().cgroup();
                List<ProcessId> mounting = mounted.ours().getOrDefault(id, List.of());
                Optional<ProcessId> process =
                        cgroup.isPresent()
                                ? evidence.oldest(cgroup.get())
                                : mounting.stream().findFirst();
                boolean gone = process.isEmpty() && (cgroup.isPresent() || mounted.complete());
                if (gone || isOver(id, process)) {
                    claims.remove(id);
                } else if (process.isPresent()) {
                    Optional<Claim> claim = registry.claims().claim(id);
                    Set<String> given = each.getValue().given();
                    given.addAll(given(mounting, seen));
                    running.add(new Running(id, claim, Set.copyOf(given), process.get()));
                }
            }
            return running;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    /**
     * The GPUs whose nodes an engine says that it has given to the one container of these
     * processes. Their cgroup says which container that is: any user of an engine can give another
     * container the claim's label and volume.
     */
    private Set<String> given(List<ProcessId> mounting, Collection<GpuUse> seen) {
        List<GpuUse> nodes = seen.stream().filter(use -> use.kind() == GpuUse.Kind.NODE).toList();
        if (nodes.isEmpty()) {
            return Set.of();
        }
        List<Optional<String>> containers =
                mounting.stream()
                        .map(process -> evidence.user(process).containerId())
                        .distinct()
                        .toList();
        Optional<String> its = containers.size() == 1 ? containers.getFirst() : Optional.empty();
        return nodes.stream()
                .filter(use ->
                        its.isPresent() && use.container().map(RunningContainer::id).equals(its))
                .map(use -> use.gpu().uuid())
                .collect(Collectors.toSet());
    }

    private boolean isOver(String claim, Optional<ProcessId> process) throws IOException {
        return registry.liveOf(claim).isPresent()
                || process.isPresent() && registry.claims().isReleased(claim, process.get());
    }

    /**
     * The GPUs that they use, as if they had opened them.
     *
     * @param seen the uses by containers
     */
    List<GpuUse> uses(Collection<Gpu> gpus, Collection<GpuUse> seen) throws IOException {
        List<GpuUse> uses = new ArrayList<>();
        for (Running one : running(seen)) {
            GpuUse.User user = evidence.user(one.process());
            gpus.stream()
                    .filter(gpu -> gpu.isIdentified() && one.mayUse(gpu))
                    .forEach(gpu ->
                            uses.add(
                                    new GpuUse(
                                            gpu,
                                            GpuUse.Kind.CLAIM,
                                            Optional.empty(),
                                            Optional.of(user))));
        }
        return uses;
    }
}
