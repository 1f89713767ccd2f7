package jnvdocker.doctor;

import jnvdocker.core.Leases;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineFacts;
import jnvdocker.host.Host;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Optional;

/** Whether this host has no Docker engine, and needs none because others get its GPUs. */
final class DockerlessHost {
    private static final String PODMAN = "/usr/bin/podman";
    private static final List<String> DOCKERD =
            List.of("/usr/bin/dockerd", "/usr/sbin/dockerd", "/usr/local/bin/dockerd");

    private final Host host;
    private final DockerEngine engine;
    private final Leases leases;
    private final RuntimeInstaller runtimes;
    private final List<Examined> features;

    DockerlessHost(Doctor.Surroundings around) {
        this.host = around.host();
        this.engine = around.engine();
        this.leases = around.leases();
        this.runtimes = around.runtimes();
        this.features = around.features();
    }

    /** An engine that is merely stopped has left containers with claims, or a socket. */
    boolean isSo() throws IOException {
        boolean needsNone =
                Files.exists(engine.socket())
                        ? podman().isPresent()
                        : isForOthers() || hasPodmanAlone();
        return needsNone && leases.claims().withVolume().isEmpty();
    }

    /** Names what is there instead. */
    void describe(Findings found) throws IOException {
        Optional<EngineFacts> podman = podman();
        String what =
                podman.map(it ->
                                it.product().title()
                                        + " "
                                        + Quote.shown(it.version())
                                        + " answers at "
                                        + engine.socket()
                                        + ", not Docker, and begins no lease for 'jnvdocker run'")
                        .orElseGet(() ->
                                "no Docker engine runs here ("
                                        + engine.socket()
                                        + " does not exist), and those who get this host's"
                                        + " GPUs need none");
        if ((podman.isPresent() || hasPodmanAlone()) && !isFor(EngineKind.PODMAN)) {
            found.hint(
                    what,
                    "have podman's containers get GPUs: jnvdocker runtime install --engine podman");
        } else {
            found.ok(what);
        }
    }

    /** The facts of podman, where it answers in Docker's place. */
    private Optional<EngineFacts> podman() {
        try {
            return Optional.of(engine.facts(EngineChecks.LIMIT))
                    .filter(it -> it.product().isPodman());
        } catch (EngineException e) {
            return Optional.empty();
        }
    }

    private boolean hasPodmanAlone() throws IOException {
        for (String program : DOCKERD) {
            if (Files.exists(host.resolve(program))) {
                return false;
            }
        }
        return Files.exists(host.resolve(PODMAN));
    }

    private boolean isFor(EngineKind kind) throws IOException {
        try {
            return runtimes.registered().stream().anyMatch(each -> each.engine() == kind);
        } catch (RefusedException e) {
            return true; // as below
        }
    }

    /** For those of a feature, or for containers of engines with our OCI runtime or CDI devices. */
    private boolean isForOthers() throws IOException {
        try {
            List<EngineKind> engines =
                    runtimes.registered().stream().map(Registration::engine).toList();
            boolean docker = engines.contains(EngineKind.DOCKER);
            if (!docker && !engines.isEmpty()) {
                return true;
            }
            for (Examined feature : features) {
                if (feature.needsNoDocker(docker)) {
                    return true;
                }
            }
            return false;
        } catch (RefusedException e) {
            return true; // 'runtime status' or the feature reports how to fix a damaged file
        }
    }
}
