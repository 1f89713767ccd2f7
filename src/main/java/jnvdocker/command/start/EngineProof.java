package jnvdocker.command.start;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.command.caller.UserEngine;
import jnvdocker.container.ContainerEdits;
import jnvdocker.container.VolumeMount;
import jnvdocker.core.Leases;
import jnvdocker.docker.cli.DockerArguments;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.EngineException;
import jnvdocker.docker.engine.EngineProduct;
import jnvdocker.docker.engine.TrialContainer;
import jnvdocker.host.DeviceNode;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Refuses an engine that would give containers GPUs without a lease: one that is not Docker's, or a
 * program in front of Docker's that does not pass everything on. A lease begins when the engine
 * mounts our volume, and such an engine starts the container without it.
 */
final class EngineProof {
    private static final String SEEN =
            "{\"mounts\":{{json .Mounts}},\"devices\":{{json .HostConfig.Devices}}}";

    private static final int KEPT = 64;
    private static final Duration LIMIT = Duration.ofSeconds(20);

    /** Stands in place of a runtime's name. */
    private static final String DEFAULT_RUNTIME = "";

    private static final int MAX_REASON = 400;

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
            case UserEngine.OtherSocket(String url) -> {
                if (proven.containsKey(identity(url))) {
                    return;
                }
                List<String> question =
                        docker(run, request, "version", "--format", "{{json .Server}}");
                CallResult version = client.captureQuietly(question);
                EngineProduct product = EngineProduct.parse(version.output());
                if (product.isDocker()) {
                    List<String> info =
                            docker(run, request, "info", "--format", "{{json .SecurityOptions}}");
                    product = product.withSecurity(client.captureQuietly(info).output());
                } else {
                    refusePodmanProgram(request, client);
                }
                if (!version.succeeded()) {
                    throw new RefusedException(
                            "the engine at "
                                    + Quote.lines(url)
                                    + " does not report its version: "
                                    + lastLine(client.captureAll(question).output()),
                            "start it, or let DOCKER_HOST name another");
                }
                refuseOther(product, url);
            }
            case UserEngine.Remote(String url) ->
                    throw new RefusedException(
                            "the engine at "
                                    + url
                                    + " is on another machine, whose driver and GPUs are not known"
                                    + " here",
                            "run jnvdocker on that machine, or docker without GPUs");
            case UserEngine.Unknown _ -> {} // docker has refused it
        }
    }

    private static void refuseOther(EngineProduct product, String address) throws RefusedException {
        if (product.isPodman()) {
            throw podman("the server at " + Quote.lines(address) + " is podman, not Docker");
        }
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
     * Has an engine of which nothing is known create a container with these additions, and checks
     * whether it has them. The container is removed, and never runs.
     *
     * @throws RefusedException unless it has all of them
     */
    void refuseDropping(
            RunCommand run,
            UserEngine where,
            Claim claim,
            ContainerEdits edits,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        // Without its label: else the claim ends with this container.
        ContainerEdits added =
                new ContainerEdits(edits.devices(), edits.mounts(), Map.of(), Map.of());
        switch (where) {
            case UserEngine.Ours _ -> {
                TrialContainer trial =
                        new TrialContainer(
                                run.image(),
                                run.platform(),
                                added.mounts(),
                                added.devices(),
                                Optional.empty(),
                                Map.of());
                refuseDropping(trial, claim);
            }
            case UserEngine.OtherSocket(String url) ->
                    refuseDropping(url, run, claim, added, request, client);
            case UserEngine.Remote _, UserEngine.Unknown _ -> {} // refused before
        }
    }

    private void refuseDropping(TrialContainer trial, Claim claim)
            throws IOException, RefusedException {
        try {
            refuseDropping(trial, DEFAULT_RUNTIME);
        } catch (IOException | RefusedException e) {
            leases.cancel(claim); // its volume stays while it has GPUs
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
        String url = "unix://" + engine.socket();
        List<String> missing;
        try {
            missing = engine.leavesOut(trial);
        } catch (EngineException e) {
            throw refused(DAEMONS_SOCKET, url, "refuses it: " + Quote.lines(e.refusal().what()));
        }
        if (!missing.isEmpty()) {
            throw refused(DAEMONS_SOCKET, url, "leaves out " + String.join(", ", missing));
        }
        if (identity.size() > 1) {
            proven.put(identity, true);
        }
    }

    private void refuseDropping(
            String url,
            RunCommand run,
            Claim claim,
            ContainerEdits added,
            ClientRequest request,
            ClientConnection client)
            throws IOException, RefusedException {
        Map<String, Object> identity = identity(url);
        if (proven.containsKey(identity)) {
            return;
        }
        String name = "jnvdocker-check-" + claim.id();
        List<String> create = new ArrayList<>(List.of("create", "--pull=never", "--name=" + name));
        run.platform().ifPresent(platform -> create.add("--platform=" + platform));
        create.addAll(DockerArguments.of(added));
        create.addAll(List.of("--", run.image(), "true"));
        CallResult created = client.captureAll(docker(run, request, create.toArray(String[]::new)));
        CallResult seen =
                client.captureQuietly(
                        docker(run, request, "container", "inspect", "--format", SEEN, name));
        client.captureQuietly(docker(run, request, "rm", "-f", name));
        List<String> missing = missing(added, seen.output());
        if (!missing.isEmpty()) {
            leases.cancel(claim); // its volume stays while it has GPUs
            String volume = ClaimNames.volume(claim.key());
            client.captureQuietly(docker(run, request, "volume", "rm", volume));
            throw refused(
                    "DOCKER_HOST",
                    url,
                    created.succeeded()
                            ? "leaves out " + String.join(", ", missing)
                            : "refuses it: " + lastLine(created.output()));
        }
        if (!identity.isEmpty()) {
            proven.put(identity, true);
        }
    }

    /** Empty if it is not there, or not to be seen from here. */
    private static Map<String, Object> identity(String url) {
        try {
            return identity(Path.of(url.substring("unix://".length())));
        } catch (InvalidPathException e) {
            return Map.of();
        }
    }

    private static Map<String, Object> identity(Path socket) {
        try {
            return Files.readAttributes(socket, "unix:dev,ino,ctime");
        } catch (IOException e) {
            return Map.of();
        }
    }

    private static RefusedException refused(String variable, String url, String what) {
        return new RefusedException(
                "a container with GPUs needs what jnvdocker adds to it, and the engine at %s %s"
                        .formatted(Quote.lines(url), what),
                "let " + variable + " name the socket of this host's Docker engine itself");
    }

    /** Docker's reason. */
    private static String lastLine(String output) {
        String line = output.strip().lines().reduce("", (_, next) -> next);
        return Quote.lines(line.substring(0, Math.min(line.length(), MAX_REASON)));
    }

    /** The additions that a container does not have, according to its engine. */
    private static List<String> missing(ContainerEdits edits, String seen) {
        JsonNode container;
        try {
            container = new JsonMapper().readTree(seen);
        } catch (JsonProcessingException e) {
            container = new JsonMapper().createObjectNode();
        }
        List<JsonNode> mounts = elements(container.path("mounts"));
        List<JsonNode> devices = elements(container.path("devices"));
        return Stream.concat(
                        edits.mounts().stream()
                                .filter(mount -> mounts.stream().noneMatch(it -> is(mount, it)))
                                .map(VolumeMount::volume),
                        edits.devices().stream()
                                .map(DeviceNode::hostPath)
                                .map(Object::toString)
                                .filter(path ->
                                        devices.stream()
                                                .noneMatch(it ->
                                                        it.path("PathOnHost")
                                                                .asText()
                                                                .equals(path))))
                .toList();
    }

    private static boolean is(VolumeMount mount, JsonNode seen) {
        return seen.path("Name").asText().equals(mount.volume())
                && seen.path("Driver").asText().equals(mount.driver());
    }

    private static List<JsonNode> elements(JsonNode array) {
        List<JsonNode> all = new ArrayList<>();
        array.forEach(all::add);
        return all;
    }

    private static List<String> docker(RunCommand run, ClientRequest request, String... words) {
        List<String> command = new ArrayList<>(run.globals());
        command.addAll(List.of(words));
        return request.dockerWith(command);
    }
}
