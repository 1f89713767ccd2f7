package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
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
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** The unmanaged uses, of all uses that were seen. */
final class UnmanagedLook {
    /** Those with a container first, and the oldest process of it. */
    private static final Comparator<GpuUse> ORDER =
            Comparator.comparing((GpuUse use) -> use.container().isEmpty())
                    .thenComparing(use -> use.kind() == GpuUse.Kind.UNKNOWN)
                    .thenComparing(use -> use.kind().isOpen())
                    .thenComparing(use ->
                            use.process()
                                    .map(GpuUse.User::id)
                                    .map(ProcessId::startTime)
                                    .orElse(0L));

    /** For how long the engine is asked who uses GPUs; it mostly takes a few milliseconds. */
    static final Duration LIMIT = Duration.ofSeconds(1);

    private final GpuUses uses;
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Unleased unleased;
    private final OtherClaims otherClaims;
    private final Leftovers leftovers;

    UnmanagedLook(
            GpuUses uses,
            LeaseRegistry registry,
            Evidence evidence,
            Unleased unleased,
            OtherClaims otherClaims,
            Leftovers leftovers) {
        this.uses = uses;
        this.registry = registry;
        this.evidence = evidence;
        this.unleased = unleased;
        this.otherClaims = otherClaims;
        this.leftovers = leftovers;
    }

    /**
     * Candidates for unmanaged uses, until the leases are looked at: a process that was seen has a
     * lease before that, or none.
     */
    List<GpuUse> look(List<Gpu> gpus, Duration limit) throws IOException {
        Supplier<List<OtherClaims.Mounted>> others = otherClaims.begin();
        return withClaims(gpus, uses.look(gpus, limit), others);
    }

    /** The same, asking no engine. */
    List<GpuUse> lookWithoutEngine(List<Gpu> gpus) throws IOException {
        Supplier<List<OtherClaims.Mounted>> others = otherClaims.begin();
        return withClaims(gpus, uses.lookWithoutEngine(gpus), others);
    }

    /**
     * A process that has a claim mounted has its GPUs, idle or not: a claim of ours without a
     * lease, or one of another daemon.
     */
    private List<GpuUse> withClaims(
            List<Gpu> gpus, List<GpuUse> seen, Supplier<List<OtherClaims.Mounted>> others)
            throws IOException {
        leftovers.opened(gpus, seen);
        List<GpuUse> all = withoutClaims(seen);
        all.addAll(unleased.uses(gpus));
        all.addAll(otherClaims.uses(gpus, others));
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
        Optional<String> claim =
                use.container().flatMap(it -> ClaimNames.of(it.labels(), it.volumes()));
        return claim.isPresent()
                && registry.claims().wasClaimed(claim.get(), use.gpu().wholeUuid());
    }

    /** Whether it is known by now what docker has given to its containers. */
    boolean knowsContainers() {
        return uses.knowsContainers();
    }

    /** The processes of the last look that have more descriptors than are looked at at once. */
    List<OpenDevices.Beyond> beyond() {
        return uses.beyond();
    }

    /** Claims of other daemons on this host that containers have mounted. */
    List<OtherClaims.Mounted> otherClaims() throws IOException {
        return otherClaims.mounted();
    }

    /**
     * By the UUIDs of the GPUs; each container once, and each process that is in none.
     *
     * @param live all leases that GPUs are held under, read after the look
     */
    Map<String, List<GpuUse>> among(List<GpuUse> seen, Collection<Lease> live) {
        Map<String, List<GpuUse>> found = new HashMap<>();
        for (GpuUse use : seen.stream().sorted(ORDER).toList()) {
            if (!isOurs(use, live)) {
                add(found.computeIfAbsent(use.gpu().uuid(), _ -> new ArrayList<>()), use);
            }
        }
        return found;
    }

    /** The GPUs that they use, according to a look before the leases were read. */
    UnmanagedUses unmanaged(List<GpuUse> seen, Holdings holdings, LeasePolicy policy) {
        return new UnmanagedUses(among(seen, holdings.held().values()), policy.allowUnmanaged());
    }

    private boolean isOurs(GpuUse use, Collection<Lease> live) {
        if (live.stream().anyMatch(lease -> isOfContainer(use, lease) || isOfPod(use, lease))) {
            return true;
        }
        if (use.process().isEmpty()) {
            return false;
        }
        GpuUse.User process = use.process().get();
        boolean leased =
                live.stream()
                        .filter(lease -> isOn(lease, use))
                        .anyMatch(lease -> isOf(process, lease));
        // One that is gone may have had a lease that has ended since it was seen.
        return leased || !evidence.isAlive(process.id());
    }

    /** What has left its holder's cgroup since it was seen there is still the holder's. */
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
                    lease.claim().gpus().stream()
                            .anyMatch(gpu ->
                                    gpu.excludes(ClaimedGpu.of(use.gpu()))
                                            || gpu.isPartOf(use.gpu().wholeUuid()));
            case REQUEST, CDI, RUNTIME, CLAIM, OTHER_CLAIM, OPEN, UNKNOWN ->
                    lease.excludes(ClaimedGpu.of(use.gpu()));
        };
    }

    /** The GPUs of a container by its engine's word, which has a lease on them. */
    private static boolean isOfContainer(GpuUse use, Lease lease) {
        return isOn(lease, use)
                && id(use).isPresent()
                && id(use).equals(lease.claim().container().map(Claim.ContainerRef::id));
    }

    /** A kubelet's engine has given a pod's container its nodes: dockerd, behind cri-dockerd. */
    private boolean isOfPod(GpuUse use, Lease lease) {
        return isOn(lease, use)
                && use.container()
                        .flatMap(RunningContainer::init)
                        .filter(init -> evidence.pods().isOf(init, lease))
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
