package jnvdocker.command.start;

import jnvdocker.command.caller.UserEngine;
import jnvdocker.container.ContainerEdits;
import jnvdocker.core.Leases;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineProduct;
import jnvdocker.docker.engine.TrialContainer;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Refuses an engine that would give containers GPUs without a lease: one that is not Docker's, or a
 * program in front of Docker's that does not pass everything on. A lease begins when the engine
 * mounts our volume, and such an engine starts the container without it.
 */
final class EngineProof {
    private static final int KEPT = 64;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** Stands in place of a runtime's name. */
    private static final String DEFAULT_RUNTIME = "";

    /** The daemon's variable that names its engine. */
    private static final String DAEMONS_SOCKET = "JNVDOCKER_DOCKER_SOCKET";

    private final DockerEngine engine;
    private final Leases leases;

    /**
     * By the identity of its socket: engines that have passed. An engine that starts makes another.
     */
    private final Map<Map<String, Object>, Boolean> proven =
            Collections.synchronizedMap(
                    new LinkedHashMap<>() {
                        private static final long serialVersionUID = 1L;

                        @Override
                        protected boolean removeEldestEntry(
                                Map.Entry<Map<String, Object>, Boolean> eldest) {
                            return size() > KEPT;
                        }
                    });

    EngineProof(DockerEngine engine, Leases leases) {
        this.engine = engine;
        this.leases = leases;
    }

    /**
     * @throws RefusedException unless the engine is Docker's, and on this machine
     */
    void refuseOther(
            RunCommand run, UserEngine where, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        switch (where) {
            case UserEngine.Ours _ -> refuseOther(engine.product(), engine.socket().toString());
            case UserEngine.Other other -> {
                if (other.isSocket()) {
                    refuseSocket(other.url(), run, request, client);
                }
                throw new RefusedException(
                        "the engine at "
                                + Quote.lines(other.url())
                                + " is on another machine, whose driver and GPUs are not known"
                                + " here",
                        "run jnvdocker on that machine, or docker without GPUs");
            }
            case UserEngine.Unknown _ -> {} // docker has refused it
        }
    }

    /** Always throws: the daemon sees the containers of its own engine alone. */
    private void refuseSocket(
            String url, RunCommand run, ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> version = new ArrayList<>(run.globals());
        version.addAll(List.of("version", "--format", "{{json .Server}}"));
        CallResult server = client.captureQuietly(request.dockerWith(version));
        refusePodman(EngineProduct.parse(server.output()), url);
        refusePodmanProgram(request, client);
        throw new RefusedException(
                "the engine at "
                        + Quote.lines(url)
                        + " is not the one that jnvdocker gives GPUs to",
                "use that one (DOCKER_HOST=%s%s, without -H and --context), or docker itself"
                        .formatted(UserEngine.SOCKET, engine.socket()));
    }

    private static void refusePodman(EngineProduct product, String address)
            throws RefusedException {
        if (product.isPodman()) {
            throw podman("the server at " + Quote.lines(address) + " is podman, not Docker");
        }
    }

    private static void refuseOther(EngineProduct product, String address) throws RefusedException {
        refusePodman(product, address);
        if (!product.isDocker()) {
            throw new RefusedException(
                    "the server at "
                            + Quote.lines(address)
                            + " does not report that it is Docker's engine"
                            + (product.name().isEmpty()
                                    ? ""
                                    : ", but '" + Quote.shown(product.name()) + "'"),
                    "let DOCKER_HOST name the socket of Docker's engine");
        }
        if (product.rootless()) {
            throw new RefusedException(
                    "the engine at "
                            + Quote.lines(address)
                            + " runs without root, and nothing would keep its containers from GPUs"
                            + " of others",
                    "use the engine of root (DOCKER_HOST=unix://"
                            + UserEngine.DEFAULT_SOCKET
                            + "), or leave GPUs out");
        }
    }

    /**
     * Refuses a program {@code docker} that is podman, for which there need be no engine.
     *
     * @throws RefusedException if it is
     */
    static void refusePodmanProgram(ClientRequest request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> version = request.dockerWith(List.of("--version"));
        if (client.captureQuietly(version).output().startsWith("podman ")) {
            throw podman("'" + Quote.shown(version.getFirst()) + "' is podman, not Docker");
        }
    }

    private static RefusedException podman(String what) {
        return new RefusedException(
                what + ", and begins no lease for 'jnvdocker run'",
                "as root, run 'jnvdocker runtime install --engine podman' once, then 'podman run"
                        + " --runtime nvidia --device /dev/nvidia0 …'");
    }

    /**
     * Has the daemon's engine, of which nothing is known, create a container with these additions,
     * and checks whether it has them. The container is removed, and never runs.
     *
     * @throws RefusedException unless it has all of them
     */
    void refuseDropping(RunCommand run, Claim claim, ContainerEdits added)
            throws IOException, RefusedException {
        // Without its label: else the claim ends with this container.
        TrialContainer trial =
                new TrialContainer(
                        run.image(),
                        run.platform(),
                        added.mounts(),
                        added.devices(),
                        Optional.empty(),
                        Map.of());
        try {
            refuseDropping(trial, DEFAULT_RUNTIME);
        } catch (IOException | RefusedException e) {
            leases.reservations().cancel(claim); // its volume stays while it has GPUs
            try {
                engine.removeVolume(ClaimNames.volume(claim.key()), LIMIT);
            } catch (EngineException later) {
                e.addSuppressed(later);
            }
            throw e;
        }
    }

    /**
     * Has the daemon's engine create a container with our runtime, likewise.
     *
     * @throws RefusedException unless it has the runtime, and a label
     */
    void refuseWithoutRuntime(RunCommand run, String name) throws IOException, RefusedException {
        TrialContainer trial =
                new TrialContainer(
                        run.image(),
                        run.platform(),
                        List.of(),
                        List.of(),
                        Optional.of(name),
                        Map.of(ClaimNames.GPUS_LABEL, "none"));
        refuseDropping(trial, name);
    }

    /** Serializes checks: requests during a successful check need none of their own. */
    private synchronized void refuseDropping(TrialContainer trial, String runtime)
            throws IOException, RefusedException {
        Map<String, Object> identity = new HashMap<>(identity(engine.socket()));
        identity.put("runtime", runtime);
        if (proven.containsKey(identity)) {
            return;
        }
        List<String> missing;
        try {
            missing = trial.missing(engine);
        } catch (EngineException e) {
            throw refused("refuses it: " + Quote.lines(e.refusal().what()));
        }
        if (!missing.isEmpty()) {
            throw refused("leaves out " + String.join(", ", missing));
        }
        if (identity.size() > 1) {
            proven.put(identity, true);
        }
    }

    private static Map<String, Object> identity(Path socket) {
        try {
            return Files.readAttributes(socket, "unix:dev,ino,ctime");
        } catch (IOException e) {
            return Map.of();
        }
    }

    private RefusedException refused(String what) {
        return new RefusedException(
                "a container with GPUs needs what jnvdocker adds to it, and the engine at %s%s %s"
                        .formatted(UserEngine.SOCKET, engine.socket(), what),
                "let " + DAEMONS_SOCKET + " name the socket of this host's Docker engine itself");
    }
}
