package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.host.Host;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
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
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Checks our OCI runtime, and the ways by which containers get GPUs past it. */
final class RuntimeCheck implements Check {
    private static final String NVIDIAS = RuntimeInstaller.NVIDIAS_CDI_KIND;

    private final RuntimeInstaller installer;
    private final DockerEngine engine;
    private final ForeignRuntimes foreign;
    private final OtherWays others;
    private final Leases leases;
    private final BooleanSupplier wantsNvidias;
    private final Predicate<String> created;

    /**
     * @param wantsNvidias whether our CDI devices are to have NVIDIA's names as well
     * @param created tests by its id whether our runtime has created a container
     */
    RuntimeCheck(
            RuntimeInstaller installer,
            DockerEngine engine,
            Host host,
            Leases leases,
            BooleanSupplier wantsNvidias,
            Predicate<String> created) {
        this.installer = installer;
        this.engine = engine;
        this.foreign = new ForeignRuntimes(host);
        this.others = new OtherWays(foreign, engine::isGuarded);
        this.leases = leases;
        this.wantsNvidias = wantsNvidias;
        this.created = created;
    }

    @Override
    public String name() {
        return "runtime";
    }

    @Override
    public List<Finding> findings() throws IOException {
        Optional<EngineRuntimes> now = runtimes();
        List<Finding> found = new ArrayList<>();
        try {
            List<RuntimeHealth> all = installer.health(() -> now);
            found.addAll(registered(all));
            Optional<Path> ours = cdiFile(all, NVIDIAS);
            found.addAll(others.findings(now, ours));
            if (cdiFile(all, RuntimeInstaller.CDI_KIND).isPresent()
                    && ours.isEmpty()
                    && foreign.nvidiasCdiFiles().isEmpty()) {
                found.add(withoutNvidias(wantsNvidias.getAsBoolean()));
            }
        } catch (RefusedException e) {
            found.add(Finding.wrong(e));
            found.addAll(others.findings(now, Optional.empty()));
        }
        found.addAll(paths(leases.live(), created));
        return found;
    }

    /** The engine's own check reports an engine that does not answer. */
    private Optional<EngineRuntimes> runtimes() {
        try {
            return Optional.of(engine.facts(EngineCheck.LIMIT).runtimes());
        } catch (EngineException e) {
            return Optional.empty();
        }
    }

    private static List<Finding> registered(List<RuntimeHealth> all) {
        return all.isEmpty()
                ? List.of(
                        Finding.ok(
                                "our OCI runtime is not installed: 'jnvdocker runtime install'"
                                        + " lets docker compose and plain docker have GPUs,"
                                        + " too"))
                : all.stream().map(RuntimeCheck::finding).toList();
    }

    private static Optional<Path> cdiFile(List<RuntimeHealth> all, String kind) {
        return all.stream()
                .map(RuntimeHealth::registration)
                .filter(it -> it.engine() == EngineKind.CDI && it.name().equals(kind))
                .map(Registration::config)
                .findFirst();
    }

    /** Our CDI devices are installed by our names alone. */
    static Finding withoutNvidias(boolean wanted) {
        String what = "no file of jnvdocker's offers '--device " + NVIDIAS + "=…'";
        return wanted
                ? Finding.hint(
                        what + ", as cdi_nvidia has it",
                        "run 'jnvdocker runtime install --engine cdi' again")
                : Finding.ok(what + ": cdi_nvidia is false");
    }

    static Finding finding(RuntimeHealth health) {
        String name = health.registration().engine().word();
        return health.wrong()
                .map(why -> Finding.wrong(why.precededBy(name + "'s jnvdocker runtime: ")))
                .orElseGet(() ->
                        Finding.ok(
                                health.registration().engine() == EngineKind.CDI
                                        ? "'--device "
                                                + health.registration().name()
                                                + "=…' gives containers of any runtime exactly"
                                                + " these GPUs"
                                        : name
                                                + "'s "
                                                + (health.standard() ? "default " : "")
                                                + "runtime '"
                                                + health.registration().name()
                                                + "' is jnvdocker's, and runs "
                                                + health.real().map(Path::toString).orElse("-")));
    }

    /**
     * Returns by which way each container has its GPUs.
     *
     * @param created tests by its id whether our runtime has created a container, not the hook of
     *     our CDI devices
     */
    static List<Finding> paths(List<Lease> live, Predicate<String> created) {
        List<String> runtime = new ArrayList<>();
        List<String> cdi = new ArrayList<>();
        List<String> plugin = new ArrayList<>();
        for (Lease lease : live) {
            Claim claim = lease.claim();
            String name = claim.container().map(Claim.ContainerRef::name).orElse("");
            if (!name.isEmpty()) {
                switch (claim.origin()) {
                    case Origin.OciContainer _ ->
                            (created.test(claim.container().get().id()) ? runtime : cdi).add(name);
                    case Origin.EngineContainer _, Origin.OtherEngineContainer _ ->
                            plugin.add(name);
                    case Origin.HostProcess _, Origin.MesosTask _, Origin.Pod _ -> {
                        // These have no engine.
                    }
                }
            }
        }
        List<Finding> found = new ArrayList<>();
        line("the OCI runtime", runtime).ifPresent(found::add);
        line("jnvdocker's CDI devices", cdi).ifPresent(found::add);
        line("'jnvdocker run' and the volume plugin", plugin).ifPresent(found::add);
        return found;
    }

    private static Optional<Finding> line(String path, List<String> containers) {
        return containers.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        Finding.ok(
                                "GPUs by "
                                        + path
                                        + ": "
                                        + containers.stream()
                                                .map(Quote::shown)
                                                .distinct()
                                                .sorted()
                                                .collect(Collectors.joining(", "))));
    }
}
