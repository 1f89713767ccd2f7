package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.posix.HostNames;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.GpuHost;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Finds faults of this host, and reports how to fix them. */
public final class Doctor {
    /** The limit of each check. All run at the same time; most take some milliseconds. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final List<Examination> examinations;
    private final Duration limit;

    /** The objects that the checks examine. */
    public record Surroundings(
            GpuHost gpuHost,
            CudaVersions cuda,
            DockerEngine engine,
            Leases leases,
            EditedContainers edited,
            GpuHealth health,
            Supplier<GpuRequest> defaultGpus,
            Supplier<MesosPolicy> mesos,
            RuntimeInstaller runtimes,
            BooleanSupplier cdiNvidia,
            KubernetesFacts kubernetes,
            DaemonFacts daemon) {
        Host host() {
            return gpuHost.host();
        }
    }

    public Doctor(Surroundings around) {
        this(checks(around), LIMIT);
    }

    Doctor(List<Check> checks, Duration limit) {
        this.examinations = checks.stream().map(Examination::new).toList();
        this.limit = limit;
    }

    private static List<Check> checks(Surroundings around) {
        DockerlessHost dockerless =
                new DockerlessHost(
                        around.host(),
                        around.engine(),
                        around.leases(),
                        around.runtimes(),
                        around.kubernetes(),
                        around.daemon());
        GpuCheck.Board board = () -> around.leases().status(HostDriver.read(around.host()).gpus());
        return List.of(
                new DriverCheck(around.host(), around.cuda()),
                new GpuCheck(board, around.health()::all),
                new NodeCheck(around.host(), around.gpuHost().nodes(), around.daemon()),
                new PersistenceCheck(around.host(), around.gpuHost().store()),
                new EngineCheck(
                        around.engine(), around.gpuHost().nodes(), around.daemon(), dockerless),
                new PluginCheck(
                        around.engine(),
                        around.host(),
                        around.gpuHost().store(),
                        around.daemon(),
                        dockerless),
                new UnitCheck(around.daemon(), around.kubernetes()::enabled),
                new OldPluginCheck(
                        around.host(),
                        around.engine(),
                        around.gpuHost().store(),
                        around.daemon(),
                        dockerless),
                new UnmanagedCheck(board, around.leases()),
                new DescriptorCheck(around.leases(), board),
                new RuntimeCheck(
                        around.runtimes(),
                        around.engine(),
                        around.host(),
                        around.leases(),
                        around.cdiNvidia(),
                        around.edited()::has),
                new MesosCheck(around.host(), around.mesos(), around.daemon()),
                new KubernetesCheck(around.host(), around.kubernetes(), around.daemon()),
                new SharingCheck(around.host(), around.leases(), around.defaultGpus()),
                new CordonCheck(around.host(), around.leases(), around.daemon()),
                new LimitsCheck(around.leases(), HostNames.ofThisHost()),
                new ClaimCheck(
                        around.host(),
                        around.engine(),
                        around.leases(),
                        around.daemon(),
                        dockerless),
                new StateCheck(around.host(), around.gpuHost().store(), around.daemon()),
                new VolumeFilesCheck(
                        around.host(), around.gpuHost().store(), around.gpuHost().served()),
                new RegistryCheck(around.leases(), around.daemon()));
    }

    /** Returns the findings of all checks, in their order. */
    public List<Diagnosis> examine() {
        long deadline = System.nanoTime() + limit.toNanos();
        List<CompletableFuture<List<Finding>>> pending =
                examinations.stream().map(Examination::start).toList();
        List<Diagnosis> all = new ArrayList<>();
        for (int i = 0; i < pending.size(); i++) {
            Duration left = Duration.ofNanos(deadline - System.nanoTime());
            all.addAll(examinations.get(i).result(pending.get(i), left));
        }
        return all;
    }
}
