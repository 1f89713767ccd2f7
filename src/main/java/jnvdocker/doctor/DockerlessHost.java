package jnvdocker.doctor;

import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.grant.Leases;
import jnvdocker.mesos.agent.InstalledFolders;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;

/** Whether this host has no Docker engine, and needs none because only Mesos tasks get its GPUs. */
final class DockerlessHost {
    private final DockerEngine engine;
    private final Leases leases;
    private final DaemonFacts daemon;

    DockerlessHost(DockerEngine engine, Leases leases, DaemonFacts daemon) {
        this.engine = engine;
        this.leases = leases;
        this.daemon = daemon;
    }

    /** An engine that is merely stopped has left containers with claims, or a socket. */
    boolean isSo() throws IOException {
        return !Files.exists(engine.socket())
                && isForMesos()
                && leases.claimsWithVolume().isEmpty();
    }

    private boolean isForMesos() throws IOException {
        try {
            return InstalledFolders.read(daemon.state()).isPresent();
        } catch (RefusedException e) {
            return true; // 'mesos flags' tells how to fix a damaged file
        }
    }
}
