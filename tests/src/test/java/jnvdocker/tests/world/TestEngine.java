package jnvdocker.tests.world;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.UnixDomainSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** A real Docker engine with directories, socket and plugins of its own. */
public final class TestEngine implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path directory = Directories.make("engine");
    private final Map<String, String> environment = new HashMap<>();
    private final List<Object> inside;

    /** The engine's release: the installed one, or Debian's newest. */
    public enum Release {
        DEBIAN_STABLE(List.of()),
        NEWEST(List.of("--newest"));

        private final List<String> options;

        Release(List<String> options) {
            this.options = options;
        }

        /** The release that {@code ENGINE} in the environment names, by default the newest. */
        public static Release wanted() {
            return valueOf(Objects.requireNonNullElse(System.getenv("ENGINE"), NEWEST.name()));
        }
    }

    public TestEngine() {
        this(Release.DEBIAN_STABLE);
    }

    public TestEngine(Release release) {
        this(release, List.of());
    }

    /**
     * @param inside words that have a command run in the network that the engine is to have
     */
    public TestEngine(Release release, List<Object> inside) {
        this.inside = List.copyOf(inside);
        try {
            script("start", release.options);
        } catch (AssertionError e) {
            close();
            throw e;
        }
    }

    private void script(String verb, List<String> options) {
        List<Object> words = new ArrayList<>(inside);
        words.addAll(List.of(Project.world("engine"), verb, directory));
        words.addAll(options);
        Command.of(words.toArray()).with(environment).run().ok();
    }

    /** Makes dockerd search this directory for programs first, from its next start on. */
    public void path(Path programs) {
        environment.put("PATH", programs + ":" + System.getenv("PATH"));
    }

    /** The version that the engine reports, such as {@code 20.10.24+dfsg1}. */
    public String version() {
        return docker("version", "--format", "{{.Server.Version}}").run().ok().out().strip();
    }

    public Path socket() {
        return directory.resolve("docker.sock");
    }

    public String url() {
        return "unix://" + socket();
    }

    /** The directory in which this engine searches for plugins' sockets. */
    public Path plugins() {
        return directory.resolve("plugins");
    }

    /** The output of dockerd and containerd since this engine was first started. */
    public String log() {
        try {
            return Files.readString(directory.resolve("log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Makes a glibc image. The options are those of {@code tests/worlds/image}. */
    public void image(String tag, String... options) {
        List<Object> words = new ArrayList<>(List.of(Project.world("image"), socket(), tag));
        words.addAll(Arrays.asList(options));
        Command.of(words.toArray()).run().ok();
    }

    /** Docker itself, talking to this engine. */
    public Command docker(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("docker"));
        words.addAll(Arrays.asList(arguments));
        return Command.of(words.toArray()).with("DOCKER_HOST", url());
    }

    /**
     * A request to the engine's API that no command of docker makes.
     *
     * @param path such as {@code containers/create?name=train}
     */
    public Command post(String path, String json) {
        return Command.of(
                        "curl",
                        "-sS",
                        "--fail-with-body",
                        "--unix-socket",
                        socket(),
                        "-H",
                        "Content-Type: application/json",
                        "-d",
                        "@-",
                        "http://docker/" + path)
                .input(json);
    }

    /**
     * A page of the engine's API, such as {@code /volumes}. What is read again and again costs a
     * tenth of the processor's time that docker itself takes to start.
     *
     * @return missing if the engine answers that there is no such thing
     */
    JsonNode query(String page) {
        Http.Answer answer = request("GET", page);
        if (answer.status() == 404) {
            return MissingNode.getInstance();
        }
        assertEquals(200, answer.status(), () -> page + ": " + answer.body());
        try {
            return JSON.readTree(answer.body());
        } catch (JsonProcessingException e) {
            throw new AssertionError(page + ": " + answer.body(), e);
        }
    }

    /** HTTP 1.0: the end of the answer is the end of the connection. */
    private Http.Answer request(String verb, String page) {
        return Http.query(
                UnixDomainSocketAddress.of(socket()),
                verb + " " + page + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
    }

    /** Stops and starts it, as {@code systemctl restart docker} does. */
    public void restart() {
        script("restart", List.of());
    }

    /**
     * Restarts it with these options of dockerd, such as {@code --live-restore}, which later starts
     * keep. Its earlier options decide whether the containers survive.
     */
    public void restart(String... options) {
        List<String> words = new ArrayList<>(List.of("--"));
        words.addAll(Arrays.asList(options));
        script("restart", words);
    }

    /** Has dockerd reload its configuration, as {@code systemctl reload docker} does. */
    public void reload() {
        Command.of("kill", "-HUP", pid()).run().ok();
    }

    /** The pid of dockerd. */
    public long pid() {
        return pid("docker.pid");
    }

    private long pid(String file) {
        try {
            return Long.parseLong(Files.readString(directory.resolve(file)).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends containerd alone; dockerd starts another one after a while. */
    public void killContainerd() {
        Command.of("kill", "-KILL", pid("exec/containerd/containerd.pid")).run().ok();
    }

    /** A command in the mount namespace of dockerd, which has a /run/containerd of its own. */
    public Command inside(Object... words) {
        List<Object> all =
                new ArrayList<>(List.of("nsenter", "--mount=/proc/" + pid() + "/ns/mnt"));
        all.addAll(Arrays.asList(words));
        return Command.of(all.toArray());
    }

    /** The socket of its containerd. */
    public Path containerd() {
        return directory.resolve("exec/containerd/containerd.sock");
    }

    /** Ends dockerd without a chance to clean up; containers run on until the next start. */
    public void kill() {
        script("kill", List.of());
    }

    /**
     * Starts it again after {@link #stop} or {@link #kill}, with the same directory, release and
     * options.
     */
    public void start() {
        script("start", List.of());
    }

    /** Removes every container, running or not. */
    public void removeContainers() {
        for (JsonNode container : query("/containers/json?all=1")) {
            String page = "/containers/" + container.path("Id").asText() + "?force=1";
            Http.Answer answer = request("DELETE", page);
            assertTrue(Set.of(204, 404).contains(answer.status()), answer::toString);
        }
    }

    /** Ends it; its images stay. */
    public void stop() {
        script("stop", List.of());
    }

    @Override
    public void close() {
        stop();
        Directories.remove(directory);
    }
}
