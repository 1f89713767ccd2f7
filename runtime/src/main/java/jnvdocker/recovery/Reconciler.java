package jnvdocker.recovery;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Life;
import jnvdocker.holder.OciKind;
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
import jnvdocker.registry.RegistryException;
import jnvdocker.use.RunningContainer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
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
    private final Adoption adoption;
    private final ClaimRemover remover;
    private final Leftovers leftovers;
    private final UnmanagedScan unmanagedScan;

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
        this.adoption = new Adoption(registry, evidence, unleased, keeper);
        this.remover = remover;
        this.leftovers = leftovers;
        this.unmanagedScan = unmanagedScan;
        keeper.after(this::tidy);
    }

    /** Whether all claims that an engine may request are known. */
    public boolean isComplete() throws IOException {
        return registry.claims().isReconciled();
    }

    /**
     * Reconciles the registry with this machine's processes and our own files; queries no engine.
     */
    public void start() throws IOException {
        new LostClaims(registry, files, evidence, unleased).restore();
        // First: in a registry that was put back, what runs may have a lease that is long over.
        endGone(lease -> !lease.boot().equals(registry.boot()));
        try {
            meetProcesses();
        } catch (UncheckedIOException e) {
            // Nothing is given out while mounts cannot be read, and what is held stays.
            LOG.warn("running containers are met later: {}", FileErrors.describe(e.getCause()));
        }
        new LostProcesses(registry, files, evidence, unleased, adoption).restore();
        // Only the engine knows whether a container is about to start again; it is queried later.
        endGone(lease -> !evidence.kind(lease).mayComeBack(lease));
        if (registry.claims().isNew()) {
            adoptStrays();
        }
    }

    private void adoptStrays() throws IOException {
        try {
            adoption.adoptStrays(inventory.gpus());
        } catch (NoDriverException e) {
            LOG.debug("nothing uses a GPU: {}", e.getMessage());
        }
    }

    private void endGone(Predicate<Lease> which) throws IOException {
        for (Lease lease : registry.live()) {
            if (which.test(lease) && evidence.of(lease) instanceof Life.Gone(String why)) {
                keeper.end(lease, why, false);
            }
        }
    }

    /**
     * A process with a claim mounted holds its GPUs, whatever we or the engine know of it. Where a
     * container of our OCI runtime has its lease, {@link jnvdocker.oci.lease.OciKeeper} learns of
     * its first process: another container may have mounted the same directory.
     */
    private void meetProcesses() throws IOException {
        // Before the processes: those seen afterwards belong to these leases or to later ones.
        Map<String, Lease> live = registry.liveByClaim();
        for (Map.Entry<String, List<ProcessId>> running : evidence.containers().entrySet()) {
            Optional<Claim> claim = registry.claims().claim(running.getKey());
            Optional<Lease> lease = Optional.ofNullable(live.get(running.getKey()));
            boolean docker = claim.filter(it -> it.origin().isKnownToDocker()).isPresent();
            if (claim.isPresent() && (docker || lease.isEmpty())) {
                ProcessId process = evidence.itsOwn(claim.get(), running.getValue());
                Optional<String> cgroup =
                        claim.get().container().flatMap(its -> evidence.cgroup(process, its.id()));
                // The engine itself may have it mounted for a moment, while it copies files.
                Optional<ProcessId> init = docker ? cgroup.map(_ -> process) : Optional.of(process);
                runs(claim.get(), lease, Holder.of(process, init, cgroup), live);
            }
        }
    }

    /** Compares everything with the engine's containers. */
    public void reconcile() throws IOException {
        String id = engine.id(LIMIT);
        List<Claim> known = new ArrayList<>(registry.claims().all());
        List<Carrier> carriers = carriers(LIMIT);
        Set<String> present = new HashSet<>();
        carriers.forEach(carrier -> present.add(carrier.container().id()));
        Set<String> named = new HashSet<>();
        for (Carrier carrier : carriers) {
            named.add(carrier.claim().id());
            meet(carrier, id, present);
        }
        meetProcesses();
        keeper.end(registry.live(), Keeper.Caller.CLIENT);
        known.removeIf(claim -> !claim.origin().isKnownToDocker());
        for (Claim claim : known) {
            // Another engine's volumes are not ours to remove through this one.
            boolean ours = claim.origin().isOf(id) || !registry.claims().hasVolume(claim.id());
            if (ours && !named.contains(claim.id())) {
                tryToRemove(claim.id());
            }
        }
        registry.claims().reconciled();
    }

    /**
     * Reconciles if there is something that cannot stay as it is; without an engine, as far as that
     * goes.
     */
    public void sweep() throws IOException {
        keeper.sweep();
        boolean unclear =
                registry.live().stream()
                        .anyMatch(lease -> !(evidence.of(lease) instanceof Life.Running));
        if (unclear || !isComplete() || hasUnused() || !unleased.running().isEmpty()) {
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
        keeper.learn(running.stream().map(RunningContainer::id).collect(Collectors.toSet()));
        for (RunningContainer container : running) {
            String before = names.getOrDefault(container.id(), container.name());
            if (!before.equals(container.name())) {
                renamed(container.id(), container.name());
            }
        }
    }

    /**
     * The engine has made or started a container that carries the label of a claim.
     *
     * @return whether the claim is one that was lost, so that everything is to be compared
     */
    public boolean changed(String container, ClaimKey key) throws IOException {
        Optional<ClaimStore.Made> made = registry.claims().made(key);
        if (made.isPresent()) {
            if (made.get().container().isEmpty()) {
                created(container, key);
            }
            return false;
        }
        String claim = key.id();
        Optional<Claim> known = registry.claims().claim(claim);
        if (known.filter(it -> !it.key().equals(key)).isPresent()) {
            return false;
        }
        // Before the engine is queried: its answer is about this lease's start or a later one.
        Map<String, Lease> live = registry.liveByClaim();
        Optional<Lease> lease = Optional.ofNullable(live.get(claim));
        Optional<ContainerEngine.Inspected> found = engine.inspect(container, LIMIT);
        if (found.flatMap(now -> ClaimNames.of(now.labels(), now.volumes()))
                .filter(key::equals)
                .isEmpty()) {
            // The label alone may be its image's.
            return false;
        }
        if (known.isEmpty()) {
            return true;
        }
        Claim.ContainerRef ref = new Claim.ContainerRef(found.get().id(), found.get().name());
        if (isItsOwn(known.get(), ref.id(), Set.of())
                && mayBeNamed(claim, found.get().pid() != 0)) {
            registry.claims().named(claim, ref);
        }
        Optional<ProcessId> init = evidence.process(found.get().pid());
        if (init.isPresent()) {
            Optional<String> cgroup = evidence.cgroup(init.get(), ref.id());
            runs(known.get(), lease, Holder.of(init.get(), init, cgroup), live);
        }
        return false;
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
            if (OciKind.is(lease.claim().origin())
                    && its.isPresent()
                    && evidence.of(lease) instanceof Life.Gone(String why)) {
                if (engine.hasSuccessor(its.get(), LIMIT)) {
                    keeper.recheck(lease.claim().id());
                } else {
                    keeper.end(lease, why, false);
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
            keeper.end(lease.get(), why, false);
        }
        if (!removeOrUnname(claim)) {
            reconcile();
        }
    }

    /** Finds out in the background whether the claim's container is gone. */
    public void recheck(String claim) {
        keeper.recheck(claim);
    }

    /**
     * Restores all claims that containers carry, as far as the engine reports them in that time.
     */
    public void restore(Duration limit) throws IOException {
        String id = engine.id(limit);
        for (Carrier carrier : carriers(limit)) {
            if (registry.claims().claim(carrier.claim().id()).isEmpty()) {
                restore(carrier, id, limit);
                name(carrier);
            }
        }
        meetProcesses();
    }

    /**
     * Learns of the containers that run with claims that were lost with the registry and the files,
     * as far as the engine reports them in that time. The rest counts as {@link Unleased}.
     */
    public void learnOfRunning(Duration limit) throws IOException {
        if (unleased.unknown().isEmpty()) {
            return;
        }
        try {
            restore(limit);
        } catch (RegistryException e) {
            throw e;
        } catch (IOException e) {
            LOG.debug("lost claims stay unknown: {}", FileErrors.describe(e));
        }
    }

    /** Claims that processes have mounted, and that were lost. */
    private Set<String> unknownThatRun() throws IOException {
        Set<String> unknown = new HashSet<>();
        for (String claim : evidence.containers().keySet()) {
            if (registry.claims().claim(claim).isEmpty()) {
                unknown.add(claim);
            }
        }
        return unknown;
    }

    /**
     * A container by which a claim is known.
     *
     * @param own whether it carries the claim's label, and does not only share its volume
     */
    private record Carrier(ClaimKey claim, ContainerEngine.Listed container, boolean own) {}

    private void name(Carrier carrier) throws IOException {
        ContainerEngine.Listed container = carrier.container();
        registry.claims()
                .named(
                        carrier.claim().id(),
                        new Claim.ContainerRef(container.id(), container.name()));
        if (!carrier.own()) {
            // Its end is not the claim's, and none of its events names the claim.
            registry.claims().unnamed(carrier.claim().id());
        }
    }

    /**
     * All containers that carry a claim's label. A claim that is lost may also be known by one that
     * only shares its volume, when its own container is gone.
     */
    private List<Carrier> carriers(Duration limit) throws IOException {
        List<Carrier> carriers = new ArrayList<>();
        Set<String> lost = unknownThatRun();
        for (ContainerEngine.Listed container : engine.labelled(ClaimNames.CLAIM_LABEL, limit)) {
            Optional<ClaimKey> claim = ClaimNames.of(container.labels(), container.volumes());
            if (claim.isPresent()) {
                carriers.add(new Carrier(claim.get(), container, true));
                lost.remove(claim.get().id());
            }
        }
        if (!lost.isEmpty()) {
            // The secret of a claim is lost with it, and so the name of its volume.
            for (ContainerEngine.Listed container : engine.all(limit)) {
                container.volumes().stream()
                        .flatMap(volume -> ClaimNames.ofVolume(volume).stream())
                        .filter(claim -> lost.contains(claim.id()))
                        .forEach(claim -> carriers.add(new Carrier(claim, container, false)));
            }
        }
        return carriers;
    }

    private void meet(Carrier carrier, String engineId, Set<String> present) throws IOException {
        String id = carrier.claim().id();
        ContainerEngine.Listed container = carrier.container();
        Optional<Claim> claim = registry.claims().claim(id);
        if (claim.isEmpty()) {
            if (restore(carrier, engineId, LIMIT)
                    && engine.inspect(container.id(), LIMIT).isEmpty()) {
                // Removed since it was listed: its claim was not lost, but forgotten.
                removeUnused(id);
                return;
            }
            claim = registry.claims().claim(id);
        }
        if (claim.filter(it -> it.key().equals(carrier.claim())).isEmpty()) {
            return;
        }
        if (isItsOwn(claim.get(), container.id(), present)
                && mayBeNamed(id, container.isActive())) {
            name(carrier);
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

    /** The claim's container runs. */
    private void runs(Claim claim, Optional<Lease> lease, Holder holder, Map<String, Lease> before)
            throws IOException {
        if (lease.isEmpty()) {
            adoption.adopt(claim, holder, before);
        } else if (lease.get().isOfClient()) {
            registry.decide(leases -> leases.hold(lease.get(), holder));
        } else if (holder.init().isPresent()
                && !holder.init().equals(lease.get().holder().init())) {
            // The engine that has mounted it stays: by it a start that is under way is known. A
            // change since the lease was seen is newer than this.
            Holder started = lease.get().holder().startedAs(holder.init().get(), holder.cgroup());
            registry.decide(leases -> leases.hold(lease.get(), started));
        }
    }

    /** Returns whether it was not known. */
    private boolean restore(Carrier carrier, String engineId, Duration limit) throws IOException {
        ClaimKey key = carrier.claim();
        String id = key.id();
        ContainerEngine.Listed container = carrier.container();
        Map<String, Integer> indices = new HashMap<>();
        for (Gpu gpu : inventory.gpus()) {
            indices.put(gpu.uuid(), gpu.index());
        }
        Optional<Claim> claim =
                engine.volumeOptions(ClaimNames.volume(key), limit)
                        .flatMap(options ->
                                ClaimOptions.read(key, engineId, options, indices, registry.now()));
        if (claim.isEmpty()) {
            LOG.error(
                    "container {} carries the claim {}, but its GPUs are unknown; create it again"
                            + " with 'jnvdocker run'",
                    container.name(),
                    id);
            return false;
        }
        files.write(claim.get());
        boolean lost = registry.claims().restore(claim.get(), true);
        if (lost) {
            LOG.info("claim {} is known again from its container {}", id, container.name());
        }
        return lost;
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
