package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.host.Host;
import jnvdocker.lease.text.ContainerOwner;
import jnvdocker.mesos.agent.MesosPolicy;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Finds faults of this host, and reports how to fix them. */
public final class Doctor {
    /** The limit of each check. All run at the same time; most take some milliseconds. */
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final List<Examination> examinations;
    private final Duration limit;

    /** The files of the configuration, as they are now. */
    @FunctionalInterface
    public interface Configuration {
        /**
         * @throws IOException naming the mistake with which no daemon starts
         */
        void examine() throws IOException;
    }

    /** The objects that the checks examine. */
    public record Surroundings(
            GpuHost gpuHost,
            CudaVersions cuda,
            DockerEngine engine,
            Leases leases,
            LeaseRegistry registry,
            EditedContainers edited,
            GpuHealth health,
            Supplier<GpuRequest> defaultGpus,
            Supplier<MesosPolicy> mesos,
            RuntimeInstaller runtimes,
            BooleanSupplier cdiNvidia,
            Supplier<Set<ContainerOwner.Trust>> trustedOwners,
            Configuration configuration,
            KubernetesFacts kubernetes,
            DaemonFacts daemon) {
        Host host() {
            return gpuHost.host();
        }

        DriverVolumeStore volumes() {
            return gpuHost.store();
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
        DriverChecks driver = new DriverChecks(around);
        GpuChecks gpus = new GpuChecks(around);
        EngineChecks engine = new EngineChecks(around);
        ContainerChecks containers = new ContainerChecks(around);
        ConfigurationChecks configuration = new ConfigurationChecks(around);
        StateChecks state = new StateChecks(around);
        UnitCheck units = new UnitCheck(around.daemon(), around.kubernetes()::enabled);
        MesosCheck mesos = new MesosCheck(around.host(), around.mesos());
        KubernetesCheck kubernetes = new KubernetesCheck(around.host(), around.kubernetes());
        return List.of(
                new Check("driver", driver::driver),
                new Check("gpus", gpus::gpus),
                new Check("nodes", driver::nodes),
                new Check("persistence", driver::persistence),
                new Check("engine", engine::engine),
                new Check("plugin", engine::plugin),
                new Check("units", units::findings),
                new Check("leftovers", containers::leftovers),
                new Check("others", gpus::others),
                new Check("files", gpus::files),
                new Check("runtime", new RuntimeCheck(around)::findings),
                new Check("proxy", new ProxyCheck(around)::findings),
                new Check("mesos", mesos::findings),
                new Check("kubernetes", kubernetes::findings),
                new Check("configuration", configuration::files),
                new Check("sharing", configuration::sharing),
                new Check("cordon", configuration::cordon),
                new Check("limits", configuration::limits),
                new Check("claims", containers::claims),
                new Check("state", state::state),
                new Check("volume", driver::volume),
                new Check("registry", state::registry),
                new Check("version", found -> found.ok("jnvdocker " + around.daemon().version())));
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
