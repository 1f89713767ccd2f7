package jnvdocker.doctor;

import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.ForeignRuntimes;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Checks our OCI runtime, and the ways by which containers get GPUs past it. */
final class RuntimeCheck {
    private static final String NVIDIAS = RuntimeInstaller.NVIDIAS_CDI_KIND;

    private final Doctor.Surroundings around;
    private final ForeignRuntimes foreign;
    private final OtherWays others;

    RuntimeCheck(Doctor.Surroundings around) {
        this.around = around;
        this.foreign = new ForeignRuntimes(around.host());
        this.others = new OtherWays(foreign, around.engine()::isGuarded);
    }

    void findings(Findings found) throws IOException {
        Optional<EngineRuntimes> now = runtimes();
        try {
            List<RuntimeHealth> all = around.runtimes().health(() -> now, around.engine().socket());
            registered(all, found);
            for (RuntimeHealth health : all) {
                swarm(health.registration(), found);
            }
            Optional<Path> ours = cdiFile(all, NVIDIAS);
            others.findings(now, ours, found);
            if (cdiFile(all, RuntimeInstaller.CDI_KIND).isPresent()
                    && ours.isEmpty()
                    && foreign.nvidiasCdiFiles().isEmpty()) {
                withoutNvidias(around.cdiNvidia().getAsBoolean(), found);
            }
        } catch (RefusedException e) {
            found.wrong(e);
            others.findings(now, Optional.empty(), found);
        }
        paths(around.leases().live(), around.edited()::has, found);
    }

    /** The engine's own check reports an engine that does not answer. */
    private Optional<EngineRuntimes> runtimes() {
        try {
            return Optional.of(around.engine().facts(EngineChecks.LIMIT).runtimes());
        } catch (EngineException e) {
            return Optional.empty();
        }
    }

    private static void registered(List<RuntimeHealth> all, Findings found) {
        if (all.isEmpty()) {
            found.ok(
                    "our OCI runtime is not installed: 'jnvdocker runtime install' lets docker"
                            + " compose and plain docker have GPUs, too");
        }
        all.forEach(health -> describe(health, found));
    }

    /** Swarm sends tasks to a node until the number in its file is used up. */
    private void swarm(Registration registration, Findings found)
            throws IOException, RefusedException {
        OptionalInt reported = around.runtimes().swarmGpus(registration);
        int gpus;
        try {
            gpus = HostDriver.read(around.host()).gpus().size();
        } catch (NoDriverException _) {
            return; // Another check says so.
        }
        if (reported.orElse(0) > gpus) {
            found.hint(
                    "%s reports %s GPUs to Swarm, and this host has %s"
                            .formatted(registration.config(), reported.getAsInt(), gpus),
                    "run 'jnvdocker runtime install --swarm' again, as before, and restart docker");
        }
    }

    private static Optional<Path> cdiFile(List<RuntimeHealth> all, String kind) {
        return all.stream()
                .map(RuntimeHealth::registration)
                .filter(it -> it.engine() == EngineKind.CDI && it.name().equals(kind))
                .map(Registration::config)
                .findFirst();
    }

    /** Our CDI devices are installed by our names alone. */
    static void withoutNvidias(boolean wanted, Findings found) {
        String what = "no file of jnvdocker's offers '--device " + NVIDIAS + "=…'";
        if (wanted) {
            found.hint(
                    what + ", as cdi_nvidia has it",
                    "run 'jnvdocker runtime install --engine cdi' again");
        } else {
            found.ok(what + ": cdi_nvidia is false");
        }
    }

    static void describe(RuntimeHealth health, Findings found) {
        String engine = health.registration().engine().word();
        String name = health.registration().name();
        if (health.wrong().isPresent()) {
            found.wrong(health.wrong().get().precededBy(engine + "'s jnvdocker runtime: "));
        } else if (health.registration().engine() == EngineKind.CDI) {
            found.ok(
                    "'--device " + name + "=…' gives containers of any runtime exactly these GPUs");
        } else {
            found.ok(
                    engine
                            + (health.standard() ? "'s default runtime '" : "'s runtime '")
                            + name
                            + "' is jnvdocker's, and runs "
                            + health.real().map(Path::toString).orElse("-"));
        }
    }

    /**
     * Finds by which way each container has its GPUs.
     *
     * @param created tests by its id whether our runtime has created a container, not the hook of
     *     our CDI devices
     */
    static void paths(List<Lease> live, Predicate<String> created, Findings found) {
        List<String> runtime = new ArrayList<>();
        List<String> cdi = new ArrayList<>();
        List<String> plugin = new ArrayList<>();
        for (Lease lease : live) {
            Claim claim = lease.claim();
            String name = claim.container().map(Claim.ContainerRef::name).orElse("");
            if (!name.isEmpty()) {
                switch (claim.origin().kind()) {
                    case OCI ->
                            (created.test(claim.container().get().id()) ? runtime : cdi).add(name);
                    case ENGINE -> plugin.add(name);
                    case PROCESS, MESOS, POD -> {
                        // These have no engine.
                    }
                }
            }
        }
        line("the OCI runtime", runtime, found);
        line("jnvdocker's CDI devices", cdi, found);
        line("'jnvdocker run' and the volume plugin", plugin, found);
    }

    private static void line(String path, List<String> containers, Findings found) {
        if (!containers.isEmpty()) {
            found.ok(
                    "GPUs by "
                            + path
                            + ": "
                            + containers.stream()
                                    .map(Quote::shown)
                                    .distinct()
                                    .sorted()
                                    .collect(Collectors.joining(", ")));
        }
    }
}
