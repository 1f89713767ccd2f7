package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.grant.Leases;
import jnvdocker.mesos.agent.InstalledFolders;
import jnvdocker.oci.install.EngineKind;
import jnvdocker.oci.install.Registration;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/** Whether this host has no Docker engine, and needs none because others get its GPUs. */
final class DockerlessHost {
    private final DockerEngine engine;
    private final Leases leases;
    private final RuntimeInstaller runtimes;
    private final KubernetesFacts kubernetes;
    private final DaemonFacts daemon;

    DockerlessHost(
            DockerEngine engine,
            Leases leases,
            RuntimeInstaller runtimes,
            KubernetesFacts kubernetes,
            DaemonFacts daemon) {
        this.engine = engine;
        this.leases = leases;
        this.runtimes = runtimes;
        this.kubernetes = kubernetes;
        this.daemon = daemon;
    }

    /** An engine that is merely stopped has left containers with claims, or a socket. */
    boolean isSo() throws IOException {
        return !Files.exists(engine.socket())
                && (kubernetes.enabled() || kubernetes.isKubeletThere() || isForOthers())
                && leases.claimsWithVolume().isEmpty();
    }

    /** For Mesos tasks, or for containers of engines that have our OCI runtime or CDI devices. */
    private boolean isForOthers() throws IOException {
        try {
            List<EngineKind> engines =
                    runtimes.registered().stream().map(Registration::engine).toList();
            return !engines.contains(EngineKind.DOCKER)
                    && (!engines.isEmpty() || InstalledFolders.read(daemon.state()).isPresent());
        } catch (RefusedException e) {
            return true; // 'mesos flags' or 'runtime status' tells how to fix a damaged file
        }
    }
}
