package jnvdocker.recovery;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Life;
import jnvdocker.holder.PresentGpus;
import jnvdocker.holder.Unleased;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.host.NoDriverException;
import jnvdocker.keeper.ClaimRemover;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.ClaimStore;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.SeenEnd;
import jnvdocker.use.RunningContainer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Brings the registry into line with the facts: with this machine's processes before anything is
 * served, and with the engine's containers whenever events may have been missed. Doing it again
 * changes nothing.
 */
public final class Reconciler {
    private static final Logger LOG = LoggerFactory.getLogger(Reconciler.class);
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Keeper keeper;
    private final ContainerEngine engine;
    private final PresentGpus inventory;
    private final Unleased unleased;
    private final Recovery recovery;
    private final ClaimRemover remover;
    private final Leftovers leftovers;
    private final UnmanagedScan unmanagedScan;
    private volatile boolean complete;

    public Reconciler(
            LeaseRegistry registry,
            ClaimFiles files,
            Evidence evidence,
            Keeper keeper,
            ContainerEngine engine,
            PresentGpus inventory,
            Unleased unleased,
            ClaimRemover remover,
            Leftovers leftovers,
            UnmanagedScan unmanagedScan) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.keeper = keeper;
        this.engine = engine;
        this.inventory = inventory;
        this.unleased = unleased;
        this.recovery = new Recovery(registry, files, evidence, unleased, keeper);
        this.remover = remover;
        this.leftovers = leftovers;
        this.unmanagedScan = unmanagedScan;
        keeper.after(this::tidy);
    }

    /** Whether all containers of the engine have been compared since the daemon started. */
    public boolean isComplete() {
        return complete;
    }

    /**
     * Reconciles the registry with this machine's processes and our own files; queries no engine.
     */
    public void start() throws IOException {
        // First: in a registry that was put back, what runs may have a lease that is long over.
        endGone(lease -> !lease.boot().equals(registry.boot()));
        recovery.start();
        // Only the engine knows whether a container is about to start again; it is queried later.
        endGone(lease -> !evidence.kind(lease).mayComeBack(lease));
        recovery.adoptStrays(gpus());
    }

    private List<Gpu> gpus() throws IOException {
        try {
            return inventory.gpus().stream().filter(Gpu::isIdentified).toList();
        } catch (NoDriverException e) {
            LOG.debug("nothing uses a GPU: {}", e.getMessage());
            return List.of();
        }
    }

    private void endGone(Predicate<Lease> which) throws IOException {
        List<Lease> live = registry.live();
        HostView view = evidence.view();
        for (Lease lease : live) {
            if (which.test(lease) && evidence.of(lease, view) instanceof Life.Gone(String why)) {
                keeper.end(SeenEnd.gone(lease, why));
            }
        }
    }

    /** Compares everything with the engine's containers. */
    public void reconcile() throws IOException {
        String id = engine.id(LIMIT);
        List<Claim> known = new ArrayList<>(registry.claims().all());
        List<Carrier> carriers = carriers();
        Set<String> present = new HashSet<>();
        carriers.forEach(carrier -> present.add(carrier.container().id()));
        Set<String> named = new HashSet<>();
        for (Carrier carrier : carriers) {
            named.add(carrier.claim().id());
            meet(carrier, present);
        }
        recovery.adoptMounted();
        keeper.end(registry.live(), Keeper.Caller.CLIENT);
        known.removeIf(claim -> !claim.origin().isKnownToDocker());
        for (Claim claim : known) {
            // Another engine's volumes are not ours to remove through this one.
            boolean ours = claim.origin().isOf(id) || !registry.claims().hasVolume(claim.id());
            if (ours && !named.contains(claim.id())) {
                tryToRemove(claim.id());
            }
        }
        complete = true;
    }

    /**
     * Reconciles if there is something that cannot stay as it is; without an engine, as far as that
     * goes.
     */
    public void sweep() throws IOException {
        keeper.sweep();
        List<Lease> live = registry.live();
        HostView view = evidence.view();
        boolean unclear =
                live.stream()
                        .anyMatch(lease -> !(evidence.of(lease, view) instanceof Life.Running));
        if (unclear || !complete || hasUnused() || !unleased.running().isEmpty()) {
            reconcile();
        }
    }

    /** Removes the remains of holders that have ended. */
    private void tidy(List<Lease> live) throws IOException {
        Set<String> claims = live.stream().map(it -> it.claim().id()).collect(Collectors.toSet());
        for (String claim : evidence.programs().removeGroups(claims)) {
            files.delete(claim);
        }
        leftovers.update(live);
        if (keeper.keepsAny(live)) {
            // Has what its holder left behind closed the GPU meanwhile?
            unmanagedScan.scanWithoutEngine(inventory.gpus());
        }
    }

    private boolean hasUnused() throws IOException {
        return registry.claims().unused().stream()
                .anyMatch(claim -> engine.knownId().filter(claim.origin()::isOf).isPresent());
    }

    /** The engine has given a container another name. */
    public void renamed(String container, String name) throws IOException {
        registry.claims().renamed(new Claim.ContainerRef(container, name));
        unmanagedScan.renamed(container, name);
    }

    /** The engine has started a container. */
    public void started(String container) throws IOException {
        keeper.learn(Set.of(container));
    }

    /** The containers that run, with their present names: events of others may have been missed. */
    public void named(List<RunningContainer> running) throws IOException {
        Map<String, String> names = new HashMap<>();
        registry.live().stream()
                .flatMap(lease -> lease.claim().container().stream())
                .forEach(container -> names.put(container.id(), container.name()));
        unmanagedScan.observers().forEach(observer -> names.put(observer.id(), observer.name()));
        keeper.learn(running.stream().map(RunningContainer::id).collect(Collectors.toSet()));
        for (RunningContainer container : running) {
            String before = names.getOrDefault(container.id(), container.name());
            if (!before.equals(container.name())) {
                renamed(container.id(), container.name());
            }
        }
    }

    /** The engine has made or started a container that carries the label of a claim. */
    public void changed(String container, ClaimKey key) throws IOException {
        Optional<ClaimStore.Made> made = registry.claims().made(key);
        if (made.isPresent()) {
            if (made.get().container().isEmpty()) {
                created(container, key);
            }
            return;
        }
        String claim = key.id();
        Optional<Claim> known = registry.claims().claim(claim);
        if (known.filter(it -> it.key().equals(key)).isEmpty()) {
            return;
        }
        // Before the engine is queried: its answer is about this lease's start or a later one.
        Map<String, Lease> live = registry.liveByClaim();
        Optional<Lease> lease = Optional.ofNullable(live.get(claim));
        Optional<ContainerEngine.Inspected> found = engine.inspect(container, LIMIT);
        if (found.flatMap(now -> ClaimNames.of(now.labels(), now.volumes()))
                .filter(key::equals)
                .isEmpty()) {
            // The label alone may be its image's.
            return;
        }
        Claim.ContainerRef ref = new Claim.ContainerRef(found.get().id(), found.get().name());
        if (isItsOwn(known.get(), ref.id(), Set.of())
                && mayBeNamed(claim, found.get().pid() != 0)) {
            registry.claims().named(claim, ref);
        }
        Optional<ProcessId> init = evidence.process(found.get().pid());
        if (init.isPresent()) {
            Optional<String> cgroup = evidence.cgroup(init.get(), ref.id());
            recovery.runs(known.get(), lease, Holder.of(init.get(), init, cgroup), live);
        }
    }

    /**
     * A claim that was made for a container of our OCI runtime is the first one's whose user gave
     * it the claim's label. An image's label is its author's, and gives nothing.
     */
    private void created(String container, ClaimKey claim) throws IOException {
        Optional<ContainerEngine.Inspected> found = engine.inspect(container, LIMIT);
        if (found.filter(now -> isOf(claim, now.labels())).isEmpty()) {
            return;
        }
        Optional<Map<String, String>> images = engine.imageLabels(found.get().image(), LIMIT);
        if (images.filter(labels -> !isOf(claim, labels)).isPresent()) {
            registry.claims()
                    .bound(
                            claim.id(),
                            new Claim.ContainerRef(found.get().id(), found.get().name()));
        }
    }

    private static boolean isOf(ClaimKey claim, Map<String, String> labels) {
        return ClaimNames.ofLabel(labels).filter(claim::equals).isPresent();
    }

    /**
     * The engine has removed a container: one of our OCI runtime does not start again, so nobody
     * need wait for that. Its lease stays for the container that compose starts in its place.
     */
    public void destroyed(String container) throws IOException {
        registry.requests().removed(container);
        for (Lease lease : registry.live()) {
            Optional<Claim.ContainerRef> its =
                    lease.claim().container().filter(it -> it.id().equals(container));
            if (lease.claim().origin().runtimeRoot().isPresent()
                    && its.isPresent()
                    && evidence.of(lease) instanceof Life.Gone(String why)) {
                if (engine.hasSuccessor(its.get(), LIMIT)) {
                    keeper.recheck(lease.claim().id());
                } else {
                    keeper.end(SeenEnd.gone(lease, why));
                }
            }
        }
    }

    /** The engine has removed a container that carried the label of a claim. */
    public void destroyed(String container, ClaimKey key) throws IOException {
        String claim = key.id();
        Optional<Claim> known = registry.claims().claim(key);
        boolean another =
                known.flatMap(Claim::container)
                        .filter(own -> !own.id().equals(container))
                        .isPresent();
        if (known.isEmpty() || another) {
            return;
        }
        Optional<Lease> lease = registry.liveOf(claim);
        if (lease.isPresent() && evidence.of(lease.get()) instanceof Life.Gone(String why)) {
            // It cannot start again, so nobody need wait for that.
            keeper.end(SeenEnd.gone(lease.get(), why));
        }
        if (!removeOrUnname(claim)) {
            reconcile();
        }
    }

    /** Finds out in the background whether the claim's container is gone. */
    public void recheck(String claim) throws IOException {
        keeper.recheck(claim);
    }

    /** A container that carries a claim's label. */
    private record Carrier(ClaimKey claim, ContainerEngine.Listed container) {}

    /** All containers that carry a claim's label. */
    private List<Carrier> carriers() throws IOException {
        List<Carrier> carriers = new ArrayList<>();
        for (ContainerEngine.Listed container : engine.labelled(ClaimNames.CLAIM_LABEL, LIMIT)) {
            ClaimNames.of(container.labels(), container.volumes())
                    .ifPresent(claim -> carriers.add(new Carrier(claim, container)));
        }
        return carriers;
    }

    private void meet(Carrier carrier, Set<String> present) throws IOException {
        ContainerEngine.Listed container = carrier.container();
        Optional<Claim> claim = registry.claims().claim(carrier.claim());
        if (claim.isEmpty()) {
            return;
        }
        String id = claim.get().id();
        if (isItsOwn(claim.get(), container.id(), present)
                && mayBeNamed(id, container.isActive())) {
            registry.claims().named(id, new Claim.ContainerRef(container.id(), container.name()));
        }
        if (container.isActive() && !isLearnt(id)) {
            learn(container.id(), carrier.claim());
        }
    }

    /** A container that hangs must not delay the others. */
    private void learn(String container, ClaimKey claim) {
        try {
            changed(container, claim);
        } catch (IOException e) {
            LOG.debug("container {}: {}", container, FileErrors.describe(e));
        }
    }

    /** Another container may carry the same label: a copy of its settings does. */
    private static boolean isItsOwn(Claim claim, String container, Set<String> present) {
        return claim.container().isEmpty()
                || claim.container().get().id().equals(container)
                || !present.isEmpty() && !present.contains(claim.container().get().id());
    }

    /** Whose container takes the place of a removed one is decided when that is started. */
    private boolean mayBeNamed(String claim, boolean runs) throws IOException {
        return runs || !registry.claims().isOver(claim);
    }

    private boolean isLearnt(String claim) throws IOException {
        return registry.liveOf(claim).flatMap(lease -> lease.holder().init()).isPresent();
    }

    private void tryToRemove(String claim) throws IOException {
        try {
            removeOrUnname(claim);
        } catch (IOException e) {
            LOG.debug("claim {}: {}", claim, FileErrors.describe(e));
        }
    }

    /**
     * A claim that stays loses its container: the next container that mounts it becomes its own,
     * otherwise the next sweep retries. A removed claim keeps the name, for the history.
     */
    private boolean removeOrUnname(String claim) throws IOException {
        boolean removed = false;
        try {
            removed = removeUnused(claim);
        } finally {
            if (!removed) {
                registry.claims().unnamed(claim);
            }
        }
        return removed;
    }

    /**
     * A claim that no container carries goes, unless its GPUs are held or reserved; says whether.
     */
    public boolean removeUnused(String claim) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim);
        if (lease.isPresent()) {
            keeper.end(List.of(lease.get()), Keeper.Caller.CLIENT);
            if (registry.liveOf(claim).isPresent()) {
                return false;
            }
        }
        // Docker calls our Remove for it, and refuses as long as any container names the volume.
        Optional<Claim> known = registry.claims().claim(claim);
        int before = registry.claims().timesMadeAgain(claim);
        if (known.isPresent()
                && registry.claims().hasVolume(claim)
                && !engine.removeVolume(ClaimNames.volume(known.get().key()), LIMIT)) {
            return false;
        }
        // Our Remove has removed it, and a container may have been made with it since.
        return registry.claims().claim(claim).isEmpty()
                || registry.claims().timesMadeAgain(claim) != before
                || remover.remove(claim);
    }
}
