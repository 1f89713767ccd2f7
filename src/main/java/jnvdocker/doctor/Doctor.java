package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.host.Host;
import jnvdocker.lease.text.ContainerOwner;
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
            RuntimeInstaller runtimes,
            BooleanSupplier cdiNvidia,
            Supplier<Set<ContainerOwner.Trust>> trustedOwners,
            Configuration configuration,
            List<Examined> features,
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
        UnitCheck units =
                new UnitCheck(
                        around.daemon(),
                        () ->
                                around.features().stream()
                                        .flatMap(each -> each.later().stream())
                                        .toList());
        List<Check> checks = new ArrayList<>();
        checks.add(new Check("driver", driver::driver));
        checks.add(new Check("gpus", gpus::gpus));
        checks.add(new Check("nodes", driver::nodes));
        checks.add(new Check("persistence", driver::persistence));
        checks.add(new Check("engine", engine::engine));
        checks.add(new Check("plugin", engine::plugin));
        checks.add(new Check("units", units::findings));
        checks.add(new Check("leftovers", containers::leftovers));
        checks.add(new Check("others", gpus::others));
        checks.add(new Check("files", gpus::files));
        checks.add(new Check("runtime", new RuntimeCheck(around)::findings));
        checks.add(new Check("proxy", new ProxyCheck(around)::findings));
        around.features().forEach(feature -> checks.add(feature.check()));
        checks.add(new Check("configuration", configuration::files));
        checks.add(new Check("sharing", configuration::sharing));
        checks.add(new Check("cordon", configuration::cordon));
        checks.add(new Check("limits", configuration::limits));
        checks.add(new Check("claims", containers::claims));
        checks.add(new Check("state", state::state));
        checks.add(new Check("volume", driver::volume));
        checks.add(new Check("registry", state::registry));
        checks.add(
                new Check("version", found -> found.ok("jnvdocker " + around.daemon().version())));
        return checks;
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
