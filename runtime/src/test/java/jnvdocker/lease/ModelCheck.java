package jnvdocker.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.lease.SimulatedContainer.State;
import jnvdocker.volume.plugin.VolumeInfo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What must be true of a simulated world, whatever has happened in it. It knows which container has
 * which GPU's node and whether its processes live, from the world itself and not from the registry.
 */
final class ModelCheck {
    private final SimulatedWorld world;
    private List<Lease> before = List.of();
    private long highest;

    ModelCheck(SimulatedWorld world) {
        this.world = world;
    }

    /** What was known of leases is known no more. */
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
        Map<String, SimulatedContainer> users = new HashMap<>();
        for (SimulatedContainer container : world.allContainers()) {
            if (container.usesGpus(world.machine) && !container.released) {
                for (int minor : container.settings.minors()) {
                    String gpu = world.gpus.of(minor);
                    SimulatedContainer other = users.put(gpu, container);
                    assertTrue(other == null, () -> gpu + " has " + other + " and " + container);
                }
            }
        }
    }

    private void registryAgrees() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        List<Lease> live = registry.live();
        gpusHaveOneLease(live);
        leasesGrow(live);
        endsHaveEvidence(registry, live);
        whatLivesHasALease(live);
        everyGpuIsShownOnce(registry);
        before = live;
    }

    private static void gpusHaveOneLease(List<Lease> live) {
        Set<String> held = new HashSet<>();
        for (Lease lease : live) {
            for (ClaimedGpu gpu : lease.claim().gpus()) {
                assertTrue(held.add(gpu.uuid()), () -> gpu.uuid() + " has two leases: " + live);
            }
        }
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
            past = past == null ? registry.past(1000) : past;
            Lease ended =
                    past.stream()
                            .filter(it -> it.id() == lease.id())
                            .findFirst()
                            .orElseThrow(() -> new AssertionError("lost: " + lease));
            String evidence = ended.end().orElseThrow().evidence();
            assertTrue(!evidence.isBlank(), () -> "no evidence: " + ended);
            boolean waiting =
                    ended.holder() instanceof Holder.Client(var process)
                            && world.machine.lives(process);
            assertTrue(
                    !waiting || evidence.startsWith("released by force"),
                    () -> "its client lives: " + ended);
            world.say("lease " + lease.id() + " has ended: " + evidence);
            // A docker that takes more than ten seconds to notice an end finds the GPUs given away.
            world.engine().containers.stream()
                    .filter(it -> it.claim().equals(Optional.of(lease.claim().id())))
                    .filter(world.engine()::hasToHandle)
                    .forEach(it -> it.troubled = true);
        }
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
                        lease.claim().gpus().stream().map(ClaimedGpu::minor).toList(),
                        () -> "GPUs of " + container);
            }
        }
    }

    private void everyGpuIsShownOnce(LeaseRegistry registry) throws IOException {
        Evidence evidence = new Evidence(world.machine, world.machine.bootId());
        List<Gpu> gpus = world.gpus();
        LeaseRegistry.Holdings holdings = registry.holdings();
        GpuChoice choice =
                new GpuChoice(gpus, holdings, Unmanaged.NONE, List.of(), TestingLeases.POLICY);
        List<GpuStatus> status =
                new GpuBoard(holdings, evidence, Unmanaged.NONE, choice).status(gpus);
        Set<String> shown = new HashSet<>();
        for (GpuStatus gpu : status) {
            assertTrue(shown.add(gpu.gpu().uuid()), () -> "shown twice: " + status);
            assertEquals(gpu.state() == GpuStatus.State.FREE, gpu.lease().isEmpty(), gpu::toString);
            assertEquals(
                    gpu.state() == GpuStatus.State.MISSING,
                    !gpus.contains(gpu.gpu()),
                    gpu::toString);
        }
        gpus.forEach(gpu -> assertTrue(shown.contains(gpu.uuid()), () -> "not shown: " + gpu));
    }

    /**
     * Whoever is refused hears who has what, and there really is not enough.
     *
     * @param alone whether nobody can have given something back since the choice was made
     */
    void refusal(Leases.Request request, String message, boolean alone) throws IOException {
        List<Gpu> free = new ArrayList<>(request.gpus());
        Map<String, Lease> held = world.daemon.parts().registry().holdings().held();
        free.removeIf(gpu -> held.containsKey(gpu.uuid()));
        boolean enough =
                switch (request.request()) {
                    case GpuRequest.All _ -> free.size() == request.gpus().size();
                    case GpuRequest.Count(int count) -> free.size() >= count;
                    case GpuRequest.Devices(List<String> ids) ->
                            ids.stream()
                                    .allMatch(id ->
                                            free.stream()
                                                    .anyMatch(
                                                            gpu -> ("" + gpu.index()).equals(id)));
                    case GpuRequest.None _ -> true;
                };
        assertTrue(!enough || !alone, () -> "refused though they are free: " + message);
        boolean impossible = message.matches("invalid device: .*|.* and this host has .*");
        boolean names =
                message.matches(
                        ".*(GPU [0-2] \\(GPU-[0-9]{8}\\) is|GPUs [0-2](, [0-2])+ are) (held by"
                            + " (user[01]|uid [0-9]+)'s container|reserved by user[01]'s docker run"
                            + " \\(pid).* since .*; wait with --gpu-wait.*");
        assertTrue(impossible || names, message);
    }

    /** Everybody has had the time to notice everything. */
    void whenSettled() {
        try {
            LeaseRegistry registry = world.daemon.parts().registry();
            List<Lease> live = registry.live();
            for (Lease lease : live) {
                assertTrue(isHeld(lease), () -> "nobody holds " + lease);
            }
            Set<String> held = live.stream().map(it -> it.claim().id()).collect(Collectors.toSet());
            for (Claim claim : registry.claims()) {
                boolean named =
                        held.contains(claim.id())
                                || !claim.engine().equals(world.engine().id)
                                || isNamed(ClaimVolumes.name(claim.id()));
                assertTrue(named, () -> "nobody wants " + claim);
            }
            for (String volume : volumes()) {
                assertTrue(
                        isNamed(volume) || held.contains(ClaimVolumes.claimOf(volume).orElse("")),
                        () -> "nobody wants " + volume);
            }
            Set<String> known =
                    registry.claims().stream().map(Claim::id).collect(Collectors.toSet());
            Set<String> folders = Set.copyOf(new ClaimFiles(world.state).ids());
            assertTrue(
                    known.containsAll(folders), () -> "folders " + folders + ", claims " + known);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Those that docker shows. When it has lost our answer to a Remove, or we have lost all, it
     * remembers one more until it is started again.
     */
    private List<String> volumes() {
        return world.daemon.parts().volumes().list().stream()
                .map(VolumeInfo::name)
                .filter(world.engine().volumes::containsKey)
                .toList();
    }

    private boolean isNamed(String volume) {
        return !world.engine().using(volume).isEmpty();
    }

    private boolean isHeld(Lease lease) {
        if (lease.holder() instanceof Holder.Client(var process)) {
            return world.machine.lives(process);
        }
        return world.allContainers().stream()
                .filter(it -> it.claim().equals(Optional.of(lease.claim().id())))
                .anyMatch(it -> it.lives(world.machine) || it.state == State.RESTARTING);
    }

    /** No container and no client is left in the world. */
    void whenNothingIsLeft() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        assertEquals(List.of(), registry.live());
        assertEquals(List.of(), registry.claims());
        assertEquals(List.of(), world.daemon.parts().volumes().list());
        assertEquals(Map.of(), world.engine().volumes);
        assertEquals(List.of(), new ClaimFiles(world.state).ids());
    }

    /** All that the registry knows. */
    String dump() throws IOException {
        LeaseRegistry registry = world.daemon.parts().registry();
        return registry.claims()
                + "\n"
                + registry.claimsWithVolume()
                + "\n"
                + registry.live()
                + "\n"
                + registry.past(1000);
    }
}
