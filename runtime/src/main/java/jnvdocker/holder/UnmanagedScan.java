package jnvdocker.holder;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.OpenDevices;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.use.Observer;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The unmanaged uses, of all uses that were seen. */
public final class UnmanagedScan {
    /** Uses by containers come first, and the oldest process of each. */
    private static final Comparator<GpuUse> ORDER =
            Comparator.comparing((GpuUse use) -> use.container().isEmpty())
                    .thenComparing(use -> use.kind() == GpuUse.Kind.UNKNOWN)
                    .thenComparing(use -> use.kind().isOpen())
                    .thenComparing(use ->
                            use.process()
                                    .map(GpuUse.User::id)
                                    .map(ProcessId::startTime)
                                    .orElse(0L));

    /**
     * How long a query of the engine for users of GPUs may take; it mostly takes a few
     * milliseconds.
     */
    public static final Duration LIMIT = Duration.ofSeconds(1);

    private final GpuUses uses;
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Unleased unleased;
    private final Leftovers leftovers;

    public UnmanagedScan(
            GpuUses uses,
            LeaseRegistry registry,
            Evidence evidence,
            Unleased unleased,
            Leftovers leftovers) {
        this.uses = uses;
        this.registry = registry;
        this.evidence = evidence;
        this.unleased = unleased;
        this.leftovers = leftovers;
    }

    /**
     * Candidates for unmanaged uses, until the leases are read: a process that was seen got its
     * lease before that, or has none.
     */
    public List<GpuUse> scan(List<Gpu> gpus, Duration limit) throws IOException {
        return withClaims(gpus, uses.scan(gpus, limit));
    }

    /** The candidates as far as no engine need be queried. */
    public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) throws IOException {
        return withClaims(gpus, uses.scanWithoutEngine(gpus));
    }

    /** A process that has a claim of ours without a lease mounted has its GPUs, idle or not. */
    private List<GpuUse> withClaims(List<Gpu> gpus, List<GpuUse> seen) throws IOException {
        leftovers.opened(gpus, seen);
        List<GpuUse> all = withoutClaims(seen);
        all.addAll(unleased.uses(gpus, seen));
        return all;
    }

    /**
     * A container was given the nodes of its claim's GPUs by us, and it has them after its lease
     * was ended by force, too: it counts as what its processes do.
     */
    private List<GpuUse> withoutClaims(List<GpuUse> seen) throws IOException {
        List<GpuUse> others = new ArrayList<>();
        for (GpuUse use : seen) {
            if (use.kind().isOpen() || !isClaimed(use)) {
                others.add(use);
            }
        }
        return others;
    }

    private boolean isClaimed(GpuUse use) throws IOException {
        Optional<ClaimKey> claim =
                use.container().flatMap(it -> ClaimNames.of(it.labels(), it.volumes()));
        return claim.isPresent()
                && registry.claims().wasClaimed(claim.get(), use.gpu().wholeUuid());
    }

    /** Whether it is known by now what docker has given to its containers. */
    public boolean knowsContainers() {
        return uses.knowsContainers();
    }

    /** The containers that observe GPUs. */
    public List<Observer> observers() {
        return uses.observers();
    }

    /** A container has another name now. */
    public void renamed(String container, String name) {
        uses.renamed(container, name);
    }

    /** The processes that have more descriptors than one scan checks, as of the last scan. */
    public List<OpenDevices.Partial> beyond() {
        return uses.beyond();
    }

    /**
     * Uses that were assigned to leases.
     *
     * @param uses those of no lease, by the UUIDs of the GPUs; each container once, and each
     *     process that is in none
     * @param leases the numbers of those that the other uses are of
     */
    public record Seen(Map<String, List<GpuUse>> uses, Set<Long> leases) {
        /**
         * Whether the same uses are of no lease now. One that has begun since does not matter: it
         * holds the GPU itself.
         */
        public boolean isOf(Holdings now) {
            return now.leases().stream()
                    .map(Lease::id)
                    .collect(Collectors.toSet())
                    .containsAll(leases);
        }
    }

    /**
     * Assigns uses to leases.
     *
     * @param live all leases that GPUs are held under, read after the scan
     */
    public Seen assign(List<GpuUse> seen, Collection<Lease> live) {
        Map<String, List<GpuUse>> found = new HashMap<>();
        Set<Long> leases = new HashSet<>();
        for (GpuUse use : seen.stream().sorted(ORDER).toList()) {
            Optional<Lease> its = lease(use, live);
            its.ifPresent(lease -> leases.add(lease.id()));
            if (its.isEmpty() && !isGone(use)) {
                add(found.computeIfAbsent(use.gpu().uuid(), _ -> new ArrayList<>()), use);
            }
        }
        return new Seen(found, leases);
    }

    /** The GPUs that they use, according to a scan before the leases were read. */
    public UnmanagedUses unmanaged(List<GpuUse> seen, Holdings holdings, LeasePolicy policy) {
        return new UnmanagedUses(assign(seen, holdings.leases()).uses(), policy.allowUnmanaged());
    }

    private Optional<Lease> lease(GpuUse use, Collection<Lease> live) {
        return live.stream().filter(lease -> isOf(use, lease)).findFirst();
    }

    /** Whether a use is that of a lease's holder. */
    public boolean isOf(GpuUse use, Lease lease) {
        return isOn(lease, use)
                && (isOfContainer(use, lease)
                        || isOfFirst(use, lease)
                        || use.process().filter(it -> isOf(it, lease)).isPresent());
    }

    /** A process that has ended may have had a lease that has ended since the scan. */
    private boolean isGone(GpuUse use) {
        return use.process().filter(process -> !evidence.isAlive(process.id())).isPresent();
    }

    /** A process that has left its holder's cgroup since the scan still belongs to the holder. */
    private boolean isOf(GpuUse.User process, Lease lease) {
        if (leftovers.wasSeen(lease, process.id())) {
            return true;
        }
        boolean its = evidence.isOfHolder(process, lease);
        if (its) {
            leftovers.remember(lease, process);
        }
        return its;
    }

    /**
     * Whether a use may be that of a lease's GPUs. The node of a GPU in MIG mode alone does not say
     * which of its instances is used: it is the one that its holder has.
     */
    private static boolean isOn(Lease lease, GpuUse use) {
        return switch (use.kind()) {
            case NODE, OPEN_WHOLE ->
                    lease.excludes(ClaimedGpu.of(use.gpu()))
                            || lease.claim().gpus().stream()
                                    .anyMatch(gpu -> gpu.isPartOf(use.gpu().wholeUuid()));
            case REQUEST, CDI, RUNTIME, CLAIM, OPEN, OPEN_GRAPHICS, UNKNOWN ->
                    lease.excludes(ClaimedGpu.of(use.gpu()));
        };
    }

    /** The GPUs of a container by its engine's word, which has a lease on them. */
    private static boolean isOfContainer(GpuUse use, Lease lease) {
        return id(use).isPresent()
                && id(use).equals(lease.claim().container().map(Claim.ContainerRef::id));
    }

    /** A kubelet's engine has given a pod's container its nodes: dockerd, behind cri-dockerd. */
    private boolean isOfFirst(GpuUse use, Lease lease) {
        return use.container()
                .flatMap(RunningContainer::init)
                .map(evidence::user)
                .filter(init -> evidence.isOfHolder(init, lease))
                .isPresent();
    }

    /** A process of a container that is there already says more of it. */
    private static void add(List<GpuUse> found, GpuUse use) {
        for (int i = 0; i < found.size(); i++) {
            GpuUse known = found.get(i);
            if (use.container().isEmpty() && use.process().equals(known.process())) {
                return;
            }
            if (use.container().isPresent() && id(known).equals(id(use))) {
                if (known.process().isEmpty()) {
                    found.set(
                            i,
                            new GpuUse(
                                    known.gpu(), known.kind(), known.container(), use.process()));
                }
                return;
            }
        }
        found.add(use);
    }

    private static Optional<String> id(GpuUse use) {
        return use.container().map(RunningContainer::id);
    }
}
