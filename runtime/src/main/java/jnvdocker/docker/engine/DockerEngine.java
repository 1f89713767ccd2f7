package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.command.InspectVolumeResponse;
import com.github.dockerjava.api.command.ListContainersCmd;
import com.github.dockerjava.api.exception.BadRequestException;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.exception.NotModifiedException;
import com.github.dockerjava.api.model.ContainerConfig;
import com.github.dockerjava.api.model.Event;
import com.github.dockerjava.api.model.EventType;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.VersionComponent;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientConfig;
import com.github.dockerjava.core.DockerClientConfigDelegate;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.json.ForeignJson;
import jnvdocker.labels.ImageConfig;
import jnvdocker.lease.ClaimNames;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.process.SocketServers;
import jnvdocker.use.RunningContainer;
import jnvdocker.use.RunningContainers;
import jnvdocker.words.Quote;

import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * The Docker engine behind one Unix socket. It may be stopped, started and replaced by a newer one
 * at any time: each call connects again when the last connection is gone.
 */
public final class DockerEngine implements ContainerEngine, RunningContainers, AutoCloseable {
    private static final int CONNECTIONS = 16;

    /** Each of them is inspected. */
    private static final int MOST_ENDED = 1000;

    private static final String START = "start it: systemctl start docker";
    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final Path socket;
    private final Path proxy;
    private final AtomicReference<DockerClient> client = new AtomicReference<>();
    private final EngineMemory memory = new EngineMemory();
    private final RunningMemory runs = new RunningMemory(Processes.ofThisMachine());
    private final SocketServers servers = SocketServers.ofThisMachine();
    private final EngineCalls calls = new EngineCalls();

    /** The ids of the containers that are started for a trial now. */
    private final Set<String> trials = ConcurrentHashMap.newKeySet();

    private final ObjectMapper mapper =
            DockerClientConfig.getDefaultObjectMapper().copyWith(new EngineJson());

    /** The number of queries under way for clients; such a query may start the engine. */
    private final AtomicInteger onBehalf = new AtomicInteger();

    private final Predicate<String> guarded;

    /**
     * @param proxy the socket of {@code jnvdockerd --proxy}, which passes everything on to the
     *     engine
     * @param guarded whether a runtime's program is ours, which requests every GPU from this daemon
     */
    public DockerEngine(Path socket, Path proxy, Predicate<String> guarded) {
        this.socket = socket;
        this.proxy = proxy;
        this.guarded = guarded;
    }

    /** The socket that the engine listens on. */
    public Path socket() {
        return socket;
    }

    /** Whether a client of a socket talks to this engine, be it through our proxy. */
    public boolean isAt(Path other) throws IOException {
        return isSame(other, socket) || isSame(other, proxy);
    }

    private static boolean isSame(Path one, Path other) throws IOException {
        boolean bothThere = Files.exists(one) && Files.exists(other);
        return one.equals(other) || bothThere && Files.isSameFile(one, other);
    }

    /**
     * The configuration of an image, or empty when the engine does not have it, or takes the name
     * for none.
     *
     * @param name as docker takes it: a name with tag or digest, or an id
     * @throws EngineException when the engine does not answer
     */
    public Optional<ImageConfig> image(String name) throws EngineException {
        return queryForClient(
                "inspect image " + Quote.shown(name),
                LIMIT,
                docker -> {
                    try {
                        return Optional.of(imageConfig(docker, name));
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    } catch (BadRequestException e) {
                        if (isAboutVersion(e.getMessage())) {
                            throw e;
                        }
                        return Optional.empty();
                    }
                });
    }

    /**
     * The runtimes of the engine; a query for a client, which may start the engine.
     *
     * @throws EngineException when the engine does not answer
     */
    public EngineRuntimes runtimes() throws EngineException {
        return memory.runtimes(() -> queryForClient("list runtimes", LIMIT, EngineRuntimes::query));
    }

    /**
     * The kind of engine; a query for a client, which may start the engine.
     *
     * @throws EngineException when the engine does not answer
     */
    public EngineProduct product() throws EngineException {
        return memory.product(
                () -> queryForClient("report its version", LIMIT, EngineProduct::query));
    }

    /**
     * Has the engine create a container that never runs, and returns what is left out of it.
     *
     * @throws EngineException when the engine refuses it, or does not answer
     */
    public List<String> leavesOut(TrialContainer trial) throws EngineException {
        return queryForClient("create a container of jnvdocker's", LIMIT, trial::missing);
    }

    /**
     * Copies the files of a directory of an image; returns false if it has no such directory.
     *
     * @param to an empty directory; empty files take the place of those that are not wanted
     * @throws EngineException when the engine refuses it, or does not answer
     */
    public boolean copy(String image, String directory, Predicate<String> wanted, Path to)
            throws EngineException {
        TrialContainer trial = TrialContainer.of(image);
        return queryForClient(
                "copy files out of image " + Quote.shown(image),
                LIMIT,
                docker -> trial.copy(docker, directory, wanted, to));
    }

    /**
     * Has the engine start a container with our runtime and a GPU, and remove it.
     *
     * @param program that ends at once, and needs no other file
     * @throws EngineException when the engine, or our runtime, refuses it
     */
    public void tryRuntime(String runtime, byte[] program) throws EngineException {
        queryForClient(
                "start a container with the runtime " + Quote.shown(runtime),
                LIMIT,
                docker -> {
                    StartedContainer.start(docker, runtime, program, trials);
                    return true;
                });
    }

    /** Whether a container is one that this daemon has just had the engine create for a trial. */
    public boolean isTrial(String container) {
        return trials.contains(container);
    }

    /** The default runtime, as far as it is known without a question to the engine. */
    public Optional<String> standard() {
        return memory.knownRuntimes().map(EngineRuntimes::standard);
    }

    /** Remembers the runtimes, so that the next start of a container need not query the engine. */
    EngineRuntimes learnRuntimes() throws EngineException {
        return memory.runtimes(
                () -> queryInBackground("list runtimes", LIMIT, EngineRuntimes::query));
    }

    /** The engine's facts as it reports them now, whatever is remembered. */
    public EngineFacts facts(Duration limit) throws EngineException {
        return queryInBackground("describe itself", limit, EngineFacts::query);
    }

    /**
     * The version of the program that the engine runs containers by when they name none: {@code
     * 1.1.5+ds1}. Empty when the engine does not know it.
     */
    public String runtimeVersion(EngineFacts facts, Duration limit) throws EngineException {
        String standard = facts.runtimes().standard();
        return queryInBackground(
                "report its versions",
                limit,
                docker ->
                        Optional.ofNullable(docker.versionCmd().exec().getComponents())
                                .orElse(List.of())
                                .stream()
                                .filter(part -> standard.equals(part.getName()))
                                .map(VersionComponent::getVersion)
                                .findFirst()
                                .orElse(""));
    }

    /** Has the engine request a volume from a plugin, which creates it unless it has it already. */
    public void createVolume(String volume, String plugin, Duration limit) throws EngineException {
        queryOne(
                "create volume " + volume,
                limit,
                docker -> docker.createVolumeCmd().withName(volume).withDriver(plugin).exec());
    }

    @Override
    public boolean isThere() {
        return Files.exists(socket);
    }

    @Override
    public boolean hasStarted() {
        return memory.hasAnswered();
    }

    @Override
    public boolean isPodman(Duration limit) throws EngineException {
        return memory.product(
                        () -> queryInBackground("report its version", limit, EngineProduct::query))
                .isPodman();
    }

    @Override
    public Optional<String> knownId() {
        return memory.knownId();
    }

    @Override
    public String id(Duration limit) throws EngineException {
        return memory.id(() ->
                queryInBackground(
                        "report its id", limit, docker -> docker.infoCmd().exec().getId()));
    }

    /** The remembered facts of the engine, as long as its events are followed. */
    EngineMemory memory() {
        return memory;
    }

    @Override
    public List<Listed> labelled(String label, Duration limit) throws EngineException {
        return list(limit, command -> command.withLabelFilter(List.of(label)));
    }

    @Override
    public List<Listed> all(Duration limit) throws EngineException {
        return list(limit, command -> command);
    }

    @Override
    public List<Listed> using(Collection<String> volumes, Duration limit) throws EngineException {
        return list(limit, command -> command.withVolumeFilter(volumes));
    }

    /** Containers with volumes of a plugin, running or not, each with those volumes alone. */
    public List<Listed> withVolumesOf(String plugin, Duration limit) throws EngineException {
        return queryForClient(
                "list containers",
                limit,
                docker ->
                        docker.listContainersCmd().withShowAll(true).exec().stream()
                                .map(container -> ContainerRecords.listed(container, plugin))
                                .filter(container -> !container.volumes().isEmpty())
                                .toList());
    }

    /** Whether a runtime's program is ours, and requests its containers' GPUs from this daemon. */
    public boolean isGuarded(String program) {
        return guarded.test(program);
    }

    /** The containers that have a runtime, running or not. */
    public List<Listed> ofRuntime(String runtime, Duration limit) throws EngineException {
        return ofRuntime(runtime, limit, (_, _) -> true);
    }

    /** Those of them for which GPUs were requested by a label of ours, or of docker itself. */
    public List<Listed> withGpus(String runtime, Duration limit) throws EngineException {
        return ofRuntime(
                runtime,
                limit,
                (container, host) ->
                        container.labels().containsKey(ClaimNames.CLAIM_LABEL)
                                || container.labels().containsKey(ClaimNames.GPUS_LABEL)
                                || AccessRecords.requestsGpus(host));
    }

    private List<Listed> ofRuntime(
            String runtime, Duration limit, BiPredicate<Listed, HostConfig> wanted)
            throws EngineException {
        List<Listed> found = new ArrayList<>();
        for (Listed each : all(limit)) {
            record(each.id(), limit)
                    .map(InspectContainerResponse::getHostConfig)
                    .filter(host -> runtime.equals(host.getRuntime()) && wanted.test(each, host))
                    .ifPresent(_ -> found.add(each));
        }
        return found;
    }

    private List<Listed> list(Duration limit, UnaryOperator<ListContainersCmd> filter)
            throws EngineException {
        return queryInBackground(
                "list containers",
                limit,
                docker ->
                        filter.apply(docker.listContainersCmd().withShowAll(true)).exec().stream()
                                .map(ContainerRecords::listed)
                                .toList());
    }

    @Override
    public List<RunningContainer> running(Duration limit) throws EngineException {
        List<Listed> listed =
                queryInBackground(
                        "list containers",
                        limit,
                        docker ->
                                docker.listContainersCmd().exec().stream()
                                        .map(ContainerRecords::listed)
                                        .toList());
        return runs.running(listed, id -> describe(id, limit), calls.threads());
    }

    /** Inspects a container that was just started, for use where the engine must not be queried. */
    void learn(String container) throws EngineException {
        if (!runs.knows(container)) {
            runs.learn(container, id -> describe(id, LIMIT));
        }
    }

    /** A container has another name now. */
    void renamed(String container, String name) {
        runs.renamed(container, name);
    }

    @Override
    public List<RunningContainer> lastKnown() {
        return runs.known();
    }

    private Optional<RunningContainer> describe(String container, Duration limit)
            throws EngineException {
        EngineRuntimes runtimes = learnRuntimes();
        return record(container, limit).flatMap(found -> running(found, runtimes));
    }

    private Optional<RunningContainer> running(
            InspectContainerResponse found, EngineRuntimes runtimes) {
        Inspected inspected = ContainerRecords.inspected(found);
        Optional<ProcessId> init = runs.process(inspected.pid());
        return init.isPresent() || inspected.restarting()
                ? Optional.of(
                        new RunningContainer(
                                inspected.id(),
                                inspected.name(),
                                ContainerRecords.image(found),
                                init,
                                inspected.labels(),
                                inspected.volumes(),
                                AccessRecords.access(found, runtimes.paths(), guarded)))
                : Optional.empty();
    }

    /** Names of the volumes of a plugin that it lists. */
    public List<String> volumesOf(String plugin, Duration limit) throws EngineException {
        return queryForClient(
                "list volumes",
                limit,
                docker -> {
                    var volumes =
                            docker.listVolumesCmd()
                                    .withFilter("driver", List.of(plugin))
                                    .exec()
                                    .getVolumes();
                    return Objects.requireNonNullElse(volumes, List.<InspectVolumeResponse>of())
                            .stream()
                            .map(InspectVolumeResponse::getName)
                            .toList();
                });
    }

    /** Removes a container that does not run; one that is gone is no error. */
    public void removeContainer(String container, Duration limit) throws EngineException {
        queryOne(
                "remove container " + Quote.shown(container),
                limit,
                docker -> {
                    try {
                        return docker.removeContainerCmd(container).exec();
                    } catch (NotFoundException e) {
                        return null;
                    }
                });
    }

    @Override
    public Optional<Inspected> inspect(String container, Duration limit) throws EngineException {
        Optional<InspectContainerResponse> found = record(container, limit);
        Optional<EngineRuntimes> runtimes = memory.knownRuntimes();
        if (found.isPresent() && runtimes.isPresent()) {
            // The answer also has what the container was given: that needs no query of its own.
            running(found.get(), runtimes.get()).ifPresent(runs::keep);
        }
        return found.map(ContainerRecords::inspected);
    }

    @Override
    public Optional<Map<String, String>> imageLabels(String image, Duration limit)
            throws EngineException {
        return queryOne(
                "inspect image " + Quote.shown(image),
                limit,
                docker -> {
                    try {
                        return Optional.of(imageConfig(docker, image).labels());
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    }
                });
    }

    /** All that the engine reports of a container; empty when there is none. */
    private Optional<InspectContainerResponse> record(String container, Duration limit)
            throws EngineException {
        return queryOne(
                "inspect container " + Quote.shown(container),
                limit,
                docker -> {
                    try {
                        return Optional.of(docker.inspectContainerCmd(container).exec());
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    }
                });
    }

    @Override
    public Optional<Down> down(String container, Duration limit) throws EngineException {
        return queryInBackground(
                "inspect container " + Quote.shown(container),
                limit,
                docker -> {
                    try {
                        return ContainerRecords.down(docker.inspectContainerCmd(container).exec());
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    }
                });
    }

    @Override
    public List<Down> ended(Duration limit) throws EngineException {
        List<Down> ended = new ArrayList<>();
        List<Listed> exited = list(limit, command -> command.withStatusFilter(List.of("exited")));
        for (Listed each : exited.subList(0, Math.min(exited.size(), MOST_ENDED))) {
            down(each.id(), limit).ifPresent(ended::add);
        }
        return ended;
    }

    @Override
    public void start(String container, Duration limit) throws EngineException {
        queryInBackground(
                "start container " + Quote.shown(container),
                limit,
                docker -> {
                    try {
                        return docker.startContainerCmd(container).exec();
                    } catch (NotModifiedException e) {
                        return null;
                    }
                });
    }

    @Override
    public boolean stop(String container, Duration limit) throws EngineException {
        return queryInBackground(
                "stop container " + Quote.shown(container),
                limit,
                docker -> {
                    try {
                        docker.stopContainerCmd(container).exec();
                        return true;
                    } catch (NotModifiedException e) {
                        return true;
                    } catch (NotFoundException e) {
                        return false;
                    }
                });
    }

    /** The driver of a volume; empty when there is no such volume. */
    public Optional<String> volumeDriver(String volume, Duration limit) throws EngineException {
        return queryOne(
                "inspect volume " + volume,
                limit,
                docker -> {
                    try {
                        return Optional.ofNullable(
                                docker.inspectVolumeCmd(volume).exec().getDriver());
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    }
                });
    }

    @Override
    public boolean removeVolume(String volume, Duration limit) throws EngineException {
        return queryOne(
                "remove volume " + volume,
                limit,
                docker -> {
                    try {
                        docker.removeVolumeCmd(volume).exec();
                        return true;
                    } catch (NotFoundException e) {
                        return true;
                    } catch (ConflictException e) {
                        return false;
                    }
                });
    }

    /**
     * The events of containers and of the engine itself, from now on until the engine ends or the
     * stream is closed. Events are passed on in the order in which they happened.
     */
    Closeable events(ResultCallback<Event> listener) throws EngineException {
        return queryInBackground(
                "report events",
                LIMIT,
                docker ->
                        docker.eventsCmd()
                                .withEventTypeFilter(EventType.CONTAINER, EventType.DAEMON)
                                .exec(listener));
    }

    @Override
    public void close() throws IOException {
        calls.close();
        DockerClient last = client.getAndSet(null);
        if (last != null) {
            last.close();
        }
    }

    private static ImageConfig imageConfig(DockerClient docker, String name) {
        ContainerConfig config = docker.inspectImageCmd(name).exec().getConfig();
        if (config == null) {
            return ImageConfig.of(Map.of(), List.of());
        }
        String[] environment = Objects.requireNonNullElse(config.getEnv(), new String[0]);
        return ImageConfig.of(config.getLabels(), Arrays.asList(environment));
    }

    /** Queries the engine for a client, which starts a stopped one where systemd listens for it. */
    private <T> T queryForClient(String what, Duration limit, Function<DockerClient, T> question)
            throws EngineException {
        onBehalf.incrementAndGet();
        try {
            return query(what, limit, question);
        } finally {
            onBehalf.decrementAndGet();
        }
    }

    /** Queries the engine for no client, and so only while it runs. */
    private <T> T queryInBackground(String what, Duration limit, Function<DockerClient, T> question)
            throws EngineException {
        if (!Files.exists(socket)) {
            // A client would find out as well, once it had been built.
            throw noAnswer("No such file or directory", null);
        }
        return query(what, limit, question);
    }

    /**
     * To connect to a stopped engine would start it, where systemd listens for it. An engine that
     * is stopping closes its socket long before its events end.
     */
    private void passGate() throws StoppedException {
        if (onBehalf.get() == 0 && !servers.isServed(socket)) {
            throw new StoppedException();
        }
    }

    private static final class StoppedException extends ConnectException {
        private static final long serialVersionUID = 1;
    }

    /** The engine may be in the middle of something with it, and not answer before that is done. */
    private <T> T queryOne(String what, Duration limit, Function<DockerClient, T> question)
            throws EngineException {
        Duration left;
        try {
            left = calls.enter(what, limit);
        } catch (TimeoutException e) {
            throw silent(limit, e);
        }
        try {
            return queryInBackground(what, left, question);
        } finally {
            calls.leave(what);
        }
    }

    /**
     * Tries twice before giving up: the kept connections may be of an engine that has been
     * restarted since, and the one that runs now may speak another version of the API.
     */
    private <T> T query(String what, Duration limit, Function<DockerClient, T> question)
            throws EngineException {
        DockerClient used = client.get();
        try {
            if (used != null) {
                return within(used, limit, question);
            }
        } catch (TimeoutException e) {
            throw silent(limit, e);
        } catch (RuntimeException e) {
            if (isAnswer(e)) {
                throw failure(what, e);
            }
        }
        try {
            return within(renew(used, limit), limit, question);
        } catch (TimeoutException e) {
            throw silent(limit, e);
        } catch (RuntimeException e) {
            throw failure(what, e);
        }
    }

    /** Whether the engine understood the query, and would answer the same if it were repeated. */
    private static boolean isAnswer(RuntimeException e) {
        boolean otherVersion = e instanceof BadRequestException && isAboutVersion(e.getMessage());
        return e instanceof DockerException && !otherVersion;
    }

    private static boolean isAboutVersion(String message) {
        return message != null && message.contains("client version");
    }

    private <T> T within(DockerClient docker, Duration limit, Function<DockerClient, T> question)
            throws TimeoutException {
        return calls.within(limit, () -> question.apply(docker));
    }

    /**
     * Replaces a dead client, once for all callers that have found it dead. Others may still wait
     * for an answer on it, so it is closed when none can come any more.
     */
    private DockerClient renew(DockerClient dead, Duration limit) throws TimeoutException {
        DockerClient fresh = calls.within(limit, this::connect);
        if (client.compareAndSet(dead, fresh)) {
            closeLater(dead);
            return fresh;
        }
        closeLater(fresh);
        return client.get();
    }

    private void closeLater(DockerClient old) {
        if (old != null) {
            calls.threads()
                    .submit(() -> {
                        Thread.sleep(LIMIT.multipliedBy(2));
                        old.close();
                        return null;
                    });
        }
    }

    private DockerClient connect() {
        DockerHttpClient transport = new EngineTransport(socket, CONNECTIONS, this::passGate);
        // The builder alone, not its defaults: those read the environment and root's own files.
        try {
            var config =
                    new DefaultDockerClientConfig.Builder()
                            .withDockerHost("unix://" + socket)
                            .withDockerTlsVerify(false)
                            .withApiVersion(apiVersion(transport))
                            .build();
            return DockerClientImpl.getInstance(
                    new DockerClientConfigDelegate(config) {
                        @Override
                        public ObjectMapper getObjectMapper() {
                            return mapper;
                        }
                    },
                    transport);
        } catch (RuntimeException e) {
            try {
                transport.close();
            } catch (IOException again) {
                e.addSuppressed(again);
            }
            throw e;
        }
    }

    private EngineException silent(Duration limit, TimeoutException e) {
        return new EngineException(
                "the Docker engine at %s has not answered for %s s"
                        .formatted(socket, limit.toMillis() / 1000.0),
                "see its log: journalctl -u docker",
                e);
    }

    private EngineException failure(String what, RuntimeException e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        if (root instanceof StoppedException) {
            return new EngineException("the Docker engine at " + socket + " is stopped", START, e);
        }
        if (root instanceof ForeignJson.TooLongException
                || root instanceof StreamConstraintsException) {
            return new EngineException(
                    "the Docker engine's answer to the request to %s is too long: %s"
                            .formatted(what, root.getMessage()),
                    "a container has thousands of labels, variables or mounts; make it with fewer",
                    e);
        }
        if (root instanceof JsonProcessingException) {
            return new EngineException(
                    "the server at %s, requested to %s, does not speak a known Docker API"
                            .formatted(socket, what),
                    "let JNVDOCKER_DOCKER_SOCKET name a Docker engine",
                    e);
        }
        String reason = Objects.requireNonNullElse(root.getMessage(), "no reason given").strip();
        if (e instanceof DockerException) {
            return new EngineException(
                    "the Docker engine at " + socket + " refused to " + what + ": " + reason,
                    "see its log: journalctl -u docker",
                    e);
        }
        return noAnswer(reason, e);
    }

    private EngineException noAnswer(String reason, Exception cause) {
        return new EngineException(
                "the Docker engine at " + socket + " does not answer (" + reason + ")",
                START,
                cause);
    }

    /** docker-java does not negotiate the version, and engines drop old ones: 29 needs 1.44. */
    private static String apiVersion(DockerHttpClient transport) {
        var ping =
                DockerHttpClient.Request.builder()
                        .method(DockerHttpClient.Request.Method.GET)
                        .path("/_ping")
                        .build();
        try (var response = transport.execute(ping)) {
            return response.getHeader("Api-Version");
        }
    }
}
