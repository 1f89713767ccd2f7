package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineRuntimes;
import jnvdocker.grant.Leases;
import jnvdocker.host.Host;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.RuntimeHealth;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Checks our OCI runtime, and the ways by which containers get GPUs past it. */
final class RuntimeCheck implements Check {
    /** The directories in which engines look for CDI files. */
    private static final List<String> CDI = List.of("/etc/cdi", "/var/run/cdi");

    private static final String CDI_KIND = "nvidia.com/gpu";
    private static final int CDI_LIMIT = 1 << 20;

    private final RuntimeInstaller installer;
    private final DockerEngine engine;
    private final Host host;
    private final Leases leases;

    RuntimeCheck(RuntimeInstaller installer, DockerEngine engine, Host host, Leases leases) {
        this.installer = installer;
        this.engine = engine;
        this.host = host;
        this.leases = leases;
    }

    @Override
    public String name() {
        return "runtime";
    }

    @Override
    public List<Finding> look() throws IOException {
        Optional<EngineRuntimes> now = runtimes();
        List<Finding> found = new ArrayList<>(registered(now));
        now.ifPresent(runtimes -> found.addAll(others(runtimes)));
        for (String folder : CDI) {
            found.addAll(cdi(host.resolve(folder)));
        }
        found.addAll(paths(leases.live()));
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

    private List<Finding> registered(Optional<EngineRuntimes> now) throws IOException {
        try {
            List<RuntimeHealth> all = installer.health(() -> now);
            return all.isEmpty()
                    ? List.of(
                            Finding.ok(
                                    "our OCI runtime is not installed: 'jnvdocker runtime install'"
                                            + " lets docker compose and plain docker have GPUs,"
                                            + " too"))
                    : all.stream().map(RuntimeCheck::finding).toList();
        } catch (RefusedException e) {
            return List.of(Finding.wrong(e));
        }
    }

    private static Finding finding(RuntimeHealth health) {
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

    private List<Finding> others(EngineRuntimes runtimes) {
        List<Finding> found = new ArrayList<>();
        for (String name : new TreeSet<>(runtimes.paths().keySet())) {
            String program = runtimes.paths().get(name);
            Path file = Path.of(program).getFileName();
            if (file != null
                    && file.toString().startsWith("nvidia-container-runtime")
                    && !engine.isGuarded(program)) {
                found.add(
                        Finding.hint(
                                "docker's runtime '"
                                        + Quote.shown(name)
                                        + "' ("
                                        + Quote.shown(program)
                                        + ") gives containers GPUs without jnvdocker",
                                "take it out of docker's daemon.json, and run 'jnvdocker runtime"
                                        + " install'"));
            }
        }
        return found;
    }

    private static List<Finding> cdi(Path folder) throws IOException {
        List<Finding> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder, "*.{json,yaml,yml}")) {
            for (Path file : files) {
                if (Files.isRegularFile(file) && names(file, CDI_KIND)) {
                    found.add(
                            Finding.hint(
                                    file
                                            + " lets '--device "
                                            + CDI_KIND
                                            + "=…' give GPUs without jnvdocker to containers that"
                                            + " do not use its runtime",
                                    "remove it: rm " + file));
                }
            }
        } catch (NoSuchFileException | NotDirectoryException e) {
            // No CDI on this host.
        }
        return found;
    }

    private static boolean names(Path file, String kind) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(CDI_LIMIT), StandardCharsets.UTF_8).contains(kind);
        }
    }

    /** Returns by which way each container has its GPUs. */
    static List<Finding> paths(List<Lease> live) {
        List<String> runtime = new ArrayList<>();
        List<String> plugin = new ArrayList<>();
        for (Lease lease : live) {
            Claim claim = lease.claim();
            String name = claim.container().map(Claim.ContainerRef::name).orElse("");
            if (!name.isEmpty()) {
                switch (claim.origin()) {
                    case Origin.OciContainer _ -> runtime.add(name);
                    case Origin.EngineContainer _, Origin.OtherEngineContainer _ ->
                            plugin.add(name);
                    case Origin.HostProcess _, Origin.MesosTask _ -> {
                        // Not of an engine.
                    }
                }
            }
        }
        List<Finding> found = new ArrayList<>();
        line("the OCI runtime", runtime).ifPresent(found::add);
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
