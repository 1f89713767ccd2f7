package jnvdocker.holder;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.use.MemoryUsers;

import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The processes that were seen to use the GPUs of a lease as its holder's own, and that use them
 * though nothing else of the holder lives: they may have left its cgroup. Another must not get such
 * a GPU before they are gone. Each query reads what was seen in the background, and checks whether
 * these processes live.
 */
public final class Leftovers {
    /** A lease with more has a process that starts others all the time. */
    private static final int MOST = 256;

    private final Evidence evidence;
    private final MemoryUsers memory;
    private volatile Set<Opened> opened = Set.of();

    private record Opened(String gpu, ProcessId process) {}

    public Leftovers(Evidence evidence, MemoryUsers memory) {
        this.evidence = evidence;
        this.memory = memory;
    }

    /** Remembers which processes of a holder use its GPUs. To be called in the background. */
    public void update(Collection<Lease> live) {
        for (Lease lease : live) {
            for (int pid : pids(lease)) {
                evidence.process(pid)
                        .filter(process -> !wasSeen(lease, process))
                        .map(evidence::user)
                        .filter(user -> evidence.isOfHolder(user, lease))
                        .ifPresent(user -> remember(lease, user));
            }
        }
    }

    private Set<Integer> pids(Lease lease) {
        return lease.claim().gpus().stream()
                .flatMap(gpu -> memory.of(gpu.uuid()).stream())
                .collect(Collectors.toSet());
    }

    /** A process of a lease's holder has one of its GPUs open. */
    void remember(Lease lease, GpuUse.User process) {
        Map<ProcessId, GpuUse.User> its = evidence.memory(lease).users;
        if (its.size() >= MOST) {
            its.keySet().removeIf(each -> !evidence.isAlive(each));
        }
        if (its.size() < MOST) {
            its.put(process.id(), process);
        }
    }

    /** Replaces the known processes of these GPUs by these, which are all that have them open. */
    synchronized void opened(Collection<Gpu> gpus, Collection<GpuUse> uses) {
        Set<String> scanned = gpus.stream().map(Gpu::uuid).collect(Collectors.toSet());
        Set<Opened> now = new HashSet<>(opened);
        now.removeIf(each -> scanned.contains(each.gpu()));
        for (GpuUse use : uses) {
            if (use.kind().isOpen()) {
                use.process().ifPresent(user -> now.add(new Opened(use.gpu().uuid(), user.id())));
            }
        }
        opened = Set.copyOf(now);
    }

    /** Whether it was a process of the lease's holder. */
    boolean wasSeen(Lease lease, ProcessId process) {
        return evidence.memory(lease).users.containsKey(process);
    }

    /**
     * The first process that still uses a GPU of a lease when nothing else of the holder lives, for
     * people: {@code python3 (pid 4711) still uses GPU 2 (GPU-5c1a3009)}.
     */
    public Optional<String> of(Lease lease) {
        if (lease.isReservation()) {
            return Optional.empty();
        }
        List<GpuUse.User> its =
                List.copyOf(evidence.memory(lease).users.values()).stream()
                        .filter(user -> evidence.isAlive(user.id()))
                        .toList();
        return lease.claim().gpus().stream()
                .flatMap(gpu ->
                        its.stream()
                                .filter(user -> uses(user.id(), gpu.uuid()))
                                .map(user ->
                                        LeaseText.process(user)
                                                + " still uses "
                                                + LeaseText.name(gpu.number(), gpu.uuid())))
                .findFirst();
    }

    private boolean uses(ProcessId process, String gpu) {
        return memory.of(gpu).contains(process.pid()) || opened.contains(new Opened(gpu, process));
    }
}
