package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.RecordingEngine;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Docker itself decides what a command line means: each line is typed to a real docker client,
 * directly and through jnvdocker, and an engine that records its requests shows whether both are
 * the same but for our additions.
 */
@Tag("docker")
@Tag("root")
@ParameterizedClass
@MethodSource("suites")
class CommandLineTest {
    /** The two releases that differ most. */
    private static final List<String> USUAL = List.of("bookworm", "sid");

    /** With {@code DOCKER_CLIENTS=all} there are these, too, and each gets every line. */
    private static final List<String> OTHERS = List.of("bullseye", "trixie");

    /** The release that always gets every line; others get some. */
    private static final String THOROUGH = "sid";

    private static final List<String> FILES = List.of("env", "labels", "seccomp.json");

    private static RecordingEngine alone;
    private static RecordingEngine behindUs;
    private static DriverRoot host;
    private static TestDaemon daemon;
    private static Path directory;
    private static Path client;

    private final String suite;
    private final List<String> wrong = new ArrayList<>();
    private int lines;

    CommandLineTest(String suite) {
        this.suite = suite;
    }

    static List<String> suites() {
        return all() ? Stream.concat(USUAL.stream(), OTHERS.stream()).toList() : USUAL;
    }

    private static boolean all() {
        return "all".equals(System.getenv("DOCKER_CLIENTS"));
    }

    private boolean isThorough() {
        return suite.equals(THOROUGH) || all();
    }

    @BeforeParameterizedClassInvocation
    static void open(String suite) throws IOException {
        client =
                Path.of(Command.of(Project.world("docker-client"), suite).run().ok().out().strip());
        alone = new RecordingEngine();
        behindUs = new RecordingEngine();
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        directory = Directories.make("typed");
        for (Path place : List.of(place(alone), place(behindUs))) {
            Files.createDirectories(place);
            for (String file : FILES) {
                Files.writeString(place.resolve(file), file.endsWith("json") ? "{}\n" : "A=b\n");
            }
        }
        daemon =
                new TestDaemon(host)
                        .with("JNVDOCKER_DOCKER_SOCKET", behindUs.socket())
                        .with("NV_DOCKER", client);
        daemon.jnvdocker("gpu", "ls").run().ok();
    }

    @AfterParameterizedClassInvocation
    static void close() {
        daemon.close();
        alone.close();
        behindUs.close();
        host.close();
        Directories.remove(directory);
    }

    /** The working directory of each: both may write files by the same names. */
    private static Path place(RecordingEngine engine) {
        return directory.resolve(engine == alone ? "alone" : "behind-us");
    }

    @Test
    void everyOptionInEverySpellingIsWhatItWas() {
        List<OptionSamples.Option> ofCreate = OptionSamples.listed(client, "create");
        for (String verb : List.of("create", "run")) {
            for (OptionSamples.Option option : OptionSamples.listed(client, verb)) {
                // An option that both verbs know means the same to both.
                if (verb.equals("create") || !ofCreate.contains(option)) {
                    for (List<String> spelled : spellings(option)) {
                        List<String> line = new ArrayList<>(List.of(verb));
                        line.addAll(spelled);
                        line.addAll(List.of("cuda", "true", "--rm"));
                        type(line);
                    }
                }
            }
        }
        assertNothingIsWrong();
    }

    private List<List<String>> spellings(OptionSamples.Option option) {
        List<List<String>> all = option.spellings();
        return isThorough() ? all : all.subList(0, 1);
    }

    @Test
    void handWrittenLinesAreWhatTheyWere() throws IOException {
        List<String> all =
                Files.readAllLines(Project.fixture("command-lines")).stream()
                        .filter(line -> !line.isBlank() && !line.startsWith("#"))
                        .toList();
        for (int i = 0; i < all.size(); i += isThorough() ? 1 : 2) {
            type(OptionSamples.words(all.get(i)));
        }
        assertNothingIsWrong();
    }

    private void assertNothingIsWrong() {
        System.out.println(suite + ": " + lines + " command lines");
        assertTrue(lines > 50, "only " + lines + " lines");
        assertTrue(wrong.isEmpty(), () -> wrong.size() + " differ\n" + String.join("\n", wrong));
    }

    private void type(List<String> line) {
        lines++;
        Command plain = Command.of(Stream.concat(Stream.of(client), line.stream()).toArray());
        Command ours = daemon.jnvdocker(line.toArray());
        var other =
                CompletableFuture.supplyAsync(() -> run(plain, alone), Thread::startVirtualThread);
        Outcome mine = run(ours, behindUs);
        difference(other.join(), mine)
                .ifPresent(what -> wrong.add(client + " " + line + "\n    " + what));
    }

    /** The outcome of a line. */
    private record Outcome(Command.Result result, List<RecordingEngine.Creation> creations) {}

    private static Outcome run(Command command, RecordingEngine engine) {
        Command.Result result = command.with("DOCKER_HOST", engine.url()).in(place(engine)).run();
        return new Outcome(result, engine.take());
    }

    private static Optional<String> difference(Outcome alone, Outcome ours) {
        List<RecordingEngine.Creation> expected = alone.creations();
        if (expected.size() != ours.creations().size()) {
            return Optional.of(
                    "requests: %d and %d%n%s%n%s"
                            .formatted(
                                    expected.size(),
                                    ours.creations().size(),
                                    alone.result(),
                                    ours.result()));
        }
        if (!isPrinted(printed(alone.result()), printed(ours.result()))) {
            return Optional.of("printed:\n" + alone.result() + "\n" + ours.result());
        }
        for (int i = 0; i < expected.size(); i++) {
            RecordingEngine.Creation one = expected.get(i);
            RecordingEngine.Creation other = ours.creations().get(i);
            if (!one.query().equals(other.query())) {
                return Optional.of("query: " + one.query() + " and " + other.query());
            }
            try {
                JsonNode as = asWithoutUs(other.body().deepCopy(), one.body());
                JsonNode was = tidied(one.body());
                if (!was.equals(as)) {
                    return Optional.of("request:\n    " + was + "\n    " + as);
                }
            } catch (AssertionError e) {
                return Optional.of(e.getMessage() + "\n    " + other.body());
            }
        }
        return Optional.empty();
    }

    /** In help, our options follow docker's own output. */
    private static boolean isPrinted(Command.Result alone, Command.Result ours) {
        boolean help = alone.out().stripLeading().startsWith("Usage:") && alone.exitCode() == 0;
        return help
                ? ours.out().startsWith(alone.out())
                        && ours.out().contains("--gpu-wait")
                        && ours.err().equals(alone.err())
                : ours.equals(alone);
    }

    private static Command.Result printed(Command.Result result) {
        return new Command.Result(
                result.exitCode(), comparable(result.out()), comparable(result.err()));
    }

    /**
     * Removes text that differs between runs, and docker's remarks on our mounts. Nothing is
     * started here, and docker prints the id of a container that it could not start, or ends before
     * that.
     */
    private static String comparable(String text) {
        return text.replace(alone.url(), "ENGINE")
                .replace(behindUs.url(), "ENGINE")
                .replaceAll("(?m)^time=\"[^\"]*\" ", "")
                .replaceAll("(?m)^level=warning msg=\"`--volume-driver` is ignored .*\n", "")
                .replaceAll("(?m)^WARNING: `--volume-driver` is ignored .*\n", "")
                .replaceAll("(?m)^[0-9a-f]{64}\n", "");
    }

    /** Returns a request without our additions, each of which must be there exactly once. */
    private static JsonNode asWithoutUs(JsonNode request, JsonNode original) {
        ObjectNode config = (ObjectNode) request;
        if (config.path("Image").asText().startsWith("plain") && !requestsGpus(original)) {
            return tidied(config);
        }
        ObjectNode hostConfig = (ObjectNode) config.get("HostConfig");
        boolean none =
                original.path("HostConfig").path("DeviceRequests").toString().contains("none");
        String nodes = host.directory() + "/dev/nvidia";
        int devices =
                drop(
                        hostConfig.get("Devices"),
                        device -> device.path("PathOnHost").asText().startsWith(nodes));
        assertTrue(devices > 3 || none, "devices of ours: " + devices);
        int mounts = drop(hostConfig.get("Mounts"), CommandLineTest::isOurMount);
        boolean mountsNvidia = original.toString().contains("/usr/local/nvidia");
        assertEquals(mountsNvidia ? 1 : 2, mounts, "mounts of ours");
        ObjectNode labels = (ObjectNode) config.get("Labels");
        assertTrue(
                labels.remove("jnvdocker.claim").asText().matches("[0-9a-f]{12}-[0-9a-f]{32}"),
                "a claim");
        drop(config.get("Env"), variable -> isOurVariable(variable.asText(), original));
        // Restored, since ours replaces the original's request for GPUs.
        JsonNode requested = original.path("HostConfig").path("DeviceRequests");
        hostConfig.set("DeviceRequests", requested.isMissingNode() ? null : requested.deepCopy());
        return tidied(config);
    }

    private static boolean requestsGpus(JsonNode request) {
        return !request.path("HostConfig").path("DeviceRequests").isEmpty();
    }

    private static boolean isOurMount(JsonNode mount) {
        String driver = mount.path("VolumeOptions").path("DriverConfig").path("Name").asText();
        return mount.path("Source").asText().matches("nvidia_driver_.*|jnvdocker_claim_.*")
                && driver.equals("nvidia-docker");
    }

    private static boolean isOurVariable(String variable, JsonNode original) {
        boolean ours =
                variable.endsWith("=/bin:/usr/local/nvidia/bin")
                        || variable.endsWith(":/sbin:/bin:/usr/local/nvidia/bin")
                        || variable.equals(
                                "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64")
                        || variable.equals("NVIDIA_VISIBLE_DEVICES=void")
                        || variable.startsWith("NVIDIA_DRIVER_CAPABILITIES=");
        return ours && !original.path("Env").toString().contains(variable);
    }

    private static int drop(JsonNode list, Predicate<JsonNode> which) {
        int dropped = 0;
        if (list instanceof ArrayNode array) {
            for (Iterator<JsonNode> entries = array.iterator(); entries.hasNext(); ) {
                if (which.test(entries.next())) {
                    entries.remove();
                    dropped++;
                }
            }
        }
        return dropped;
    }

    /**
     * Docker treats an absent value, null and an empty list alike, and its own clients write
     * variables in any order.
     */
    private static JsonNode tidied(JsonNode json) {
        if (json.get("Env") instanceof ArrayNode variables) {
            List<String> sorted = new ArrayList<>();
            variables.forEach(variable -> sorted.add(variable.asText()));
            variables.removeAll();
            sorted.stream().sorted().forEach(variables::add);
        }
        for (Iterator<JsonNode> entries = json.iterator(); entries.hasNext(); ) {
            JsonNode entry = entries.next();
            tidied(entry);
            if (json.isObject() && (entry.isNull() || entry.isContainerNode() && entry.isEmpty())) {
                entries.remove();
            }
        }
        return json;
    }
}
