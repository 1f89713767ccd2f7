package jnvdocker.use;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.DriverUse;
import jnvdocker.host.DrmNodes;
import jnvdocker.host.Gpu;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.DeviceUser;
import jnvdocker.process.OpenDevices;
import jnvdocker.process.ProcessTraits;
import jnvdocker.process.Processes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;

/** The uses of GPUs on this machine, as its processes and an engine's containers show. */
public final class SeenUses implements GpuUses {
    private static final Logger LOG = LoggerFactory.getLogger(SeenUses.class);

    private static final Duration PATH_LIMIT = Duration.ofMillis(500);

    private final Processes processes;
    private final RunningContainers engine;
    private final DeviceNodes nodes;
    private final GrantedGpus.Paths paths;
    private final Supplier<IgnoredUsers> ignored;
    private final MemoryUsers drawing;
    private final Observing observing;
    private final DriverUse driver;
    private final SharedAnswer<OpenDevices> open = new SharedAnswer<>();
    private final SharedAnswer<List<RunningContainer>> running = new SharedAnswer<>();
    private volatile Optional<Scanned> last = Optional.empty();
    private volatile boolean knowsContainers;
    private volatile Map<Integer, Integer> cards = Map.of();

    /**
     * @param drawing the processes that draw on a GPU and do not compute
     * @param observing what is known of containers that observe
     */
    public SeenUses(
            Processes processes,
            RunningContainers engine,
            DeviceNodes nodes,
            DriverUse driver,
            Supplier<IgnoredUsers> ignored,
            MemoryUsers drawing,
            Observing observing) {
        this.processes = processes;
        this.engine = engine;
        this.nodes = nodes;
        this.driver = driver;
        this.paths = new Named(new HostPaths(nodes, PATH_LIMIT));
        this.ignored = ignored;
        this.drawing = drawing;
        this.observing = observing;
    }

    /**
     * Containers that have the nodes of all GPUs open to observe them, which is no use.
     *
     * @param memory the processes that have memory of a GPU: they compute, or draw
     */
    public record Observing(Observers observers, MemoryUsers memory) {
        public static final Observing NONE = new Observing(Observers.NONE, MemoryUsers.UNKNOWN);

        /** Whether a process has a GPU open only to observe it. */
        boolean is(ProcessTraits traits, int pid, Gpu gpu) {
            return traits.container().filter(observers::observes).isPresent()
                    && !memory.of(gpu.wholeUuid()).contains(pid);
        }
    }

    @Override
    public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
        var listed =
                CompletableFuture.supplyAsync(
                        () -> running.get(() -> running(limit)), Thread::startVirtualThread);
        OpenDevices users = open.get(this::users);
        return uses(gpus, users, listed.join());
    }

    @Override
    public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
        return uses(gpus, open.get(this::users), engine.lastKnown());
    }

    @Override
    public List<GpuUse> processes(List<Gpu> gpus, Duration recent) {
        OpenDevices users =
                last.filter(it -> System.nanoTime() - it.at() <= recent.toNanos())
                        .map(Scanned::found)
                        .orElseGet(() -> open.get(this::users));
        return processes(gpus, users, engine.lastKnown());
    }

    private List<RunningContainer> running(Duration limit) {
        try {
            List<RunningContainer> containers = engine.running(limit);
            knowsContainers = true;
            return containers;
        } catch (IOException e) {
            LOG.debug("containers are taken as they were last seen: {}", e.getMessage());
            return engine.lastKnown();
        }
    }

    @Override
    public boolean knowsContainers() {
        return knowsContainers || !engine.isThere();
    }

    @Override
    public List<Observer> observers() {
        return observing.observers().running();
    }

    @Override
    public void renamed(String container, String name) {
        observing.observers().renamed(container, name);
    }

    @Override
    public List<OpenDevices.Partial> beyond() {
        return last.map(it -> it.found().beyond()).orElse(List.of());
    }

    /**
     * A scan of the processes.
     *
     * @param at as {@link System#nanoTime} counts
     */
    private record Scanned(OpenDevices found, long at) {}

    private OpenDevices users() {
        long began = System.nanoTime();
        try {
            OpenDevices found =
                    driver.isUnused()
                            ? OpenDevices.NONE
                            : processes.usersOf(nodes.gpuMajor(), DrmNodes.MAJOR);
            last = Optional.of(new Scanned(found, began));
            return found;
        } catch (IOException e) {
            // No GPU can be granted either: its node is checked against the same number.
            LOG.debug("the GPUs' major is not known: {}", FileErrors.describe(e));
            return OpenDevices.NONE;
        }
    }

    private List<GpuUse> uses(List<Gpu> gpus, OpenDevices open, List<RunningContainer> containers) {
        List<GpuUse> uses = new ArrayList<>();
        for (RunningContainer container : containers) {
            if (!ignored.get().hasImage(container.image())) {
                GrantedGpus granted = new GrantedGpus(container.access(), paths);
                granted.kinds(gpus, major())
                        .forEach((gpu, kind) ->
                                uses.add(
                                        new GpuUse(
                                                gpu,
                                                kind,
                                                Optional.of(container),
                                                Optional.empty())));
            }
        }
        uses.addAll(processes(gpus, open, containers));
        return uses;
    }

    private List<GpuUse> processes(
            List<Gpu> gpus, OpenDevices open, List<RunningContainer> containers) {
        List<GpuUse> uses = new ArrayList<>();
        Map<Integer, Integer> graphics = graphics(gpus, open);
        for (DeviceUser user : open.users()) {
            List<Gpu> its =
                    gpus.stream().filter(gpu -> user.minors().contains(gpu.minor())).toList();
            Capabilities capabilities = capabilities(user.process(), its);
            Predicate<Gpu> isClear =
                    gpu -> gpu.part().isEmpty() || capabilities.distinguish(gpu, its);
            Predicate<Gpu> used =
                    gpu -> its.contains(gpu) && isClear.test(gpu) && capabilities.allow(gpu, its);
            Predicate<Gpu> perhaps = gpu -> its.contains(gpu) && !isClear.test(gpu);
            uses.addAll(uses(gpus, user.process(), GpuUse.Kind.OPEN, used, containers));
            uses.addAll(uses(gpus, user.process(), GpuUse.Kind.OPEN_WHOLE, perhaps, containers));
            Predicate<Gpu> drawnOn =
                    gpu ->
                            gpu.part().isEmpty()
                                    && !its.contains(gpu)
                                    && user.graphics().stream()
                                            .map(graphics::get)
                                            .anyMatch(
                                                    minor -> minor != null && minor == gpu.minor());
            uses.addAll(uses(gpus, user.process(), GpuUse.Kind.OPEN_GRAPHICS, drawnOn, containers));
        }
        for (OpenDevices.Partial process : open.beyond()) {
            if (process.pending()) {
                // By opening it, the user could have it alone, too, and so gains nothing by this.
                boolean inside = isInContainer(process.process());
                Predicate<Gpu> any =
                        gpu ->
                                driver.mayOpen(gpu, process.credentials())
                                        || inside
                                                && driver.mayOpenGraphics(
                                                        gpu, process.credentials());
                uses.addAll(uses(gpus, process.process(), GpuUse.Kind.UNKNOWN, any, containers));
            }
        }
        return uses;
    }

    /** Returns the minors of GPUs by those of their graphics nodes, if any process has one open. */
    private Map<Integer, Integer> graphics(List<Gpu> gpus, OpenDevices open) {
        if (open.users().stream().allMatch(user -> user.graphics().isEmpty())) {
            return Map.of();
        }
        try {
            cards = DrmNodes.minors(nodes.host(), gpus);
        } catch (IOException e) {
            LOG.debug("the graphics nodes stay as they were: {}", FileErrors.describe(e));
        }
        return cards;
    }

    private boolean isInContainer(ProcessId process) {
        return processes
                .traits(process)
                .filter(its -> its.container().isPresent() || its.other().isPresent())
                .isPresent();
    }

    /** None when they cannot be determined, or no GPU is a MIG instance. */
    private Capabilities capabilities(ProcessId process, List<Gpu> gpus) {
        if (gpus.stream().allMatch(gpu -> gpu.part().isEmpty())) {
            return Capabilities.NONE;
        }
        try {
            OptionalInt major = nodes.capsMajor();
            return major.isEmpty()
                    ? Capabilities.NONE
                    : new Capabilities(
                            processes.openBy(process, major.getAsInt()).orElse(new TreeSet<>()));
        } catch (IOException e) {
            LOG.debug("the major of capabilities is not known: {}", FileErrors.describe(e));
            return Capabilities.NONE;
        }
    }

    private List<GpuUse> uses(
            List<Gpu> gpus,
            ProcessId user,
            GpuUse.Kind kind,
            Predicate<Gpu> its,
            List<RunningContainer> containers) {
        if (gpus.stream().noneMatch(its)) {
            return List.of();
        }
        Optional<ProcessTraits> found = processes.traits(user);
        if (found.isEmpty() || ignored.get().has(found.get())) {
            return List.of();
        }
        ProcessTraits traits = found.get();
        Predicate<RunningContainer> itsOwn =
                container -> traits.container().filter(container.id()::equals).isPresent();
        Optional<RunningContainer> container = containers.stream().filter(itsOwn).findFirst();
        if (container.filter(it -> ignored.get().hasImage(it.image())).isPresent()) {
            return List.of();
        }
        GpuUse.User process =
                new GpuUse.User(
                        user, traits.name(), traits.uid(), traits.container(), traits.other());
        // Outside containers, a graphics node alone is a desktop's: programs that compute open the
        // GPU's own node as well.
        if (kind == GpuUse.Kind.OPEN_GRAPHICS && !process.isInContainer()) {
            return List.of();
        }
        return gpus.stream()
                .filter(gpu -> gpu.isIdentified() && its.test(gpu) && !draws(process, gpu))
                .filter(gpu -> !observing.is(traits, user.pid(), gpu))
                .map(gpu -> new GpuUse(gpu, kind, container, Optional.of(process)))
                .toList();
    }

    /** The programs of a desktop; what draws in a container was started for that. */
    private boolean draws(GpuUse.User process, Gpu gpu) {
        return !process.isInContainer() && drawing.of(gpu.wholeUuid()).contains(process.id().pid());
    }

    private int major() {
        try {
            return nodes.gpuMajor();
        } catch (IOException e) {
            return GrantedGpus.NO_MAJOR;
        }
    }

    /** Paths of nodes; if a path does not answer, its name alone counts. */
    private static final class Named implements GrantedGpus.Paths {
        private final HostPaths paths;

        Named(HostPaths paths) {
            this.paths = paths;
        }

        private interface Reach {
            DeviceNodes.Reached at(String path) throws IOException;
        }

        @Override
        public Set<Integer> given(String path) {
            return minors(path, paths::given);
        }

        @Override
        public Set<Integer> seen(String path) {
            return minors(path, paths::seen);
        }

        private static Set<Integer> minors(String path, Reach reach) {
            try {
                return reach.at(path).minors();
            } catch (IOException e) {
                LOG.debug("{}", FileErrors.describe(e));
                OptionalInt minor = DeviceNodes.minorOf(path);
                return minor.isEmpty() ? Set.of() : Set.of(minor.getAsInt());
            }
        }
    }
}
