package jnvdocker.lease;

import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.container.Allocation;
import jnvdocker.container.GpuRequest;
import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;
import jnvdocker.lease.SimulatedContainer.Settings;
import jnvdocker.lease.SimulatedContainer.State;
import jnvdocker.process.ProcessId;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * One host with its GPUs, engines, clients and the daemon. Everything that can happen to them is a
 * method here that says whether it was possible.
 */
final class SimulatedWorld
        implements SimulatedDaemon.Surroundings, SimulatedEngine.Listener, AutoCloseable {
    static final int GPUS = 3;

    /**
     * And the one after it: users that no host has, so that their names are known from us alone.
     */
    private static final int NOBODYS_UID = 1_987_654_320;

    /** How a client calls docker. */
    record RunOptions(
            GpuRequest request,
            boolean createOnly,
            boolean detached,
            boolean always,
            boolean remove) {

        @Override
        public String toString() {
            return (createOnly ? "create" : "run")
                    + (detached && !createOnly ? " -d" : "")
                    + (always ? " --restart always" : "")
                    + (remove ? " --rm" : "")
                    + " --gpus "
                    + request;
        }
    }

    /** A {@code jnvdocker run} on its way. */
    static final class Client {
        final ProcessId process;
        final RunOptions options;
        final Claim claim;
        final Allocation allocation;
        Optional<SimulatedContainer> container = Optional.empty();
        boolean started;

        Client(ProcessId process, RunOptions options, Claim claim, Allocation allocation) {
            this.process = process;
            this.options = options;
            this.claim = claim;
            this.allocation = allocation;
        }
    }

    /** Something that happens while the daemon is about to do something else. */
    interface Interlude {
        boolean in(SimulatedWorld world) throws IOException;
    }

    final Path state;
    final SimulatedMachine machine;
    final SimulatedDaemon daemon;
    final List<SimulatedEngine> engines;
    final List<Client> clients = new ArrayList<>();
    final List<ProcessId> lingering = new ArrayList<>();
    final List<String> unknownClaims = new ArrayList<>();

    private final Map<String, Integer> minors = new TreeMap<>();
    private final List<String> unplugged = new ArrayList<>();
    private final List<String> trace = new ArrayList<>();
    private final ModelCheck check = new ModelCheck(this);
    private final Map<String, byte[]> onDisk = new HashMap<>();
    private SimulatedEngine engine;
    private Optional<Interlude> interlude = Optional.empty();
    private int moments;
    private boolean interluded;

    SimulatedWorld(Path state) throws IOException {
        this.state = state;
        this.machine = new SimulatedMachine(state, this::moment);
        this.daemon = new SimulatedDaemon(state, machine, this);
        this.engines =
                List.of(
                        new SimulatedEngine("engine-1", 0, machine, daemon, this),
                        new SimulatedEngine("engine-2", 1000, machine, daemon, this));
        this.engine = engines.getFirst();
        for (int i = 0; i < GPUS; i++) {
            minors.put("GPU-" + ("" + i).repeat(8) + "-0000-0000-0000-000000000000", i);
        }
        daemon.start();
        engine.begin(true);
        daemon.watch();
    }

    @Override
    public SimulatedEngine engine() {
        return engine;
    }

    /** Those that the driver shows. */
    @Override
    public List<Gpu> gpus() {
        List<Gpu> gpus = new ArrayList<>();
        for (var gpu : minors.entrySet()) {
            if (!unplugged.contains(gpu.getKey())) {
                int minor = gpu.getValue();
                gpus.add(
                        new Gpu(gpus.size(), gpu.getKey(), minor, "0000:0" + minor + ":00.0", "T"));
            }
        }
        return gpus;
    }

    /** The GPU that a node is at present. */
    String gpuOf(int minor) {
        return minors.entrySet().stream()
                .filter(gpu -> gpu.getValue() == minor)
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    List<SimulatedContainer> allContainers() {
        return engines.stream()
                .flatMap(it -> Stream.concat(it.containers.stream(), it.removed.stream()))
                .toList();
    }

    @Override
    public void say(String what) {
        trace.add((interluded ? "    " : "  ") + what);
    }

    String trace() {
        return String.join("\n", trace);
    }

    /**
     * Has something happen during what is done next.
     *
     * @param moment how often the daemon looks at the world before that
     */
    void during(int moment, Interlude what) {
        interlude = Optional.of(what);
        moments = moment;
    }

    @Override
    public void moment() {
        daemon.survive();
        if (interluded || !daemon.isBusy() || interlude.isEmpty() || moments-- > 0) {
            return;
        }
        Interlude now = interlude.get();
        interlude = Optional.empty();
        interluded = true;
        try {
            now.in(this);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            interluded = false;
        }
        daemon.survive();
    }

    /** Whether the step that was made is good. */
    void check() {
        interlude = Optional.empty();
        interluded = true;
        check.afterEveryStep();
        interluded = false;
    }

    /** Notes what a step does, unless it does nothing. */
    boolean make(String step, Interlude what) throws IOException {
        trace.add((interluded ? "    " : "") + step);
        int place = trace.size() - 1;
        boolean done = what.in(this);
        if (!done && place == trace.size() - 1) {
            trace.removeLast();
        }
        return done;
    }

    @Override
    public void happened(SimulatedEngine.Event event) {
        daemon.told(event);
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
            return daemon.isUp() && daemon.parts().registry().isReleased(claim);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Optional<Lease> liveLease(String claim) {
        try {
            return !daemon.isUp() ? Optional.empty() : daemon.parts().registry().liveOf(claim);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    // What clients do.

    boolean clientClaims(RunOptions options) throws IOException {
        if (!daemon.isUp() || !engine.serves() || engine.mood != SimulatedEngine.Mood.WELL) {
            return false;
        }
        ProcessId process = machine.spawn();
        Optional<Claim> claim = claim(process, options);
        if (claim.isEmpty()) {
            machine.end(process);
            return true;
        }
        Allocation allocation = daemon.parts().leases().allocation(claim.get(), gpus());
        clients.add(new Client(process, options, claim.get(), allocation));
        say(
                "client "
                        + process.pid()
                        + " has claim "
                        + claim.get().id()
                        + " of "
                        + claim.get().gpus().stream().map(ClaimedGpu::minor).toList());
        return true;
    }

    private Optional<Claim> claim(ProcessId process, RunOptions options) throws IOException {
        List<Optional<Claim>> found = new ArrayList<>();
        Leases.Request request =
                new Leases.Request(
                        options.request(),
                        gpus(),
                        new Owner(NOBODYS_UID + process.pid() % 2, "user" + process.pid() % 2),
                        process,
                        engine.id,
                        "cuda");
        daemon.perform(
                "claim",
                () -> {
                    try {
                        found.add(daemon.parts().leases().claim(request));
                    } catch (RefusedException e) {
                        say("refused: " + e.getMessage());
                        check.refusal(request, e.getMessage());
                    }
                });
        // When the daemon is killed now, the client has no answer.
        return daemon.isUp()
                ? found.stream().flatMap(Optional::stream).findFirst()
                : Optional.empty();
    }

    /** From the claim to the start, with nothing in between. */
    boolean run(RunOptions options) throws IOException {
        int before = clients.size();
        if (!clientClaims(options)) {
            return false;
        }
        if (clients.size() > before) {
            Client client = clients.getLast();
            create(client, false);
            if (clients.contains(client)) {
                start(client, false);
            }
        }
        return true;
    }

    boolean clientGoesOn(int index, boolean fails, boolean slowly) {
        List<Client> waiting = clients.stream().filter(it -> !it.started).toList();
        if (waiting.isEmpty()) {
            return false;
        }
        Client client = waiting.get(index % waiting.size());
        if (client.container.isEmpty()) {
            return create(client, fails);
        }
        start(client, slowly);
        return true;
    }

    private void start(Client client, boolean slowly) {
        SimulatedContainer container = client.container.orElseThrow();
        Optional<String> error = engine.start(container, slowly);
        say("start " + container + ": " + error.orElse("done"));
        client.started = true;
        if (error.isPresent() || client.options.detached()) {
            leave(client);
        }
    }

    private boolean create(Client client, boolean fails) {
        var mount = client.allocation.mounts().getFirst();
        Settings settings =
                new Settings(
                        client.allocation.labels(),
                        Optional.of(mount.volume()),
                        client.claim.gpus().stream().map(ClaimedGpu::minor).toList(),
                        client.options.always(),
                        client.options.remove());
        Optional<String> error =
                client.claim.engine().equals(engine.id)
                        ? engine.create(settings, mount.options(), fails)
                        : Optional.of("the engine is another");
        say("create: " + error.orElse("done"));
        if (error.isEmpty()) {
            client.container = Optional.of(engine.containers.getLast());
        }
        if (error.isPresent() || client.options.createOnly()) {
            leave(client);
        }
        return true;
    }

    boolean clientDies(int index) {
        if (clients.isEmpty()) {
            return false;
        }
        leave(clients.get(index % clients.size()));
        return true;
    }

    /** It went away before it became docker, and the daemon has noticed. */
    boolean clientHangsUp(int index) throws IOException {
        List<Client> waiting =
                clients.stream().filter(client -> client.container.isEmpty()).toList();
        if (waiting.isEmpty()) {
            return false;
        }
        Client client = waiting.get(index % waiting.size());
        leave(client);
        return daemon.perform("cancel", () -> daemon.parts().leases().cancel(client.claim));
    }

    private void leave(Client client) {
        machine.end(client.process);
        clients.remove(client);
    }

    // What becomes of containers.

    /** One of those that docker can do something with, and of which that is true. */
    private Optional<SimulatedContainer> container(
            int index, Predicate<SimulatedContainer> condition) {
        if (!engine.serves()) {
            return Optional.empty();
        }
        List<SimulatedContainer> those =
                engine.containers.stream()
                        .filter(container -> !container.isLocked())
                        .filter(condition)
                        .toList();
        return those.isEmpty() ? Optional.empty() : Optional.of(those.get(index % those.size()));
    }

    boolean start(int index, boolean slowly) {
        return container(index, it -> !it.isRunning() && it.state != State.RESTARTING)
                .map(container -> {
                    say(
                            "start "
                                    + container
                                    + ": "
                                    + engine.start(container, slowly).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean finishStart(boolean fails) {
        Optional<SimulatedContainer> starting =
                engine.containers.stream()
                        .filter(it -> it.state == State.STARTING && !it.waiting)
                        .findFirst();
        starting.ifPresent(container -> {
            say("start of " + container + (fails ? " fails" : " is finished"));
            engine.finishStart(container, fails);
        });
        return starting.isPresent();
    }

    /**
     * A first process ends by itself.
     *
     * @param linger whether another process of its container lives on
     */
    boolean end(int index, boolean linger) {
        return container(index, it -> it.init.filter(machine::lives).isPresent())
                .map(container -> {
                    say(container + " ends");
                    if (linger && unknownClaims.isEmpty()) {
                        linger(container);
                    }
                    engine.end(container, false, false);
                    return true;
                })
                .orElse(false);
    }

    private void linger(SimulatedContainer container) {
        if (container.init.filter(machine::lives).isPresent()) {
            Optional<String> cgroup = Optional.of(container.cgroup());
            ProcessId other = machine.spawn(container.claim(), cgroup);
            container.others.add(other);
            lingering.add(other);
        }
    }

    boolean handleEnd(int index) {
        List<SimulatedContainer> ended =
                engine.containers.stream().filter(engine::hasToHandle).toList();
        if (ended.isEmpty()) {
            return false;
        }
        SimulatedContainer container = ended.get(index % ended.size());
        say("docker sees that " + container + " has ended");
        engine.handleEnd(container);
        return true;
    }

    boolean startAgain(int index) {
        List<SimulatedContainer> waiting =
                engine.containers.stream()
                        .filter(it -> it.state == State.RESTARTING && !it.isLocked())
                        .toList();
        if (waiting.isEmpty() || !engine.serves()) {
            return false;
        }
        SimulatedContainer container = waiting.get(index % waiting.size());
        boolean troubled = container.troubled || !canStart(container);
        Optional<String> error = engine.startAgain(container);
        say("docker starts " + container + " again: " + error.orElse("done"));
        assertTrue(
                troubled || error.isEmpty() || !daemon.isUp(),
                "a restart policy was refused: " + error.orElse(""));
        return true;
    }

    boolean stop(int index, boolean hangs, boolean shown) {
        return container(index, it -> it.isRunning() || it.state == State.RESTARTING)
                .map(container -> {
                    boolean seen = shown || !isLearnt(container);
                    say(
                            "stop "
                                    + container
                                    + (hangs ? ", which hangs" : "")
                                    + ": "
                                    + engine.stop(container, hangs, seen).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    /** Whether the registry knows the first process, so that it needs no other trace of it. */
    private boolean isLearnt(SimulatedContainer container) {
        return daemon.isUp()
                && container.claim().flatMap(this::liveLease).map(Lease::holder).stream()
                        .anyMatch(holder ->
                                holder instanceof Holder.Container known
                                        && known.init().equals(container.init));
    }

    boolean unhang(int index) {
        List<ProcessId> hanging = new ArrayList<>(machine.hanging());
        lingering.stream().filter(machine::lives).forEach(hanging::add);
        if (hanging.isEmpty()) {
            return false;
        }
        ProcessId process = hanging.get(index % hanging.size());
        say("pid " + process.pid() + " ends after all");
        machine.end(process);
        return true;
    }

    boolean restart(int index) {
        Optional<SimulatedContainer> found = container(index, SimulatedContainer::isRunning);
        found.ifPresent(container -> {
            boolean holds =
                    container.lives(machine)
                            && !container.released
                            && !container.troubled
                            && daemon.isUp()
                            && canStart(container)
                            && interlude.isEmpty();
            Optional<String> error = engine.restart(container);
            say("restart " + container + ": " + error.orElse("done"));
            assertTrue(!holds || error.isEmpty(), "a restart was refused: " + error.orElse(""));
        });
        return found.isPresent();
    }

    /**
     * Whether nobody shares its claim, or might for all we can see, and its GPUs are what they
     * were.
     */
    private boolean canStart(SimulatedContainer container) {
        boolean alone =
                container.settings.volume().map(engine::using).map(List::size).orElse(1) == 1;
        boolean same =
                container.gpus().entrySet().stream()
                        .allMatch(gpu ->
                                gpus().stream()
                                        .anyMatch(it ->
                                                it.uuid().equals(gpu.getKey())
                                                        && it.minor() == gpu.getValue()));
        boolean clear = !container.outlives(machine) || engine.mood == SimulatedEngine.Mood.WELL;
        return alone && same && clear;
    }

    boolean remove(int index, boolean force) {
        return container(index, _ -> true)
                .map(container -> {
                    say("rm " + container + ": " + engine.remove(container, force).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean copyFiles(int index) {
        return container(index, _ -> true)
                .map(container -> {
                    say("cp " + container + ": " + engine.copyFiles(container).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean pause(int index) {
        return container(index, it -> it.isRunning() && it.lives(machine))
                .map(container -> {
                    engine.pause(container);
                    return true;
                })
                .orElse(false);
    }

    boolean rename(int index) {
        return container(index, _ -> true)
                .map(container -> {
                    engine.rename(container);
                    return true;
                })
                .orElse(false);
    }

    /** Another container with the same volume, and with or without the same labels and nodes. */
    boolean share(int index, boolean whole) {
        return derive(
                index,
                "share",
                it ->
                        new Settings(
                                whole ? it.labels() : Map.of(),
                                it.volume(),
                                whole ? it.minors() : List.of(),
                                whole && it.always(),
                                false));
    }

    /** {@code docker commit}, and a container of the image: it has the labels alone. */
    boolean commit(int index) {
        return derive(
                index,
                "commit",
                it -> new Settings(it.labels(), Optional.empty(), List.of(), false, false));
    }

    private boolean derive(int index, String what, UnaryOperator<Settings> settings) {
        return container(index, _ -> true)
                .map(container -> {
                    Settings derived = settings.apply(container.settings);
                    Optional<String> error = engine.create(derived, Map.of(), false);
                    say(what + " " + container + ": " + error.orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean pruneVolumes() {
        if (!engine.serves()) {
            return false;
        }
        for (String volume : List.copyOf(engine.volumes.keySet())) {
            if (engine.using(volume).isEmpty()) {
                say("volume rm " + volume + ": " + engine.removeVolume(volume).orElse("done"));
            }
        }
        return true;
    }

    // What the daemon does by itself, and is asked for.

    boolean watch() throws IOException {
        if (!daemon.isUp() || daemon.isWatching() || !engine.serves()) {
            return false;
        }
        daemon.watch();
        return true;
    }

    boolean sweep() throws IOException {
        return daemon.perform("sweep", () -> daemon.parts().reconciler().sweep());
    }

    boolean reconcileTwice() throws IOException {
        if (!daemon.isUp() || !engine.serves() || engine.mood != SimulatedEngine.Mood.WELL) {
            return false;
        }
        interlude = Optional.empty();
        Reconciler reconciler = daemon.parts().reconciler();
        if (!daemon.perform("reconcile", reconciler::reconcile)) {
            return true;
        }
        learnt();
        String once = check.dump();
        if (daemon.perform("reconcile", reconciler::reconcile)) {
            org.junit.jupiter.api.Assertions.assertEquals(once, check.dump(), "reconciled again");
        }
        return true;
    }

    /** The engine has told of all of its containers. */
    void learnt() {
        engine.containers.forEach(container -> container.claim().ifPresent(unknownClaims::remove));
    }

    boolean release(int index, boolean force) throws IOException {
        if (!daemon.isUp()) {
            return false;
        }
        List<Lease> live = daemon.parts().registry().live();
        if (live.isEmpty()) {
            return false;
        }
        Lease lease = live.get(index % live.size());
        String claim = lease.claim().id();
        say("release " + claim + (force ? " by force" : ""));
        if (force) {
            forced(claim);
            return daemon.perform(
                    "release", () -> daemon.parts().leases().releaseByForce(claim, "root"));
        }
        return daemon.perform("release", () -> daemon.parts().leases().release(claim));
    }

    private void forced(String claim) {
        for (SimulatedContainer container : allContainers()) {
            if (container.claim().equals(Optional.of(claim))) {
                container.released = true;
                container.troubled = true;
            }
        }
        clients.removeIf(client -> {
            boolean its = client.claim.id().equals(claim);
            if (its) {
                machine.end(client.process);
            }
            return its;
        });
    }

    // What befalls the daemon and its files.

    boolean killDaemon() throws IOException {
        if (!daemon.isUp()) {
            return false;
        }
        daemon.kill();
        return true;
    }

    boolean startDaemon() throws IOException {
        if (daemon.isUp() || daemon.isBusy()) {
            return false;
        }
        daemon.start();
        return true;
    }

    boolean loseRegistry(boolean damage) throws IOException {
        if (machine.hidesAny()) {
            // The registry alone knew of it.
            return false;
        }
        finishStarts();
        killDaemon();
        for (Path part : registryFiles()) {
            if (damage && part.endsWith("registry.db")) {
                Files.writeString(part, "this was a registry\n".repeat(500));
            } else {
                Files.delete(part);
            }
        }
        forgetLeases();
        return true;
    }

    boolean loseState() throws IOException {
        boolean anyUntold =
                allContainers().stream()
                        .filter(container -> container.lives(machine))
                        .anyMatch(it -> !engine.containers.contains(it) || it.outlives(machine));
        if (anyUntold || machine.hidesAny()) {
            // No engine that answers could tell of it.
            return false;
        }
        finishStarts();
        killDaemon();
        clear(state);
        forgetLeases();
        allContainers().forEach(container -> container.claim().ifPresent(unknownClaims::add));
        return true;
    }

    /** Of a start that is under way just then, nothing but what is lost would tell. */
    private void finishStarts() {
        for (SimulatedContainer container : allContainers()) {
            if (container.state == State.STARTING) {
                engine.finishStart(container, false);
            }
        }
    }

    private void forgetLeases() {
        check.registryLost();
        for (SimulatedContainer container : allContainers()) {
            container.lease = Optional.empty();
            container.troubled = true;
        }
    }

    /** What is on disk now is what a loss of power will leave. */
    boolean reachDisk() throws IOException {
        onDisk.clear();
        for (Path part : registryFiles()) {
            onDisk.put(part.getFileName().toString(), Files.readAllBytes(part));
        }
        return true;
    }

    private List<Path> registryFiles() throws IOException {
        try (var files = Files.list(state)) {
            return files.filter(file -> file.getFileName().toString().startsWith("registry.db"))
                    .filter(file -> !file.toString().contains("damaged"))
                    .toList();
        }
    }

    // What befalls the host and its engine.

    boolean wait(Duration duration) {
        machine.pass(duration);
        return true;
    }

    boolean setClock(Duration forth) {
        machine.setClock(forth);
        return true;
    }

    /**
     * @param powerLoss whether the registry is what it was some time ago
     * @param recabled whether the GPUs get other minors
     * @param daemonFirst whether the daemon is up before the engine, as our units have it
     */
    boolean reboot(boolean powerLoss, boolean recabled, boolean daemonFirst) throws IOException {
        killDaemon();
        if (powerLoss && !onDisk.isEmpty()) {
            for (Path part : registryFiles()) {
                Files.delete(part);
            }
            for (var part : onDisk.entrySet()) {
                Files.write(state.resolve(part.getKey()), part.getValue());
            }
        }
        onDisk.clear();
        forgetLeases();
        clients.clear();
        engines.forEach(SimulatedEngine::die);
        machine.boot();
        lingering.clear();
        for (SimulatedContainer container : allContainers()) {
            container.init = Optional.empty();
            container.others.clear();
        }
        if (recabled) {
            int first = minors.values().iterator().next();
            minors.replaceAll((_, minor) -> (minor + 1) % GPUS);
            say("minors begin with " + minors.values().iterator().next() + ", not " + first);
        }
        if (daemonFirst) {
            daemon.start();
        }
        engine.begin(true);
        return true;
    }

    boolean unplug(int index) {
        if (unplugged.isEmpty()) {
            unplugged.add(List.copyOf(minors.keySet()).get(index % GPUS));
        } else {
            unplugged.clear();
        }
        return true;
    }

    boolean stopEngine(boolean kindly, boolean liveRestore) {
        if (!engine.runs()) {
            return false;
        }
        if (kindly) {
            engine.finish(liveRestore);
        } else {
            engine.containers.stream()
                    .filter(container -> container.state == State.STARTING)
                    .forEach(container -> container.state = container.before);
            engine.die();
        }
        daemon.leave();
        trouble();
        return true;
    }

    /**
     * @param another whether it is the other engine that answers now
     */
    boolean startEngine(boolean another, boolean liveRestore) {
        if (engine.runs()) {
            return false;
        }
        boolean unknown =
                engine.containers.stream()
                        .filter(container -> container.lives(machine))
                        .anyMatch(it -> it.claim().filter(unknownClaims::contains).isPresent());
        if (another && unknown) {
            // The other could not tell of them.
            return false;
        }
        if (another) {
            engine = engines.get(engine == engines.getFirst() ? 1 : 0);
        }
        say(engine.id + " starts");
        engine.begin(liveRestore);
        return true;
    }

    boolean changeMood(SimulatedEngine.Mood mood) {
        if (!engine.serves() || engine.mood == mood) {
            return false;
        }
        engine.mood = mood;
        if (mood != SimulatedEngine.Mood.WELL) {
            trouble();
        }
        return true;
    }

    private void trouble() {
        allContainers().forEach(container -> container.troubled = true);
    }

    // The end of it.

    /** Everything gets the time that it needs, and then only what lives has anything. */
    void settle() throws IOException {
        interlude = Optional.empty();
        trace.add("everything settles");
        startEngine(false, true);
        engine.mood = SimulatedEngine.Mood.WELL;
        startDaemon();
        for (SimulatedContainer container : List.copyOf(engine.containers)) {
            if (container.state == State.STARTING) {
                engine.finishStart(container, false);
            }
            if (engine.hasToHandle(container)) {
                engine.handleEnd(container);
            }
        }
        watch();
        for (int i = 0; i < 3; i++) {
            while (daemon.handleEvent(0, false) || daemon.handleLater(0)) {
                machine.pass(Duration.ofSeconds(1));
            }
            machine.pass(Duration.ofSeconds(11));
            watch();
            sweep();
        }
        learnt();
        interluded = true;
        check.afterEveryStep();
        check.whenSettled();
        interluded = false;
    }

    /** Everything ends, and then every GPU is to be had. */
    void end() throws IOException {
        trace.add("everything ends");
        unplugged.clear();
        List.copyOf(clients).forEach(this::leave);
        for (int i = 0; i < engines.size(); i++) {
            settle();
            machine.hanging().forEach(machine::end);
            lingering.forEach(machine::end);
            for (SimulatedContainer container : List.copyOf(engine.containers)) {
                Optional<String> error = engine.remove(container, true);
                assertTrue(error.isEmpty(), () -> "rm -f " + container + ": " + error);
            }
            settle();
            stopEngine(true, true);
            startEngine(true, true);
        }
        settle();
        check.whenNothingIsLeft();
        RunOptions all = new RunOptions(new GpuRequest.All(), false, true, false, true);
        assertTrue(clientClaims(all) && !clients.isEmpty(), "not every GPU is to be had");
    }

    @Override
    public void close() throws IOException {
        daemon.kill();
        clear(state);
    }

    private static void clear(Path folder) throws IOException {
        List<Path> inside;
        try (var walk = Files.walk(folder)) {
            inside =
                    walk.filter(path -> !path.equals(folder))
                            .sorted(Comparator.reverseOrder())
                            .toList();
        }
        for (Path path : inside) {
            Files.delete(path);
        }
    }
}
