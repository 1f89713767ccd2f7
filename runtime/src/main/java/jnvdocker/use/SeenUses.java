package jnvdocker.use;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.posix.FileErrors;
import jnvdocker.process.DeviceUser;
import jnvdocker.process.ProcessTraits;
import jnvdocker.process.Processes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;

/** Who uses GPUs on this machine, as its processes and an engine's containers show. */
public final class SeenUses implements GpuUses {
    private static final Logger LOG = LoggerFactory.getLogger(SeenUses.class);

    private final Processes processes;
    private final RunningContainers engine;
    private final DeviceNodes nodes;
    private final IgnoredUsers ignored;
    private final SharedAnswer<List<DeviceUser>> open = new SharedAnswer<>();
    private final SharedAnswer<List<RunningContainer>> running = new SharedAnswer<>();

    public SeenUses(
            Processes processes,
            RunningContainers engine,
            DeviceNodes nodes,
            IgnoredUsers ignored) {
        this.processes = processes;
        this.engine = engine;
        this.nodes = nodes;
        this.ignored = ignored;
    }

    @Override
    public List<GpuUse> look(List<Gpu> gpus, Duration limit) {
        var listed =
                CompletableFuture.supplyAsync(
                        () -> running.get(() -> running(limit)), Thread::startVirtualThread);
        List<DeviceUser> users = open.get(this::users);
        return uses(gpus, users, listed.join());
    }

    @Override
    public List<GpuUse> lookWithoutEngine(List<Gpu> gpus) {
        return uses(gpus, open.get(this::users), engine.lastKnown());
    }

    private List<RunningContainer> running(Duration limit) {
        try {
            return engine.running(limit);
        } catch (IOException e) {
            LOG.debug("containers are taken as they were last seen: {}", e.getMessage());
            return engine.lastKnown();
        }
    }

    private List<DeviceUser> users() {
        try {
            return processes.usersOf(nodes.gpuMajor());
        } catch (IOException e) {
            // Then nobody can be given a GPU either: its node is checked against the same number.
            LOG.debug("the GPUs' major is not known: {}", FileErrors.describe(e));
            return List.of();
        }
    }

    private List<GpuUse> uses(
            List<Gpu> gpus, List<DeviceUser> users, List<RunningContainer> containers) {
        List<GpuUse> uses = new ArrayList<>();
        for (RunningContainer container : containers) {
            if (!ignored.hasImage(container.image())) {
                GrantedGpus granted = new GrantedGpus(container.access(), this::minorsAt);
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
        for (DeviceUser user : users) {
            Optional<ProcessTraits> traits = processes.traits(user.process());
            if (traits.isPresent() && !ignored.has(traits.get())) {
                uses.addAll(uses(gpus, user, traits.get(), containers));
            }
        }
        return uses;
    }

    private List<GpuUse> uses(
            List<Gpu> gpus,
            DeviceUser user,
            ProcessTraits traits,
            List<RunningContainer> containers) {
        Predicate<RunningContainer> itsOwn =
                container -> traits.container().filter(container.id()::equals).isPresent();
        Optional<RunningContainer> container = containers.stream().filter(itsOwn).findFirst();
        if (container.filter(it -> ignored.hasImage(it.image())).isPresent()) {
            return List.of();
        }
        GpuUse.User process =
                new GpuUse.User(user.process(), traits.name(), traits.uid(), traits.container());
        return gpus.stream()
                .filter(gpu -> gpu.isSound() && user.minors().contains(gpu.minor()))
                .map(gpu -> new GpuUse(gpu, GpuUse.Kind.OPEN, container, Optional.of(process)))
                .toList();
    }

    private int major() {
        try {
            return nodes.gpuMajor();
        } catch (IOException e) {
            return GrantedGpus.NO_MAJOR;
        }
    }

    private Set<Integer> minorsAt(String path) {
        try {
            return nodes.gpusAt(Path.of(path));
        } catch (IOException | RuntimeException e) {
            LOG.debug("{}", e instanceof IOException io ? FileErrors.describe(io) : e.toString());
            return Set.of();
        }
    }
}
