package jnvdocker.daemon;

import jnvdocker.command.caller.Installation;
import jnvdocker.command.gpu.GpuCommand;
import jnvdocker.command.gpu.change.GpuReload;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.job.JobCommands;
import jnvdocker.command.job.Jobs;
import jnvdocker.command.runtime.CdiKeeper;
import jnvdocker.command.runtime.RuntimeCommand;
import jnvdocker.command.runtime.RuntimeHost;
import jnvdocker.command.start.NeedsCheck;
import jnvdocker.command.start.StartContainer;
import jnvdocker.config.ConfigTable;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.core.LeaseParts;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineWatch;
import jnvdocker.feature.Core;
import jnvdocker.feature.Feature;
import jnvdocker.holder.HolderKind;
import jnvdocker.holder.Pace;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.idle.IdleKeeper;
import jnvdocker.keeper.HistoryKeeper;
import jnvdocker.metrics.MetricsPage;
import jnvdocker.notify.Notifier;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuMonitor;
import jnvdocker.oci.install.GuardedRuntimes;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.rest.RestPages;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.volume.plugin.PluginServer;
import jnvdocker.volume.plugin.VolumePlugin;
import jnvdocker.web.HealthPage;
import jnvdocker.web.WebServer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Wires the daemon's parts by hand, starts them in order and stops them in reverse. */
final class Daemon implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Daemon.class);

    /** The client checks this lock to find out whether a daemon is about to answer. */
    private static final String RUN_LOCK = "jnvdockerd.pid";

    private final Deque<AutoCloseable> started = new ArrayDeque<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private ClientServer clients;
    private WebServer web;

    private Daemon() {}

    /**
     * Starts a daemon, which serves once this returns and until it is closed.
     *
     * @throws IOException naming the obstacle; nothing is left running then
     */
    static Daemon start(Directories directories, List<Feature> features) throws IOException {
        Daemon daemon = new Daemon();
        try {
            daemon.startParts(directories, features);
            return daemon;
        } catch (IOException | RuntimeException e) {
            daemon.close();
            throw e;
        }
    }

    /**
     * Makes this daemon the only one of the host: a second one, whatever its directories, would
     * give out the same GPUs. The lock is that of the usual run directory.
     */
    private void takeHost(Host host, Path run) throws IOException {
        Path usual = host.resolve("/run/jnvdocker");
        if (!Files.exists(usual) || !Files.isSameFile(usual, run)) {
            started.push(
                    DaemonLock.take(
                            usual, RUN_LOCK, "gives out the GPUs of this host already", ""));
        }
    }

    private void startParts(Directories directories, List<Feature> features) throws IOException {
        started.push(
                DaemonLock.take(
                        directories.run(),
                        RUN_LOCK,
                        "uses " + directories.run(),
                        "set JNVDOCKER_RUN_DIR to another directory"));
        started.push(StateDirectory.take(directories.state()));
        LiveConfig config =
                LiveConfig.read(
                        directories,
                        features.stream().<ConfigTable<?>>map(Feature::table).toList());
        Host host = directories.host();
        takeHost(host, directories.run());
        host.setDriverDirectories(config.driverDirectories());
        DeviceNodes nodes = new DeviceNodes(host);
        nodes.link();
        GpuInventory inventory = new GpuInventory(host, nodes);
        DriverVolumeStore volumes = new DriverVolumeStore(directories.state());
        GuardedRuntimes guarded = new GuardedRuntimes(directories.socket());
        DockerEngine engine =
                new DockerEngine(directories.dockerSocket(), directories.proxySocket(), guarded);
        started.push(engine);
        GpuMonitor monitor = NvmlSource.monitor(host, directories, volumes);
        EditedContainers edited = EditedContainers.in(directories.markers());
        LeaseParts.World world =
                LeaseWorld.of(directories, config, host, nodes, inventory, engine, monitor, edited);
        LeaseParts parts =
                LeaseParts.open(
                        world, features.stream().map(Feature::kind).toArray(HolderKind[]::new));
        started.push(parts);
        started.push(parts.keep(world.pace()));
        started.push(parts.queueKeeper().start());
        started.push(
                Notifier.start(
                        config::notifyDirectories,
                        world.log(),
                        inventory,
                        world.troubles(),
                        parts.leases(),
                        directories.run()));
        started.push(parts.stops().start(config::stopOverdue));
        CudaVersions cuda = new CudaVersions(monitor::cuda);
        ServedVolumes served = new ServedVolumes(volumes, directories.state(), directories.run());
        GpuHost gpuHost = new GpuHost(host, inventory, nodes, volumes, served);
        FirstVolume.make(host, volumes, served);
        Installation installation = installation(directories);
        Core core =
                new Core(
                        installation,
                        config,
                        new Core.Places(directories.socket(), directories.run(), directories.cdi()),
                        gpuHost,
                        cuda,
                        monitor,
                        world,
                        parts,
                        new NeedsCheck(cuda, monitor::facts),
                        new ContainerPlanner(nodes, directories.pluginName()));
        List<Feature.Running> running = new ArrayList<>();
        for (Feature feature : features) {
            running.add(feature.start(core));
            started.push(running.getLast());
        }
        DriverVolumes driverVolumes =
                new DriverVolumes(
                        host,
                        volumes,
                        served,
                        parts.leases()::unknownToDocker,
                        parts.refusedStarts()::lacksDriver);
        VolumePlugin plugin = new VolumePlugin(List.of(driverVolumes, parts.volumes()));
        started.push(PluginServer.listen(plugin, directories.pluginSocket()));
        started.push(EngineWatch.start(engine, parts.reconciler(), parts.refusedStarts()));
        started.push(HistoryKeeper.start(parts.registry(), config::keepHistory, Pace.REAL));
        CommandParts commands =
                new CommandParts(core, running, directories, config, engine, guarded, edited);
        started.push(monitor.start());
        IdleKeeper idle = IdleKeeper.start(parts, world, monitor::known, config::idleWarn);
        started.push(idle);
        GpuView view =
                new GpuView(host, parts.leases(), monitor::readings, monitor::topologies, idle);
        GpuReload.Reload reload = () -> reload(config, host, parts, running);
        StartContainer start = commands.start();
        JobCommands jobs = jobs(world, parts, installation, directories, config);
        GpuCommand gpu =
                commands.gpu(view, new CommandParts.Volumes(driverVolumes, plugin), jobs, reload);
        RuntimeHost runtimeHost = commands.runtimeHost(reload);
        RuntimeCommand runtime = commands.runtime(runtimeHost);
        parts.ociKeeper().start(commands.edited(), directories.wake());
        started.push(parts.ociKeeper());
        RestPages rest =
                new RestPages(view, cuda, monitor::known, config.gpuSettings(directories.socket()));
        started.push(rest);
        MetricsPage metrics = new MetricsPage(view, config::listenLabels);
        web = WebServer.start(List.of(new HealthPage(), metrics, rest));
        started.push(web);
        web.change(config.listen()).use();
        clients =
                ClientServer.listen(
                        directories.socket(),
                        config.socketGroup(),
                        commands.all(start, gpu, jobs, runtime),
                        web);
        started.push(clients);
        onHangUp(reload);
        Thread.ofVirtual().start(runtimeHost::refresh);
        started.push(CdiKeeper.start(runtimeHost));
    }

    private JobCommands jobs(
            LeaseParts.World world,
            LeaseParts parts,
            Installation installation,
            Directories directories,
            LiveConfig config)
            throws IOException {
        Jobs jobs =
                Jobs.start(
                        world,
                        parts,
                        installation.tree().resolve("bin/jnvdocker"),
                        directories.socket(),
                        config::keepHistory);
        started.push(jobs);
        return new JobCommands(jobs);
    }

    private Installation installation(Directories directories) throws IOException {
        return new Installation(
                SystemdService.isOurs(Files.readString(Path.of("/proc/self/cgroup"))),
                Installation.thisTree(),
                directories.config(),
                directories.state(),
                directories.cache(),
                ended::countDown);
    }

    /**
     * Reads the configuration again, and returns what was read. Requests that wait in the queue may
     * be allowed more by the new settings, or less.
     */
    private GpuReload.Read reload(
            LiveConfig config, Host host, LeaseParts parts, List<Feature.Running> features)
            throws IOException {
        List<Path> files =
                config.reload(next -> {
                    try (var change = web.change(config.listen(next))) {
                        clients.admit(next.socketGroup());
                        change.use();
                    }
                });
        host.setDriverDirectories(config.driverDirectories());
        parts.registry().changes().add();
        features.forEach(Feature.Running::reloaded);
        GpuReload.Read read = new GpuReload.Read(files, config.policy().limits().groups());
        LOG.info("{}", read.text());
        return read;
    }

    /** As dockerd does; without a handler SIGHUP ends Java. */
    private static void onHangUp(GpuReload.Reload reload) {
        Posix.onHangUp(() -> {
            try {
                reload.perform().warnings().forEach(it -> LOG.warn("{}", it));
            } catch (IOException e) {
                LOG.error("{}", FileErrors.describe(e));
            }
        });
    }

    /** Waits until the daemon has received a request to end. */
    void await() throws InterruptedException {
        ended.await();
    }

    @Override
    public void close() {
        while (!started.isEmpty()) {
            try {
                started.pop().close();
            } catch (Exception e) {
                LOG.warn("stopping: {}", e.getMessage());
            }
        }
    }
}
