package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.BadRequestException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientConfig;
import com.github.dockerjava.core.DockerClientConfigDelegate;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.json.ForeignJson;
import jnvdocker.process.SocketServers;

import java.io.IOException;
import java.net.ConnectException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The connections to the engine behind one Unix socket. Each question has a limit, since the
 * transport sets none to the time that an engine takes: one that has no answer by then is called
 * off, which ends its connection.
 */
final class EngineConnection implements AutoCloseable {
    private static final int CONNECTIONS = 16;

    /** The numbers of connections that questions about one thing may take. */
    private static final int ABOUT_ONE_THING = 8;

    private static final int ABOUT_THE_SAME = 2;

    private static final String START = "start it: systemctl start docker";
    private static final Duration LONGEST = Duration.ofSeconds(20);

    private final Path socket;
    private final AtomicReference<DockerClient> client = new AtomicReference<>();
    private final SocketServers servers = SocketServers.ofThisMachine();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final ObjectMapper mapper =
            DockerClientConfig.getDefaultObjectMapper().copyWith(new EngineJson());

    /** The number of questions under way for clients; such a question may start the engine. */
    private final AtomicInteger forClients = new AtomicInteger();

    /** The questions under way about one thing. */
    private final Map<String, Integer> turns = new HashMap<>();

    private int taken;

    /** What a question is for. */
    enum Purpose {
        /** A client, for which a stopped engine is started where systemd listens for it. */
        CLIENT,

        /** No client, so that the engine is asked only while it runs. */
        UPKEEP,

        /**
         * As {@link #UPKEEP}, about one thing. The engine answers only when it is done with what it
         * does to the thing, so that such questions get a part of the connections alone: lists
         * always have some.
         */
        ONE_THING
    }

    EngineConnection(Path socket) {
        this.socket = socket;
    }

    /** The threads that questions are asked on. */
    ExecutorService threads() {
        return threads;
    }

    /**
     * Asks the engine.
     *
     * @param subject of the question: {@code list containers}
     * @throws EngineException when the engine refuses it, or does not answer in time
     */
    <T> T ask(String subject, Duration limit, Purpose purpose, Function<DockerClient, T> question)
            throws EngineException {
        if (purpose != Purpose.CLIENT && !Files.exists(socket)) {
            // A client would find out as well, once it had been built.
            throw noAnswer("No such file or directory", null);
        }
        try {
            return switch (purpose) {
                case UPKEEP -> askTwice(subject, limit, question);
                case CLIENT -> {
                    forClients.incrementAndGet();
                    try {
                        yield askTwice(subject, limit, question);
                    } finally {
                        forClients.decrementAndGet();
                    }
                }
                case ONE_THING -> {
                    Duration left = enter(subject, limit);
                    try {
                        yield askTwice(subject, left, question);
                    } finally {
                        leave(subject);
                    }
                }
            };
        } catch (TimeoutException e) {
            throw new EngineException(
                    "the Docker engine at %s has not answered for %s s"
                            .formatted(socket, limit.toMillis() / 1000.0),
                    "see its log: journalctl -u docker",
                    e);
        }
    }

    /**
     * Tries twice before giving up: the kept connections may be of an engine that has been
     * restarted since, and the one that runs now may speak another version of the API.
     */
    private <T> T askTwice(String subject, Duration limit, Function<DockerClient, T> question)
            throws EngineException, TimeoutException {
        DockerClient used = client.get();
        try {
            if (used != null) {
                return within(limit, () -> question.apply(used));
            }
        } catch (RuntimeException e) {
            if (isAnswer(e)) {
                throw failure(subject, e);
            }
        }
        try {
            DockerClient fresh = renew(used, limit);
            return within(limit, () -> question.apply(fresh));
        } catch (RuntimeException e) {
            throw failure(subject, e);
        }
    }

    /** Makes a call; throws what it throws. */
    private <T> T within(Duration limit, Supplier<T> call) throws TimeoutException {
        Future<T> answer = threads.submit(call::get);
        try {
            return answer.get(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof RuntimeException cause
                    ? cause
                    : new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        } finally {
            answer.cancel(true);
        }
    }

    /** Waits until one more question about a thing can be asked; returns the time that is left. */
    private synchronized Duration enter(String subject, Duration limit) throws TimeoutException {
        long end = System.nanoTime() + limit.toNanos();
        while (taken >= ABOUT_ONE_THING || turns.getOrDefault(subject, 0) >= ABOUT_THE_SAME) {
            long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
            if (left <= 0) {
                throw new TimeoutException();
            }
            try {
                wait(left);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
        }
        taken++;
        turns.merge(subject, 1, Integer::sum);
        return Duration.ofNanos(Math.max(end - System.nanoTime(), 0));
    }

    private synchronized void leave(String subject) {
        taken--;
        turns.computeIfPresent(subject, (_, count) -> count == 1 ? null : count - 1);
        notifyAll();
    }

    /**
     * Whether the engine understood the question, and would answer the same if it were repeated.
     */
    private static boolean isAnswer(RuntimeException e) {
        return e instanceof DockerException && !isAboutVersion(e);
    }

    /** Whether the engine speaks another version of the API. */
    static boolean isAboutVersion(RuntimeException e) {
        return e instanceof BadRequestException
                && e.getMessage() != null
                && e.getMessage().contains("client version");
    }

    /**
     * Replaces a dead client, once for all callers that have found it dead. Others may still wait
     * for an answer on it, so it is closed when none can come any more.
     */
    private DockerClient renew(DockerClient dead, Duration limit) throws TimeoutException {
        DockerClient fresh = within(limit, this::connect);
        if (client.compareAndSet(dead, fresh)) {
            closeLater(dead);
            return fresh;
        }
        closeLater(fresh);
        return client.get();
    }

    private void closeLater(DockerClient old) {
        if (old != null) {
            threads.submit(() -> {
                Thread.sleep(LONGEST.multipliedBy(2));
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

    /**
     * To connect to a stopped engine would start it, where systemd listens for it. An engine that
     * is stopping closes its socket long before its events end.
     */
    private void passGate() throws StoppedException {
        if (forClients.get() == 0 && !servers.isServed(socket)) {
            throw new StoppedException();
        }
    }

    private static final class StoppedException extends ConnectException {
        private static final long serialVersionUID = 1;
    }

    private EngineException failure(String subject, RuntimeException e) {
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
                            .formatted(subject, root.getMessage()),
                    "a container has thousands of labels, variables or mounts; make it with fewer",
                    e);
        }
        if (root instanceof JsonProcessingException) {
            return new EngineException(
                    "the server at %s, requested to %s, does not speak a known Docker API"
                            .formatted(socket, subject),
                    "let JNVDOCKER_DOCKER_SOCKET name a Docker engine",
                    e);
        }
        String reason = Objects.requireNonNullElse(root.getMessage(), "no reason given").strip();
        if (e instanceof DockerException) {
            return new EngineException(
                    "the Docker engine at " + socket + " refused to " + subject + ": " + reason,
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

    @Override
    public void close() throws IOException {
        threads.shutdownNow();
        DockerClient last = client.getAndSet(null);
        if (last != null) {
            last.close();
        }
    }
}
