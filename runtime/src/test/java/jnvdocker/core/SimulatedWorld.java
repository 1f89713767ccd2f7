package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUses;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * One host with its GPUs, engines, clients and the daemon, from their beginning to their end. Each
 * thing that can happen to them is a method of one of its parts, which returns whether it was
 * possible.
 */
final class SimulatedWorld
        implements SimulatedDaemon.Surroundings, SimulatedEngine.Listener, AutoCloseable {
    /** A request for the GPUs of any container of the same user. */
    static final GpuRequest OWN = new GpuRequest.With("own");

    final Path state;
    final SimulatedDisk disk;
    final SimulatedMachine machine;
    private final SimulatedFeature feature;
    final SimulatedGpus gpus = new SimulatedGpus();
    final SimulatedDaemon daemon;
    final List<SimulatedEngine> engines;

    /** Claims that were lost with their files: their containers have no lease, and get none. */
    final List<String> unknownClaims = new ArrayList<>();

    /** The claims by their ids, as they were given. */
    private final Map<String, Claim> given = new HashMap<>();

    /** The parties of claims by the claims' ids. */
    private final Map<String, String> parties = new HashMap<>();

    final Course course = new Course(this);
    final SimulatedClients clients = new SimulatedClients(this);
    final ContainerSteps containers = new ContainerSteps(this);
    final DaemonSteps daemonSteps = new DaemonSteps(this);
    final HostSteps host = new HostSteps(this);
    final SimulatedWaiters waiters = new SimulatedWaiters(this);
    final SimulatedRuntime runtime = new SimulatedRuntime(this);
    final SimulatedUses uses = new SimulatedUses(this);
    final SimulatedLab lab = new SimulatedLab(this);
    final ModelCheck check = new ModelCheck(this);
    final GrantCheck grants = new GrantCheck(this);
    final RefusalCheck refusals = new RefusalCheck(this);

    private SimulatedEngine engine;

    SimulatedWorld(Path state) throws IOException {
        this(state, _ -> SimulatedFeature.NONE);
    }

    /**
     * @param feature what a feature of another module brings to this world
     */
    SimulatedWorld(Path state, Function<SimulatedWorld, SimulatedFeature> feature)
            throws IOException {
        this.state = state;
        this.disk = new SimulatedDisk(state);
        this.machine = new SimulatedMachine(state, this::moment);
        this.feature = feature.apply(this);
        this.daemon = new SimulatedDaemon(state, machine, this);
        this.engines =
                List.of(
                        new SimulatedEngine("engine-1", 0, machine, daemon, this),
                        new SimulatedEngine("engine-2", 1000, machine, daemon, this));
        this.engine = engines.getFirst();
        daemon.start();
        engine.begin(true);
        daemon.watch();
    }

    @Override
    public SimulatedFeature feature() {
        return feature;
    }

    /** Whoever has GPUs, and the party for which the holder has them. */
    record User(Object holder, String party) {}

    /**
     * A claim was given its GPUs. The party of one that was recovered without the registry has its
     * id, whatever party it was of.
     */
    void given(Claim claim) {
        given.put(claim.id(), claim);
        boolean shares = claim.share().isPresent();
        parties.put(claim.id(), shares ? "shares" : party(claim.party()));
    }

    /** The party of a claim; all shares are of one. */
    String party(String claim) {
        return parties.getOrDefault(claim, claim);
    }

    /**
     * The container of a user that has GPUs now.
     *
     * @param which one of them
     */
    private Optional<Lease> named(int which) throws IOException {
        List<Lease> all =
                daemon.parts().registry().live().stream()
                        .filter(lease -> lease.claim().container().isPresent())
                        .filter(lease -> !lease.claim().origin().isScheduled())
                        .toList();
        return all.isEmpty() ? Optional.empty() : Optional.of(all.get(which % all.size()));
    }

    /** A request that a new process makes. */
    record Requested(ProcessId process, GpuRequest request) {}

    /**
     * A new process for a request; one for {@link #OWN} requests the GPUs of a container, of the
     * same user if a pid is free for one.
     */
    Requested requesting(GpuRequest request) throws IOException {
        ProcessId process = machine.spawn();
        Optional<Lease> other =
                request.equals(OWN) ? named(process.pid()) : Optional.<Lease>empty();
        // The user follows from the pid. As many processes run, all pids of a user may be taken.
        for (int i = 1; i < SimulatedClients.USERS; i++) {
            if (other.isEmpty()
                    || other.get().claim().owner().equals(SimulatedClients.owner(process))) {
                break;
            }
            machine.end(process);
            process = machine.spawn();
        }
        return new Requested(
                process,
                other.map(lease -> lease.claim().container().orElseThrow().name())
                        .<GpuRequest>map(GpuRequest.With::new)
                        .orElse(request));
    }

    /** Whether another claim to the same GPUs, of the same party and user, was given before. */
    boolean wasGivenBefore(Claim claim) {
        return given.values().stream()
                .filter(other -> !other.id().equals(claim.id()))
                .anyMatch(other ->
                        party(other.id()).equals(party(claim.id()))
                                && other.owner().equals(claim.owner())
                                && GrantCheck.uuids(other).equals(GrantCheck.uuids(claim)));
    }

    @Override
    public SimulatedEngine engine() {
        return engine;
    }

    /** Makes the other engine answer from now on. */
    void switchEngine() {
        engine = engines.get(engine == engines.getFirst() ? 1 : 0);
    }

    @Override
    public List<Gpu> gpus() {
        return gpus.shown();
    }

    @Override
    public GpuTraits traits() {
        return lab.traits();
    }

    @Override
    public LeasePolicy policy() {
        return lab.policy();
    }

    @Override
    public GpuUses uses() {
        // A new daemon has seen no list of containers yet.
        uses.unlist();
        return uses;
    }

    @Override
    public Optional<String> startRefused(String id) {
        SimulatedContainer container = engine.container(id).orElseThrow();
        check.startOfRefused(container);
        Optional<String> error = engine.start(container, false);
        say("the daemon starts " + container + ": " + error.orElse("done"));
        return error;
    }

    @Override
    public void mount(String volume, SimulatedDaemon.Task mount) throws Exception {
        GrantCheck.Before before = grants.beforeMount();
        try {
            mount.perform();
        } catch (RefusedException | IOException e) {
            refusals.mount(volume, e.getMessage());
            throw e;
        }
        grants.mounted(ClaimNames.ofVolume(volume).orElseThrow().id(), before);
    }

    List<SimulatedContainer> allContainers() {
        return engines.stream()
                .flatMap(it -> Stream.concat(it.containers.stream(), it.removed.stream()))
                .toList();
    }

    @Override
    public void say(String what) {
        course.say(what);
    }

    @Override
    public void moment() {
        course.moment();
    }

    /** Checks the world after a step. */
    void check() {
        course.check(check::afterEveryStep);
    }

    @Override
    public void happened(SimulatedEngine.Event event) {
        daemon.reported(event);
    }

    @Override
    public void mounted(SimulatedContainer container) {
        // By force, after the daemon had granted the mount and before the engine saw that.
        container.released = container.claim().filter(this::isReleased).isPresent();
        container.troubled = container.released;
        container.lease = container.claim().flatMap(this::liveLease).map(Lease::id);
        say(container + " mounted under lease " + container.lease.map(String::valueOf).orElse("-"));
    }

    private boolean isReleased(String claim) {
        try {
            if (!daemon.isUp()) {
                return false;
            }
            LeaseRegistry registry = daemon.parts().registry();
            Optional<ProcessId> last =
                    registry.history().past(Long.MAX_VALUE, 1000).stream()
                            .filter(lease -> lease.claim().id().equals(claim))
                            .findFirst()
                            .flatMap(lease -> lease.holder().init());
            return registry.claims().isReleased(claim, last.orElse(new ProcessId(1, 0)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Optional<Lease> liveLease(String claim) {
        try {
            return !daemon.isUp() ? Optional.empty() : daemon.parts().registry().liveOf(claim);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The leases under which containers were started are no longer known. */
    void forgetLeases() {
        check.registryLost();
        waiters.forgetPlaces();
        for (SimulatedContainer container : allContainers()) {
            container.lease = Optional.empty();
            container.troubled = true;
        }
    }

    /**
     * Gives everything the time that it needs; then only live containers and clients have anything.
     */
    void settle() throws IOException {
        course.begin("everything settles");
        course.calm();
        host.startEngine(false, true);
        engine.mood = SimulatedEngine.Mood.WELL;
        daemonSteps.start();
        for (SimulatedContainer container : List.copyOf(engine.containers)) {
            if (container.state == State.STARTING) {
                engine.finishStart(container, false);
            }
            if (container.restarted.isPresent()) {
                engine.finishRestart(container);
            }
            if (engine.hasToHandle(container)) {
                engine.handleEnd(container);
            }
        }
        daemonSteps.watch();
        for (int i = 0; i < 3; i++) {
            while (daemon.handleEvent(0, false) || daemon.handleLater(0)) {
                machine.pass(Duration.ofSeconds(1));
            }
            waiters.settle();
            machine.pass(Duration.ofSeconds(11));
            daemonSteps.watch();
            daemonSteps.sweep();
            runtime.sweep();
            feature.settle();
            daemonSteps.startRefused();
        }
        waiters.settle();
        check();
        course.check(check::whenSettled);
    }

    /** Ends everything; then every GPU must be available. */
    void end() throws IOException {
        course.begin("everything ends");
        gpus.plugIn();
        uses.end();
        runtime.end();
        feature.end();
        clients.end();
        for (int i = 0; i < engines.size(); i++) {
            settle();
            clients.end();
            machine.hanging().forEach(machine::end);
            containers.endLingering();
            stopAll();
            for (SimulatedContainer container : List.copyOf(engine.containers)) {
                Optional<String> error = engine.remove(container, true);
                assertTrue(error.isEmpty(), () -> "rm -f " + container + ": " + error);
            }
            settle();
            clients.end();
            host.stopEngine(true, true);
            host.startEngine(true, true);
        }
        settle();
        clients.end();
        lab.liftCordons();
        settle();
        clients.end();
        waiters.serve();
        // What was given now may be a claim of the other engine, which knows that it is unused.
        for (int i = 0; i < engines.size(); i++) {
            settle();
            clients.end();
            host.stopEngine(true, true);
            host.startEngine(true, true);
        }
        settle();
        check.whenNothingIsLeft();
        lab.allowAll();
        RunOptions all = new RunOptions(new GpuRequest.All(), false, true, false, true);
        boolean had = waiters.enter(all, Optional.empty()) && !clients.areGone();
        assertTrue(had, "not every GPU is to be had");
        check.nobodyWaits();
    }

    /** Clears the way for the containers that were refused when the engine began. */
    private void stopAll() throws IOException {
        for (SimulatedContainer container : List.copyOf(engine.containers)) {
            if (container.isRunning()) {
                engine.stop(container, false, false);
            }
        }
        for (int i = 0; i < 2; i++) {
            settle();
            clients.end();
        }
        check.nobodyIsLeftDown();
    }

    /** The evidence for the end of the lease that began last, of those that have ended. */
    String lastEvidence() throws IOException {
        return daemon.parts()
                .registry()
                .history()
                .past(Long.MAX_VALUE, 1)
                .getFirst()
                .end()
                .orElseThrow()
                .evidence();
    }

    @Override
    public void close() throws IOException {
        daemon.kill();
        disk.clear();
    }
}
