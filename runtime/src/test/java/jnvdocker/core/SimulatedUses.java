package jnvdocker.core;

import jnvdocker.holder.Unleased;
import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The uses of GPUs in a simulated world, with or without a lease: containers that docker alone
 * made, processes of the host, and our own containers, which may open others' GPUs, too.
 */
final class SimulatedUses implements GpuUses {
    private static final int SOMEBODY = 1_987_654_330;

    /** A use of a GPU. */
    record Use(String who, String gpu) {}

    /** A container that docker alone made. */
    private record Plain(String id, ProcessId init, String gpu, SimulatedEngine engine) {
        RunningContainer running() {
            return new RunningContainer(
                    id, id, "cuda", Optional.of(init), Map.of(), List.of(), GpuAccess.NONE);
        }
    }

    /** A process has a GPU's node open. */
    private record Open(ProcessId process, String gpu, Optional<SimulatedContainer> container) {}

    private final SimulatedWorld world;
    private final List<Plain> plain = new ArrayList<>();
    private final List<Open> open = new ArrayList<>();

    /** Containers that have a claim of another state directory, whose daemon is gone. */
    private final List<ProcessId> elsewhere = new ArrayList<>();

    /** Processes that pretend to be a container of ours. */
    private final List<ProcessId> forgers = new ArrayList<>();

    /** The ids of containers that the engine has listed. */
    private final Set<String> listed = new HashSet<>();

    private int made;
    private int scans;

    SimulatedUses(SimulatedWorld world) {
        this.world = world;
    }

    /** Starts a container that docker alone gives a GPU. */
    boolean startPlain(int index) {
        if (!world.engine().serves()) {
            return false;
        }
        Plain one = new Plain("plain-" + ++made, world.machine.spawn(), gpu(index), world.engine());
        world.say(one.id() + " is given " + one.gpu());
        plain.add(one);
        return true;
    }

    /**
     * A container has a claim of another state directory mounted, and no GPU open.
     *
     * @param same whether the claim has the same id as one of ours
     */
    boolean startElsewhere(int index, boolean same) {
        String claim = same ? aClaim(index).orElse("0123456789ab") : "%012x".formatted(++made);
        Path other = world.machine.state().resolveSibling("other").resolve("claims");
        ProcessId one = world.machine.spawnElsewhere(other.resolve(claim).resolve("mount"));
        world.say("pid " + one.pid() + " has claim " + claim + " of another state directory");
        elsewhere.add(one);
        return true;
    }

    /** A user mounts a claim's directory in a namespace of their own. */
    boolean forge(int index) {
        Optional<String> claim = aClaim(index);
        claim.ifPresent(id -> {
            ProcessId forger = world.machine.spawnForger(id);
            world.say("pid " + forger.pid() + " pretends to be of claim " + id);
            forgers.add(forger);
        });
        return claim.isPresent();
    }

    /** The claim of a container of ours, whether it runs or not. */
    private Optional<String> aClaim(int index) {
        List<String> claims =
                world.allContainers().stream().flatMap(it -> it.claim().stream()).toList();
        return claims.isEmpty() ? Optional.empty() : Optional.of(claims.get(index % claims.size()));
    }

    /** Opens a GPU outside any container. */
    boolean openOnHost(int index) {
        Open one = new Open(world.machine.spawn(), gpu(index), Optional.empty());
        world.say("pid " + one.process().pid() + " opens " + one.gpu());
        open.add(one);
        return true;
    }

    /**
     * A process of a container opens a GPU.
     *
     * @param own whether it is one that the container was given
     */
    boolean openInside(int index, boolean own) {
        List<SimulatedContainer> those =
                world.allContainers().stream().filter(it -> it.lives(world.machine)).toList();
        if (those.isEmpty()) {
            return false;
        }
        SimulatedContainer container = those.get(index % those.size());
        List<Integer> minors = container.settings.minors();
        if (own && minors.isEmpty()) {
            return false;
        }
        ProcessId process =
                container
                        .init
                        .filter(world.machine::lives)
                        .or(() -> container.others.stream().filter(world.machine::lives).findAny())
                        .orElseThrow();
        String gpu = own ? world.gpus.of(minors.getFirst()) : gpu(index);
        Open one = new Open(process, gpu, Optional.of(container));
        world.say(container + " opens " + gpu);
        open.add(one);
        return true;
    }

    /** Ends an unmanaged use. */
    boolean end(int index) {
        List<ProcessId> those = unmanagedProcesses();
        if (those.isEmpty()) {
            return false;
        }
        ProcessId process = those.get(index % those.size());
        world.say("pid " + process.pid() + " uses no GPU any more");
        world.machine.end(process);
        return true;
    }

    /** Ends all unmanaged uses. */
    void end() {
        unmanagedProcesses().forEach(world.machine::end);
    }

    private List<ProcessId> unmanagedProcesses() {
        List<ProcessId> those = new ArrayList<>();
        plain.forEach(it -> those.add(it.init()));
        open.stream().filter(it -> it.container().isEmpty()).forEach(it -> those.add(it.process()));
        those.addAll(elsewhere);
        those.addAll(forgers);
        those.removeIf(it -> !world.machine.lives(it));
        return those;
    }

    private String gpu(int index) {
        List<String> all = world.gpus.all();
        return all.get(index % all.size());
    }

    /** The host has been restarted. */
    void forget() {
        plain.clear();
        open.clear();
        elsewhere.clear();
        forgers.clear();
    }

    /** There is another daemon. */
    void unlist() {
        listed.clear();
    }

    @Override
    public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
        world.moment();
        List<GpuUse> uses = opened(gpus);
        if (world.daemon.answers()) {
            running(world.engine()).forEach(it -> listed.add(it.id()));
            uses.addAll(given(gpus, world.engine()));
        } else {
            if (world.engine().serves() && world.engine().mood == SimulatedEngine.Mood.SLOW) {
                world.machine.pass(limit);
            }
            world.engines.forEach(engine -> uses.addAll(given(gpus, engine)));
        }
        world.moment();
        return uses;
    }

    @Override
    public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
        scans++;
        world.moment();
        List<GpuUse> uses = opened(gpus);
        world.engines.forEach(engine -> uses.addAll(given(gpus, engine)));
        return uses;
    }

    /** The number of scans for uses without the engine. */
    int scans() {
        return scans;
    }

    /** The uses once every engine has listed all of its containers, and nothing happens. */
    GpuUses quietly() {
        return new GpuUses() {
            @Override
            public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
                return scanWithoutEngine(gpus);
            }

            @Override
            public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
                Set<String> before = Set.copyOf(listed);
                world.engines.forEach(engine -> running(engine).forEach(it -> listed.add(it.id())));
                List<GpuUse> uses = opened(gpus);
                world.engines.forEach(engine -> uses.addAll(given(gpus, engine)));
                listed.retainAll(before);
                return uses;
            }
        };
    }

    private List<GpuUse> opened(List<Gpu> gpus) {
        List<GpuUse> uses = new ArrayList<>();
        for (Open one : open) {
            if (!world.machine.shows(one.process())) {
                continue;
            }
            GpuUse.User user =
                    new GpuUse.User(
                            one.process(),
                            "python3",
                            SOMEBODY,
                            one.container().map(container -> container.id));
            Optional<RunningContainer> container =
                    one.container()
                            .filter(SimulatedContainer::isRunning)
                            .filter(it -> listed.contains(it.id))
                            .map(this::running);
            add(uses, gpus, one.gpu(), GpuUse.Kind.OPEN, container, Optional.of(user));
        }
        return uses;
    }

    /** The GPUs given to containers that the engine has listed and that still run. */
    private List<GpuUse> given(List<Gpu> gpus, SimulatedEngine engine) {
        List<GpuUse> uses = new ArrayList<>();
        for (RunningContainer container : running(engine)) {
            if (listed.contains(container.id())) {
                for (String gpu : nodes(container, engine)) {
                    add(
                            uses,
                            gpus,
                            gpu,
                            GpuUse.Kind.NODE,
                            Optional.of(container),
                            Optional.empty());
                }
            }
        }
        return uses;
    }

    private static void add(
            List<GpuUse> uses,
            List<Gpu> gpus,
            String uuid,
            GpuUse.Kind kind,
            Optional<RunningContainer> container,
            Optional<GpuUse.User> user) {
        gpus.stream()
                .filter(gpu -> gpu.uuid().equals(uuid))
                .forEach(gpu -> uses.add(new GpuUse(gpu, kind, container, user)));
    }

    private List<RunningContainer> running(SimulatedEngine engine) {
        List<RunningContainer> running = new ArrayList<>();
        engine.containers.stream()
                .filter(it -> it.isRunning() && it.init.filter(world.machine::lives).isPresent())
                .forEach(it -> running.add(running(it)));
        plain.stream()
                .filter(it -> it.engine() == engine && world.machine.lives(it.init()))
                .forEach(it -> running.add(it.running()));
        return running;
    }

    private RunningContainer running(SimulatedContainer container) {
        return new RunningContainer(
                container.id,
                container.name,
                "cuda",
                container.init,
                container.settings.labels(),
                container.settings.volume().stream().toList(),
                GpuAccess.NONE);
    }

    private List<String> nodes(RunningContainer container, SimulatedEngine engine) {
        return engine.container(container.id())
                .map(own -> own.settings.minors().stream().map(world.gpus::of).toList())
                .orElseGet(() ->
                        plain.stream()
                                .filter(it -> it.id().equals(container.id()))
                                .map(Plain::gpu)
                                .toList());
    }

    /**
     * The uses without a lease that can be known without a query to the engine, by the model's
     * account.
     */
    Set<Use> known() {
        Set<Use> known = new HashSet<>();
        for (Open one : open) {
            if (world.machine.shows(one.process()) && !holds(one)) {
                known.add(new Use("pid " + one.process(), one.gpu()));
            }
        }
        plain.stream()
                .filter(it -> world.machine.lives(it.init()) && listed.contains(it.id()))
                .filter(it -> it.engine() == world.engine())
                .forEach(it -> known.add(new Use(it.id(), it.gpu())));
        return known;
    }

    /** The uses that the engine can report, too, unless something happens meanwhile. */
    Set<Use> seen() {
        Set<Use> seen = known();
        if (world.daemon.answers() && world.course.isUndisturbed()) {
            plain.stream()
                    .filter(it -> world.machine.lives(it.init()) && it.engine() == world.engine())
                    .forEach(it -> seen.add(new Use(it.id(), it.gpu())));
        }
        return seen;
    }

    /** The GPUs in use without a lease. */
    Set<String> used() throws IOException {
        Set<String> used = new HashSet<>();
        open.stream()
                .filter(it -> world.machine.shows(it.process()) && !holds(it))
                .forEach(it -> used.add(it.gpu()));
        plain.stream()
                .filter(it -> world.machine.lives(it.init()))
                .forEach(it -> used.add(it.gpu()));
        for (SimulatedContainer container : world.allContainers()) {
            used.addAll(unknown(container));
        }
        for (Unleased.Running running : world.daemon.parts().unleased().running()) {
            world.gpus().stream().filter(running::mayUse).forEach(gpu -> used.add(gpu.uuid()));
        }
        return used;
    }

    /**
     * When everything known of a container was lost, its use is unmanaged until the engine reports
     * it.
     */
    private Set<String> unknown(SimulatedContainer container) throws IOException {
        Set<String> gpus = new HashSet<>();
        boolean shown =
                container.isRunning()
                        && container.init.filter(world.machine::lives).isPresent()
                        && world.engines.stream().anyMatch(it -> it.containers.contains(container));
        Optional<ClaimKey> key = ClaimNames.ofLabel(container.settings.labels());
        if (shown && container.claim().isPresent() && key.isPresent()) {
            for (int minor : container.settings.minors()) {
                String gpu = world.gpus.of(minor);
                if (!world.daemon.parts().registry().claims().wasClaimed(key.get(), gpu)) {
                    gpus.add(gpu);
                }
            }
        }
        return gpus;
    }

    /** Whether it is of a container that has a lease of this GPU. */
    private boolean holds(Open one) {
        Optional<String> claim = one.container().flatMap(SimulatedContainer::claim);
        return claim.flatMap(world::liveLease).filter(it -> it.isOf(one.gpu())).isPresent();
    }
}
