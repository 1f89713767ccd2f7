package jnvdocker.daemon;

import jnvdocker.command.Commands;
import jnvdocker.command.caller.Installation;
import jnvdocker.command.caller.OwnCommands;
import jnvdocker.command.gpu.GpuCommand;
import jnvdocker.command.gpu.change.GpuReload;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.job.JobCommands;
import jnvdocker.command.runtime.CdiHost;
import jnvdocker.command.runtime.OciParts;
import jnvdocker.command.runtime.PodContainers;
import jnvdocker.command.runtime.RefusedWaits;
import jnvdocker.command.runtime.RuntimeCommand;
import jnvdocker.command.runtime.RuntimeCreate;
import jnvdocker.command.runtime.RuntimeExec;
import jnvdocker.command.runtime.RuntimeHook;
import jnvdocker.command.runtime.RuntimeHost;
import jnvdocker.command.runtime.RuntimeWait;
import jnvdocker.command.start.StartContainer;
import jnvdocker.command.start.VolumeSetup;
import jnvdocker.core.LeaseParts;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.doctor.Doctor;
import jnvdocker.feature.Core;
import jnvdocker.feature.Feature;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.oci.install.GuardedRuntimes;
import jnvdocker.oci.install.OwnConfig;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.oci.spec.GpuWishes;
import jnvdocker.process.Processes;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.upkeep.Prune;
import jnvdocker.upkeep.Uninstall;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.plugin.DriverVolumes;
import jnvdocker.volume.plugin.VolumePlugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Wires the commands of clients, engines and agents: none of this runs until one comes. */
final class CommandParts {
    private final Core core;
    private final List<Feature.Running> features;
    private final Directories directories;
    private final LiveConfig config;
    private final GpuHost gpuHost;
    private final DockerEngine engine;
    private final LeaseParts leases;
    private final Installation installation;
    private final RuntimeInstaller installer;
    private final GuardedRuntimes guarded;
    private final EditedContainers edited;
    private final Path refused;
    private final Path hook;

    /** The volumes that the plugin serves. */
    record Volumes(DriverVolumes drivers, VolumePlugin plugin) {}

    /**
     * @param features those that run
     */
    CommandParts(
            Core core,
            List<Feature.Running> features,
            Directories directories,
            LiveConfig config,
            DockerEngine engine,
            GuardedRuntimes guarded,
            EditedContainers edited)
            throws IOException {
        this.core = core;
        this.features = features;
        this.directories = directories;
        this.config = config;
        this.engine = engine;
        this.guarded = guarded;
        this.edited = edited;
        this.gpuHost = core.gpuHost();
        this.leases = core.leases();
        this.installation = core.installation();
        this.installer =
                new RuntimeInstaller(
                        installation.tree().resolve("lib/oci"),
                        new RuntimeInstaller.Place(
                                directories.state(),
                                directories.markers(),
                                directories.socket(),
                                directories.wake()));
        this.refused = installation.tree().resolve("lib/oci/refused/jnvdocker-refused");
        this.hook = installation.tree().resolve("lib/oci/nvidia-container-runtime");
    }

    EditedContainers edited() {
        return edited;
    }

    StartContainer start() {
        return new StartContainer(
                gpuHost,
                core.needs(),
                engine,
                core.planner(),
                leases.leases(),
                config::start,
                guarded);
    }

    /** {@code jnvdocker gpu}. */
    GpuCommand gpu(GpuView view, Volumes volumes, JobCommands jobs, GpuReload.Reload reload) {
        return new GpuCommand(
                gpuHost,
                core.cuda(),
                engine,
                view,
                new GpuCommand.Upkeep(
                        doctor(),
                        prune(volumes.drivers()),
                        uninstall(volumes.plugin()),
                        installation,
                        reload),
                config.gpuSettings(directories.socket()),
                jobs);
    }

    private Doctor doctor() {
        return new Doctor(
                new Doctor.Surroundings(
                        gpuHost,
                        core.cuda(),
                        engine,
                        leases.leases(),
                        leases.registry(),
                        edited,
                        core.monitor().health(),
                        config::defaultGpus,
                        installer,
                        config::cdiNvidia,
                        config::trustedOwners,
                        config::examine,
                        List.copyOf(features),
                        directories.facts(installation)));
    }

    private Prune prune(DriverVolumes drivers) {
        return new Prune(
                engine,
                gpuHost,
                drivers,
                leases.prune(),
                leases.leases(),
                Processes.ofThisMachine(),
                directories.pluginName());
    }

    private Uninstall uninstall(VolumePlugin plugin) {
        return new Uninstall(
                engine,
                leases.leases(),
                leases.reconciler(),
                plugin,
                gpuHost.served(),
                installer,
                new OwnConfig(directories.config()),
                features,
                directories.pluginName());
    }

    RuntimeHost runtimeHost(GpuReload.Reload reload) {
        return new RuntimeHost(
                installer,
                engine,
                gpuHost.inventory(),
                config::realRuntime,
                directories.config(),
                new CdiHost(gpuHost, config::cdiNvidia),
                refused,
                pods().enabled(),
                reload::perform);
    }

    private PodContainers.Pods pods() {
        return features.stream()
                .flatMap(feature -> feature.pods().stream())
                .findFirst()
                .orElse(PodContainers.Pods.NONE);
    }

    /** {@code jnvdocker runtime}, and the creations of OCI engines. */
    RuntimeCommand runtime(RuntimeHost host) {
        OciParts oci =
                new OciParts(
                        gpuHost,
                        core.needs(),
                        leases.leases(),
                        leases.oci(),
                        leases.ociKeeper(),
                        new GpuWishes(config::wishes, directories.pluginName(), engine::standard),
                        new ContainerOwner(config::trustedOwners),
                        engine::isTrial,
                        directories.state().resolve(ClaimFiles.DIRECTORY),
                        directories.proxySocket(),
                        config::observers);
        RefusedWaits waits = new RefusedWaits();
        return new RuntimeCommand(
                host,
                new RuntimeCreate(
                        oci,
                        core.planner(),
                        edited,
                        waits,
                        engine,
                        new RuntimeCreate.Programs(config::busyRetries, refused, hook),
                        pods()),
                new RuntimeExec(edited),
                new RuntimeHook(oci),
                new RuntimeWait(oci, waits, engine));
    }

    Commands all(StartContainer start, GpuCommand gpu, JobCommands jobs, RuntimeCommand runtime) {
        List<OwnCommands> groups = new ArrayList<>();
        groups.add(runtime);
        features.forEach(feature -> groups.add(feature.commands()));
        return new Commands(
                start,
                new VolumeSetup(gpuHost.host(), directories.pluginName(), start),
                gpu,
                jobs,
                groups);
    }
}
