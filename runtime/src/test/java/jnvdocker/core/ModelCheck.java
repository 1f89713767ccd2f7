package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.TestingLeases;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LedgerCheck;
import jnvdocker.use.MemoryUsers;
import jnvdocker.volume.plugin.VolumeInfo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The conditions that a simulated world must always meet. It knows which container has which GPU's
 * node and whether its processes live from the world itself, not from the registry.
 */
final class ModelCheck {
    private final SimulatedWorld world;
    private List<Lease> before = List.of();
    private long highest;
    private boolean calm;

    ModelCheck(SimulatedWorld world) {
        this.world = world;
    }

    /**
     * Notes that the daemon may start containers now.
     *
     * @param calm whether nothing else happens meanwhile
     */
    void mayStart(boolean calm) {
        this.calm = calm;
    }

    /** The daemon is about to start a container by itself. */
    void startOfRefused(SimulatedContainer container) {
        if (!calm) {
            return;
        }
        assertTrue(container.refusedByItself, () -> "was not refused: " + container);
        assertTrue(container.policy, () -> "has no policy: " + container);
        try {
            Set<String> kept = world.refusals.kept(container.gpus().keySet());
            assertTrue(
                    kept.isEmpty(),
                    () -> container + " is started on " + kept + ", for which others wait");
            for (Lease lease : world.daemon.parts().registry().live()) {
                for (String gpu : container.gpus().keySet()) {
                    assertTrue(
                            !lease.isOf(gpu)
                                    || container.claim().map(world::party).stream()
                                            .anyMatch(world.party(lease.claim().id())::equals),
                            () -> container + " is started beside " + lease);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Checks that containers refused when the engine began run, or still cannot have their GPUs.
     */
    void nobodyIsLeftDown() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        Map<String, List<Lease>> held = registry.holdings().held();
        if (!registry.tickets().isEmpty()) {
            return;
        }
        Set<String> used = world.uses.used();
        for (RefusedStart refused : registry.claims().refusedStarts()) {
            Claim claim = refused.claim();
            boolean free =
                    claim.gpus().stream()
                            .map(ClaimedGpu::uuid)
                            .noneMatch(gpu ->
                                    held.containsKey(gpu)
                                            || used.contains(gpu)
                                            || world.lab.isCordoned(gpu));
            boolean allowed =
                    !world.lab.limits.mayBeSpent(claim.owner())
                            && claim.gpus().stream()
                                    .allMatch(gpu ->
                                            world.lab.limits.allows(claim.owner(), gpu.uuid()))
                            && world.lab.heldBy(claim.owner(), held) + claim.gpus().size()
                                    <= world.lab.quota(claim.owner());
            List<ClaimedGpu> present = world.gpus().stream().map(ClaimedGpu::of).toList();
            boolean same = present.containsAll(claim.gpus());
            boolean ours = claim.origin().isOf(world.engine().id);
            assertTrue(
                    !free || !allowed || !same || !ours, () -> "left down, though free: " + claim);
        }
    }

    /** Nothing is known of earlier leases any more. */
    void registryLost() {
        before = List.of();
        highest = 0;
    }

    void afterEveryStep() {
        noGpuHasTwoContainers();
        if (world.daemon.isUp()) {
            try {
                registryAgrees();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void noGpuHasTwoContainers() {
        Map<String, SimulatedWorld.User> users = world.runtime.users();
        world.feature().addUsers(users);
        for (SimulatedContainer container : world.allContainers()) {
            if (container.usesGpus(world.machine) && !container.released) {
                String party = container.claim().map(world::party).orElse(container.id);
                var user = new SimulatedWorld.User(container, party);
                for (int minor : container.settings.minors()) {
                    String gpu = world.gpus.of(minor);
                    var other = users.put(gpu, user);
                    assertTrue(
                            other == null || other.party().equals(party),
                            () -> gpu + " has " + other + " and " + user);
                }
            }
        }
    }

    private void registryAgrees() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        LedgerCheck.check(registry, world.state);
        List<Lease> live = registry.live();
        gpusHaveOneParty(live);
        leasesGrow(live);
        endsHaveEvidence(registry, live);
        whatLivesHasALease(live);
        world.runtime.check(live);
        world.feature().check(live);
        everyGpuIsShownOnce(registry);
        world.waiters.check(registry.tickets());
        before = live;
    }

    private static void gpusHaveOneParty(List<Lease> live) {
        Map<String, Claim> held = new HashMap<>();
        Map<String, Long> promised = new HashMap<>();
        for (Lease lease : live) {
            boolean shared = lease.claim().share().isPresent();
            for (ClaimedGpu gpu : lease.claim().gpus()) {
                Claim other = held.put(gpu.uuid(), lease.claim());
                assertTrue(
                        other == null
                                || (shared
                                        ? other.share().isPresent()
                                        : other.party().equals(lease.claim().party())
                                                && other.owner().uid()
                                                        == lease.claim().owner().uid()),
                        () -> gpu.uuid() + " has two holders: " + live);
                gpu.share()
                        .ifPresent(
                                its -> promised.merge(gpu.uuid(), its.amount().bytes(), Long::sum));
            }
        }
        promised.forEach((gpu, bytes) ->
                assertTrue(
                        bytes <= SimulatedLab.MOST_SHARED, () -> gpu + " has too many: " + live));
    }

    private void leasesGrow(List<Lease> live) {
        Set<Long> known = before.stream().map(Lease::id).collect(Collectors.toSet());
        for (Lease lease : live) {
            if (!known.contains(lease.id())) {
                assertTrue(lease.id() > highest, () -> "an old number: " + lease);
            }
        }
        highest = live.stream().mapToLong(Lease::id).reduce(highest, Math::max);
    }

    private void endsHaveEvidence(LeaseRegistry registry, List<Lease> live) throws IOException {
        Set<Long> now = live.stream().map(Lease::id).collect(Collectors.toSet());
        List<Lease> past = null;
        for (Lease lease : before) {
            if (now.contains(lease.id())) {
                continue;
            }
            past = past == null ? registry.history().past(Long.MAX_VALUE, 1000) : past;
            Lease ended =
                    past.stream()
                            .filter(it -> it.id() == lease.id())
                            .findFirst()
                            .orElseThrow(() -> new AssertionError("lost: " + lease));
            String evidence = ended.end().orElseThrow().evidence();
            assertTrue(!evidence.isBlank(), () -> "no evidence: " + ended);
            boolean waiting = ended.isOfClient() && world.machine.lives(ended.holder().process());
            assertTrue(
                    !waiting
                            || evidence.startsWith("released by force")
                            || evidence.endsWith("runs with its GPU")
                            || isGivenBack(ended)
                            || world.feature().owns(ended),
                    () -> "its client lives: " + ended);
            world.say("lease " + lease.id() + " has ended: " + evidence);
            // If docker takes more than ten seconds to notice an end, it finds the GPUs given away.
            world.engine().containers.stream()
                    .filter(it -> it.claim().equals(Optional.of(lease.claim().id())))
                    .filter(world.engine()::hasToHandle)
                    .forEach(it -> it.troubled = true);
        }
    }

    /**
     * Given back by a client that sends its request again since it never got the answer, or for one
     * that never had it.
     */
    private boolean isGivenBack(Lease ended) {
        String evidence = ended.end().orElseThrow().evidence();
        return evidence.equals("docker was not run")
                        && world.waiters.hasReturned(ended.holder().process())
                || evidence.equals("its GPU vanished before it could be used")
                || evidence.equals("its client no longer waits");
    }

    /** A lease that ended while a process of its container lived would be missing here. */
    private void whatLivesHasALease(List<Lease> live) {
        for (SimulatedContainer container : world.allContainers()) {
            Optional<String> claim = container.claim();
            if (claim.isEmpty()
                    || container.released
                    || world.unknownClaims.contains(claim.get())
                    || !container.lives(world.machine)) {
                continue;
            }
            Lease lease =
                    live.stream()
                            .filter(it -> it.claim().id().equals(claim.get()))
                            .findFirst()
                            .orElseThrow(() -> new AssertionError(container + " has no lease"));
            long own = container.lease.orElse(lease.id());
            assertEquals(own, lease.id(), () -> container + "'s lease has become another");
            container.lease = Optional.of(own);
            if (!container.settings.minors().isEmpty()) {
                assertEquals(
                        container.settings.minors(),
                        lease.claim().gpus().stream().map(ClaimedGpu::minor).sorted().toList(),
                        () -> "GPUs of " + container);
            }
        }
    }

    private void everyGpuIsShownOnce(LeaseRegistry registry) throws IOException {
        Evidence evidence =
                new Evidence(
                        world.machine,
                        world.machine.bootId(),
                        world.machine.state(),
                        world.feature().kinds());
        List<Gpu> gpus = world.gpus();
        Holdings holdings = registry.holdings();
        UnmanagedScan unmanagedScan =
                new UnmanagedScan(
                        world.uses.quietly(),
                        registry,
                        evidence,
                        world.daemon.parts().unleased(),
                        new Leftovers(evidence, MemoryUsers.UNKNOWN));
        UnmanagedUses unmanaged =
                new UnmanagedUses(
                        unmanagedScan
                                .assign(unmanagedScan.scanWithoutEngine(gpus), holdings.leases())
                                .uses(),
                        false);
        GpuChoice choice =
                TestingLeases.choice(
                        gpus, world.traits(), holdings, unmanaged, List.of(), world.lab.policy());
        List<GpuStatus> status = new GpuBoard(holdings, evidence, choice, true, List.of()).status();
        Set<String> shown = new HashSet<>();
        Set<String> used = world.uses.used();
        for (GpuStatus gpu : status) {
            assertTrue(shown.add(gpu.gpu().uuid()), () -> "shown twice: " + status);
            assertEquals(expected(gpu, used, gpus), kind(gpu.state()), gpu::toString);
            assertEquals(
                    shares(holdings.held().getOrDefault(gpu.gpu().uuid(), List.of()), gpu),
                    shares(gpu.each().stream().flatMap(it -> it.lease().stream()).toList(), gpu),
                    gpu::toString);
        }
        gpus.forEach(gpu -> assertTrue(shown.contains(gpu.uuid()), () -> "not shown: " + gpu));
    }

    private static Set<Long> shares(List<Lease> leases, GpuStatus gpu) {
        return leases.stream()
                .filter(lease -> lease.share(gpu.gpu().uuid()).isPresent())
                .map(Lease::id)
                .collect(Collectors.toSet());
    }

    /** The state of a GPU by the model's account. */
    private GpuStatus.State expected(GpuStatus status, Set<String> used, List<Gpu> gpus) {
        String gpu = status.gpu().uuid();
        if (!gpus.contains(status.gpu())) {
            return GpuStatus.State.MISSING;
        }
        if (status.lease().isPresent()) {
            return GpuStatus.State.HELD;
        }
        if (used.contains(gpu)) {
            return GpuStatus.State.UNMANAGED;
        }
        return world.lab.isCordoned(gpu) ? GpuStatus.State.CORDONED : GpuStatus.State.FREE;
    }

    /** The way in which it is held does not matter here. */
    private static GpuStatus.State kind(GpuStatus.State state) {
        return switch (state) {
            case RESERVED, STUCK -> GpuStatus.State.HELD;
            default -> state;
        };
    }

    /** Everything has had the time to be noticed. */
    void whenSettled() {
        try {
            LeaseRegistry registry = world.daemon.parts().registry();
            List<Lease> live = registry.live();
            for (Lease lease : live) {
                assertTrue(isHeld(lease), () -> "nobody holds " + lease);
            }
            Set<String> held = live.stream().map(it -> it.claim().id()).collect(Collectors.toSet());
            for (Claim claim : registry.claims().all()) {
                boolean named =
                        held.contains(claim.id())
                                || isMounted(claim.id())
                                || !claim.origin().isOf(world.engine().id)
                                || isNamed(ClaimNames.volume(claim.key()));
                assertTrue(named, () -> "nobody wants " + claim);
            }
            for (String volume : volumes()) {
                assertTrue(
                        isNamed(volume) || held.contains(idOf(volume)) || isMounted(idOf(volume)),
                        () -> "nobody wants " + volume);
            }
            world.waiters.checkAll(registry.tickets());
            Set<String> known =
                    registry.claims().all().stream().map(Claim::id).collect(Collectors.toSet());
            Set<String> directories = new HashSet<>(new ClaimFiles(world.state).ids());
            // What lives after a release by force has its directory mounted.
            directories.removeIf(world.runtime::lives);
            assertTrue(
                    known.containsAll(directories),
                    () -> "directories " + directories + ", claims " + known);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The volumes that docker shows. When it has lost our answer to a Remove, or we have lost
     * everything, it remembers one more until it is started again.
     */
    private List<String> volumes() {
        return world.daemon.parts().volumes().list().stream()
                .map(VolumeInfo::name)
                .filter(world.engine().volumes::containsKey)
                .toList();
    }

    /**
     * Whether a process has it mounted that outlived its container, also after a release by force.
     */
    private boolean isMounted(String claim) {
        return world.allContainers().stream()
                .filter(it -> it.claim().equals(Optional.of(claim)))
                .anyMatch(it -> it.lives(world.machine));
    }

    private boolean isNamed(String volume) {
        return !world.engine().using(volume).isEmpty();
    }

    private boolean isHeld(Lease lease) {
        if (world.feature().owns(lease)) {
            return world.feature().has(lease);
        }
        if (lease.isOfClient()) {
            return world.machine.lives(lease.holder().process());
        }
        if (world.runtime.lives(lease.claim().id())) {
            return true;
        }
        return world.allContainers().stream()
                .filter(it -> it.isOf(lease.claim().key()))
                .anyMatch(
                        it -> it.state == State.RESTARTING || !it.guest && it.lives(world.machine));
    }

    /** No container and no client is left in the world. */
    void whenNothingIsLeft() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        assertEquals(List.of(), registry.live());
        assertEquals(List.of(), registry.claims().all());
        assertEquals(List.of(), world.daemon.parts().volumes().list());
        assertEquals(Map.of(), world.engine().volumes);
        assertEquals(List.of(), new ClaimFiles(world.state).ids());
    }

    /** No client has a place in the queue either. */
    void nobodyWaits() throws IOException {
        assertEquals(List.of(), world.daemon.parts().registry().tickets());
    }

    /** Everything that the registry knows. */
    String dump() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        return registry.claims().all()
                + "\n"
                + registry.claims().withVolume()
                + "\n"
                + registry.live()
                + "\n"
                + registry.history().past(Long.MAX_VALUE, 1000);
    }

    private static String idOf(String volume) {
        return ClaimNames.ofVolume(volume).map(ClaimKey::id).orElse("");
    }
}
