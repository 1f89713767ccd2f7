package jnvdocker.docker;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.BadRequestException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.ContainerConfig;
import com.github.dockerjava.api.model.Info;
import com.github.dockerjava.core.DefaultDockerClientConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.httpclient5.ApacheDockerHttpClient;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.labels.ImageConfig;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/**
 * The Docker engine behind one Unix socket. It may be stopped, started and replaced by a newer one
 * at any time: each call connects again when the last connection is gone.
 */
public final class DockerEngine implements AutoCloseable {
    private static final int CONNECTIONS = 16;
    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    private final Path socket;
    private DockerClient client;

    public DockerEngine(Path socket) {
        this.socket = socket;
    }

    /** The socket that the engine listens on. */
    public Path socket() {
        return socket;
    }

    /**
     * What an image says of itself, or empty when the engine does not have it.
     *
     * @param name as docker takes it: a name with tag or digest, or an id
     * @throws EngineException when the engine does not answer
     */
    public Optional<ImageConfig> image(String name) throws EngineException {
        return ask(
                "inspect image " + name,
                docker -> {
                    try {
                        return Optional.of(imageConfig(docker, name));
                    } catch (NotFoundException e) {
                        return Optional.empty();
                    }
                });
    }

    /**
     * @throws EngineException when the engine does not answer
     */
    public EngineRuntimes runtimes() throws EngineException {
        return ask(
                "list runtimes",
                docker -> {
                    Info info = docker.infoCmd().exec();
                    Map<String, String> paths = new HashMap<>();
                    Optional.ofNullable(info.getRuntimes())
                            .orElse(Map.of())
                            .forEach((name, runtime) ->
                                    paths.put(
                                            name,
                                            Objects.requireNonNullElse(runtime.getPath(), "")));
                    Object standard = info.getRawValues().get("DefaultRuntime");
                    return new EngineRuntimes(
                            Objects.requireNonNullElse(standard, "").toString(), paths);
                });
    }

    @Override
    public synchronized void close() throws IOException {
        if (client != null) {
            client.close();
            client = null;
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

    /**
     * Asks twice before giving up: a kept connection may be of an engine that has been restarted
     * since, and the one that runs now may speak another version of the API.
     */
    private <T> T ask(String what, Function<DockerClient, T> question) throws EngineException {
        try {
            return question.apply(client());
        } catch (RuntimeException e) {
            if (e instanceof DockerException && !(e instanceof BadRequestException)) {
                throw failure(what, e);
            }
            forget();
        }
        try {
            return question.apply(client());
        } catch (RuntimeException e) {
            throw failure(what, e);
        }
    }

    private EngineException failure(String what, RuntimeException e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String reason = Objects.requireNonNullElse(root.getMessage(), "no reason given").strip();
        if (e instanceof DockerException) {
            return new EngineException(
                    "the Docker engine at " + socket + " refused to " + what + ": " + reason, e);
        }
        return new EngineException(
                "the Docker engine at "
                        + socket
                        + " does not answer ("
                        + reason
                        + "); start it: systemctl start docker",
                e);
    }

    private synchronized void forget() {
        try {
            close();
        } catch (IOException e) {
            client = null;
        }
    }

    private synchronized DockerClient client() {
        if (client == null) {
            DockerHttpClient transport =
                    new ApacheDockerHttpClient.Builder()
                            .dockerHost(URI.create("unix://" + socket))
                            .maxConnections(CONNECTIONS)
                            .connectionTimeout(TIMEOUT)
                            .responseTimeout(TIMEOUT)
                            .build();
            // The builder alone, not its defaults: those read the environment and root's own files.
            var config =
                    new DefaultDockerClientConfig.Builder()
                            .withDockerHost("unix://" + socket)
                            .withDockerTlsVerify(false)
                            .withApiVersion(apiVersion(transport))
                            .build();
            client = DockerClientImpl.getInstance(config, transport);
        }
        return client;
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
