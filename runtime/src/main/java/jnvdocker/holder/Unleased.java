package jnvdocker.holder;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Claims that have no lease though processes have them mounted or are in their cgroups: since the
 * registry has lost them, or since it says that others have their GPUs. As long as they run, their
 * GPUs are nobody else's.
 */
public final class Unleased {
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Map<String, Optional<String>> claims = new ConcurrentHashMap<>();

    public Unleased(LeaseRegistry registry, Evidence evidence) {
        this.registry = registry;
        this.evidence = evidence;
    }

    /**
     * One of them.
     *
     * @param claim empty when only its mount or cgroup is known
     * @param process the oldest that has it mounted, or is in its cgroup
     */
    public record Running(String id, Optional<Claim> claim, ProcessId process) {

        /**
         * Without its claim it may have any GPU. Its cgroup does not show which: while the
         * container is being created, it does not yet allow everything that it is going to.
         */
        public boolean mayUse(Gpu gpu) {
            ClaimedGpu now = ClaimedGpu.of(gpu);
            return claim.map(known ->
                            known.gpus().stream()
                                    .anyMatch(its -> its.excludes(now) || its.opens(now)))
                    .orElse(true);
        }
    }

    /**
     * @param cgroup that its processes are in; empty when they have it mounted
     */
    public void add(String claim, Optional<String> cgroup) {
        claims.put(claim, cgroup);
    }

    /** Those that still run, and still have no lease. */
    public List<Running> running() throws IOException {
        if (claims.isEmpty()) {
            return List.of();
        }
        try {
            ClaimMounts.Seen mounted = evidence.mountedClaims();
            List<Running> running = new ArrayList<>();
            for (Map.Entry<String, Optional<String>> each : Map.copyOf(claims).entrySet()) {
                String id = each.getKey();
                Optional<String> cgroup = each.getValue();
                Optional<ProcessId> process =
                        cgroup.isPresent()
                                ? evidence.oldest(cgroup.get())
                                : mounted.ours().getOrDefault(id, List.of()).stream().findFirst();
                boolean gone = process.isEmpty() && (cgroup.isPresent() || mounted.complete());
                if (gone || isOver(id)) {
                    claims.remove(id);
                } else if (process.isPresent()) {
                    running.add(running(id, process.get()));
                }
            }
            return running;
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private boolean isOver(String claim) throws IOException {
        return registry.liveOf(claim).isPresent() || registry.claims().isReleased(claim);
    }

    private Running running(String id, ProcessId process) throws IOException {
        return new Running(id, registry.claims().claim(id), process);
    }

    /** Those of which only the mount or the cgroup is known. */
    public List<Running> unknown() throws IOException {
        Predicate<Running> isKnown = it -> it.claim().isPresent();
        return running().stream().filter(isKnown.negate()).toList();
    }

    /** The GPUs that they use, as if they had opened them. */
    List<GpuUse> uses(Collection<Gpu> gpus) throws IOException {
        List<GpuUse> uses = new ArrayList<>();
        for (Running one : running()) {
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
