package jnvdocker.command.gpu.change;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.caller.GpuWait;
import jnvdocker.command.start.StartContainer;
import jnvdocker.container.ContainerPlanner;
import jnvdocker.core.Leases;
import jnvdocker.docker.cli.ContainerOptions;
import jnvdocker.docker.cli.DockerCommandLine;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.ExitCode;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;
import jnvdocker.words.Span;

import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** {@code gpu remake}: the client becomes a script that makes a stopped container again. */
@Command(
        name = "remake",
        description = {
            "Make a stopped container again, on other GPUs, and start it.",
            "It keeps its name, files, volumes, networks and options. The old container is removed"
                    + " last, when the new one runs; if something fails, it is as it was."
        })
public final class GpuRemake implements Callable<Integer>, Successor {
    private static final Set<String> STOPPED = Set.of("created", "exited");

    /** Names of variables by which the image's needs are judged. */
    private static final String NEEDS = "NVIDIA_";

    private final StartContainer startContainer;
    private final Leases leases;
    private final ClientRequest request;
    private final ClientConnection client;
    private boolean ready;

    @Parameters(paramLabel = "CONTAINER", description = "Its name or id.")
    private String container;

    @Option(
            names = "--gpus",
            paramLabel = "GPUS",
            description = "As for docker run; default: as many free GPUs as it had.")
    private String gpus;

    @Mixin private final GpuWait.Typed gpuWait = new GpuWait.Typed();

    public GpuRemake(
            StartContainer startContainer,
            Leases leases,
            ClientRequest request,
            ClientConnection client) {
        this.startContainer = startContainer;
        this.leases = leases;
        this.request = request;
        this.client = client;
    }

    @Override
    public Integer call() throws RefusedException {
        if (gpus != null) {
            GpuRequest.parseOption(gpus);
        }
        ready = true;
        return ExitCode.OK.code();
    }

    @Override
    public boolean isReady() {
        return ready;
    }

    @Override
    public void start() throws IOException, RefusedException {
        CallResult found = client.capture(docker("container", "inspect", "--", container));
        if (!found.succeeded()) {
            client.exit(found.exitCode());
            return;
        }
        JsonNode old = parse(found.output());
        String name = old.path("Name").asText().replaceFirst("^/", "");
        String status = old.path("State").path("Status").asText();
        if (!STOPPED.contains(status)) {
            throw new RefusedException(
                    "container " + Quote.shown(name) + " is " + Quote.shown(status),
                    "stop it first: docker stop " + Quote.shown(name));
        }
        RemakeScript script =
                new RemakeScript(
                        docker(),
                        old.path("Id").asText(),
                        name,
                        old.path("State").path("StartedAt").asText() + " " + status,
                        Integer.toString(request.peer().pid()),
                        ContainerOptions.networks(old));
        List<String> create = new ArrayList<>(globals());
        create.addAll(List.of("create", "--name=" + name));
        Optional<Claim> claim = claimOf(old);
        create.add("--gpus=" + (gpus == null ? asBefore(claim, name) : gpus));
        Optional<Duration> time = claim.isPresent() ? leases.time(claim.get()) : Optional.empty();
        time.ifPresent(it -> create.add("--gpu-time=" + Span.spelled(it)));
        gpuWait.value().ifPresent(value -> create.add("--gpu-wait=" + value));
        create.addAll(ContainerOptions.of(old));
        variables(old).forEach((key, value) -> create.add("--env=" + key + "=" + value));
        create.add(image(old));
        if (!(DockerCommandLine.parse(create, _ -> "") instanceof RunCommand run)) {
            throw new RefusedException(
                    "container " + Quote.shown(name) + " has settings that docker cannot repeat",
                    "make it again as it was made first");
        }
        startContainer.start(
                run,
                request,
                client,
                command -> client.program(List.of(), script.command(command)));
    }

    private static JsonNode parse(String json) throws RefusedException {
        try {
            return new ObjectMapper().readTree(json).path(0);
        } catch (JsonProcessingException e) {
            throw new RefusedException(
                    "docker does not describe the container in JSON",
                    "try 'docker container inspect'");
        }
    }

    /** The label alone may be its image's, with another's claim. */
    private Optional<Claim> claimOf(JsonNode old) throws IOException {
        String label = old.path("Config").path("Labels").path(ClaimNames.CLAIM_LABEL).asText();
        List<String> volumes = old.path("Mounts").findValuesAsText("Name");
        Optional<ClaimKey> key = ClaimKey.parse(label);
        return key.isEmpty()
                ? Optional.empty()
                : leases.claims()
                        .claim(key.get())
                        .filter(claim ->
                                claim.isOfContainer(old.path("Id").asText())
                                        || volumes.contains(ClaimNames.volume(key.get())));
    }

    private static GpuRequest asBefore(Optional<Claim> claim, String name) throws RefusedException {
        Claim its =
                claim.orElseThrow(() ->
                        new RefusedException(
                                "container " + Quote.shown(name) + " has had no GPUs of ours",
                                "say how many it is to have: --gpus 1"));
        return new GpuRequest.Count(its.gpus().size(), GpuFilter.sharing(its.share()));
    }

    /**
     * The variables that depend on GPUs, as the container has them. All others are in the image
     * that is made of it, and not in a command line, where everybody could read them.
     */
    private static Map<String, String> variables(JsonNode old) {
        Map<String, String> all = new TreeMap<>();
        for (JsonNode setting : old.path("Config").path("Env")) {
            String[] parts = setting.asText().split("=", 2);
            all.put(parts[0], parts.length > 1 ? parts[1] : "");
        }
        Map<String, String> variables = new TreeMap<>();
        all.forEach((name, value) -> {
            boolean isPath = name.equals("PATH") || name.equals("LD_LIBRARY_PATH");
            boolean isNeed = name.startsWith(NEEDS) && !name.equals(GpuRequest.VISIBLE_DEVICES);
            if (isPath || isNeed) {
                variables.put(name, value);
            }
        });
        // Where one of them leads to the driver, the user has chosen the other.
        if (variables.values().stream()
                .noneMatch(it -> it.contains(ContainerPlanner.DRIVER_DIRECTORY))) {
            variables.putAll(ContainerPlanner.searchPaths(all, Set.of()));
        }
        return variables;
    }

    /** The image by its name as long as that is still its own. */
    private String image(JsonNode old) throws IOException {
        String id = old.path("Image").asText();
        String name = old.path("Config").path("Image").asText();
        CallResult named =
                client.captureQuietly(docker("image", "inspect", "--format={{.Id}}", "--", name));
        return named.succeeded() && named.output().strip().equals(id) ? name : id;
    }

    private List<String> docker(String... words) throws IOException {
        List<String> command = new ArrayList<>(globals());
        command.addAll(List.of(words));
        return request.dockerWith(command);
    }

    /** Docker's global options, which stand before our own words. */
    private List<String> globals() throws IOException {
        List<String> typed = request.arguments();
        return typed.subList(0, typed.size() - DockerCommandLine.words(typed).size());
    }
}
