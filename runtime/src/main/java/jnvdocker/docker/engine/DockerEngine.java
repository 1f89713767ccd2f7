package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.InspectContainerResponse;
import com.github.dockerjava.api.command.ListContainersCmd;
import com.github.dockerjava.api.exception.BadRequestException;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.exception.NotModifiedException;
import com.github.dockerjava.api.model.Event;
import com.github.dockerjava.api.model.EventType;

import jnvdocker.docker.engine.EngineConnection.Purpose;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.labels.ImageConfig;
import jnvdocker.process.Processes;
import jnvdocker.use.RunningContainer;
import jnvdocker.use.RunningContainers;
import jnvdocker.words.Quote;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The Docker engine behind one Unix socket. It may be stopped, started and replaced by a newer one
 * at any time: each call connects again when the last connection is gone.
 */
public final class DockerEngine implements ContainerEngine, RunningContainers, AutoCloseable {
    /** Each of them is inspected. */
    private static final int MOST_ENDED = 1000;

    private static final Duration LIMIT = Duration.ofSeconds(20);

    private final Path socket;
    private final Path proxy;
    private final EngineMemory memory = new EngineMemory();
    private final RunningMemory runs;
    private final EngineConnection connection;
    private final Set<String> trials = ConcurrentHashMap.newKeySet();
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
        this.connection = new EngineConnection(socket);
        this.runs = new RunningMemory(Processes.ofThisMachine(), guarded);
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
        return connection.ask(
                "inspect image " + Quote.shown(name),
                LIMIT,
                Purpose.CLIENT,
                docker -> {
                    try {
                        return ifThere(
                                () -> ContainerRecords.config(docker.inspectImageCmd(name).exec()));
                    } catch (BadRequestException e) {
                        if (EngineConnection.isAboutVersion(e)) {
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
        return known(LIMIT, Purpose.CLIENT).runtimes();
    }

    /**
     * The kind of engine; a query for a client, which may start the engine.
     *
     * @throws EngineException when the engine does not answer
     */
    public EngineProduct product() throws EngineException {
        return known(LIMIT, Purpose.CLIENT).product();
    }

    EngineConnection connection() {
        return connection;
    }

    /** The ids of the containers that are started for a trial now. */
    Set<String> trials() {
        return trials;
    }

    /** The containers and volumes that are looked for now and then. */
    public EngineObjects objects() {
        return new EngineObjects(this);
    }

    /** Whether a container is one that this daemon has just had the engine create for a trial. */
    public boolean isTrial(String container) {
        return trials.contains(container);
    }

    /** The default runtime, as far as it is known without a question to the engine. */
    public Optional<String> standard() {
        return memory.known().map(it -> it.runtimes().standard());
    }

    /** Remembers the runtimes, so that the next start of a container need not query the engine. */
    EngineRuntimes learnRuntimes() throws EngineException {
        return known(LIMIT, Purpose.UPKEEP).runtimes();
    }

    private EngineFacts known(Duration limit, Purpose purpose) throws EngineException {
        return memory.facts(() -> facts(limit, purpose));
    }

    /** The engine's facts as it reports them now, whatever is remembered. */
    public EngineFacts facts(Duration limit) throws EngineException {
        return facts(limit, Purpose.UPKEEP);
    }

    private EngineFacts facts(Duration limit, Purpose purpose) throws EngineException {
        return connection.ask("describe itself", limit, purpose, EngineFacts::query);
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
        return known(limit, Purpose.UPKEEP).product().isPodman();
    }

    @Override
    public Optional<String> knownId() {
        return memory.known().flatMap(EngineFacts::id);
    }

    @Override
    public String id(Duration limit) throws EngineException {
        return known(limit, Purpose.UPKEEP).id().orElse(null);
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

    /** Whether a runtime's program is ours, and requests its containers' GPUs from this daemon. */
    public boolean isGuarded(String program) {
        return guarded.test(program);
    }

    private List<Listed> list(Duration limit, UnaryOperator<ListContainersCmd> filter)
            throws EngineException {
        return connection.ask(
                "list containers",
                limit,
                Purpose.UPKEEP,
                docker ->
                        filter.apply(docker.listContainersCmd().withShowAll(true)).exec().stream()
                                .map(ContainerRecords::listed)
                                .toList());
    }

    @Override
    public List<RunningContainer> running(Duration limit) throws EngineException {
        List<Listed> listed = list(limit, command -> command.withShowAll(false));
        return runs.running(listed, id -> describe(id, limit), connection.threads());
    }

    private Optional<RunningContainer> describe(String container, Duration limit)
            throws EngineException {
        EngineRuntimes runtimes = learnRuntimes();
        return record(container, limit).flatMap(found -> runs.describe(found, runtimes));
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

    @Override
    public Optional<Inspected> inspect(String container, Duration limit) throws EngineException {
        Optional<InspectContainerResponse> found = record(container, limit);
        // The answer also has what the container was given: that needs no query of its own.
        memory.known()
                .ifPresent(facts -> found.ifPresent(each -> runs.keep(each, facts.runtimes())));
        return found.map(ContainerRecords::inspected);
    }

    @Override
    public Optional<Map<String, String>> imageLabels(String image, Duration limit)
            throws EngineException {
        return find(
                "inspect image " + Quote.shown(image),
                limit,
                docker -> ContainerRecords.config(docker.inspectImageCmd(image).exec()).labels());
    }

    /** All that the engine reports of a container; empty when there is none. */
    Optional<InspectContainerResponse> record(String container, Duration limit)
            throws EngineException {
        return find(
                "inspect container " + Quote.shown(container),
                limit,
                docker -> docker.inspectContainerCmd(container).exec());
    }

    @Override
    public Optional<Down> down(String container, Duration limit) throws EngineException {
        return connection.ask(
                "inspect container " + Quote.shown(container),
                limit,
                Purpose.UPKEEP,
                docker ->
                        ifThere(() -> docker.inspectContainerCmd(container).exec())
                                .flatMap(ContainerRecords::down));
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
        connection.ask(
                "start container " + Quote.shown(container),
                limit,
                Purpose.UPKEEP,
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
        return connection.ask(
                "stop container " + Quote.shown(container),
                limit,
                Purpose.UPKEEP,
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

    @Override
    public boolean removeVolume(String volume, Duration limit) throws EngineException {
        return connection.ask(
                "remove volume " + volume,
                limit,
                Purpose.ONE_THING,
                docker -> {
                    try {
                        ifThere(() -> docker.removeVolumeCmd(volume).exec());
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
        return connection.ask(
                "report events",
                LIMIT,
                Purpose.UPKEEP,
                docker ->
                        docker.eventsCmd()
                                .withEventTypeFilter(EventType.CONTAINER, EventType.DAEMON)
                                .exec(listener));
    }

    @Override
    public void close() throws IOException {
        connection.close();
    }

    /** Asks about one thing, or does something with it; empty when there is no such thing. */
    <T> Optional<T> find(String subject, Duration limit, Function<DockerClient, T> question)
            throws EngineException {
        return connection.ask(
                subject, limit, Purpose.ONE_THING, docker -> ifThere(() -> question.apply(docker)));
    }

    private static <T> Optional<T> ifThere(Supplier<T> answer) {
        try {
            return Optional.ofNullable(answer.get());
        } catch (NotFoundException e) {
            return Optional.empty();
        }
    }
}
