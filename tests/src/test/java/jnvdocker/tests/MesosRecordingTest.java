package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.labels.ImageConfig;
import jnvdocker.mesos.launch.ContainerConfig;
import jnvdocker.mesos.launch.RuntimeDirectory;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.MesosReplay;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Every call of a real agent and of its executors, replayed through our mesos-containerizer and a
 * daemon. A launch info {@code X.json} of {@code fixtures/mesos} becomes {@code X.expected.json}
 * where that exists; otherwise it stays unchanged, like everything else in the call. The results
 * are in {@code tests/target/mesos}.
 */
@Tag("root")
class MesosRecordingTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path RECORDINGS = Project.fixture("mesos");
    private static final String EXPECTED = ".expected.json";

    /** A task of the recordings names this UUID. */
    private static final String UUID = "GPU-1a1b2c3d-0000-1111-2222-333344445555";

    private static DriverRoot host;

    @BeforeAll
    static void makeHost() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        try (Stream<Path> gpus = Files.list(host.directory().resolve("proc/driver/nvidia/gpus"))) {
            Path second = gpus.sorted().toList().get(1).resolve("information");
            String file = host.directory().relativize(second).toString();
            host.write(file, host.read(file).replaceFirst("GPU-[0-9a-f-]{36}", UUID));
        }
    }

    @AfterAll
    static void removeHost() {
        host.close();
    }

    static List<String> recordings() throws IOException {
        try (Stream<Path> directories = Files.list(RECORDINGS)) {
            return directories
                    .filter(Files::isDirectory)
                    .map(directory -> directory.getFileName().toString())
                    .sorted()
                    .toList();
        }
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void callsArriveAsExpected(String recording) throws IOException {
        Path directory = RECORDINGS.resolve(recording);
        try (TestDaemon daemon = new TestDaemon(host);
                MesosReplay replay = new MesosReplay(directory, daemon)) {
            daemon.jnvdocker("gpu", "volume").run().ok();
            for (MesosReplay.Call call : replay.calls()) {
                MesosReplay.Seen seen = replay.run(call);
                assertEquals(call.otherArguments(), seen.otherArguments(), call.toString());
                assertEquals(call.otherVariables(), seen.otherVariables(), call.toString());
                if (call.launchInfo().isPresent()) {
                    String name = call.launchInfo().get();
                    keep(recording, name, seen.launchInfo());
                    assertEquals(
                            pretty(expected(directory, name)), pretty(seen.launchInfo()), name);
                }
            }
        }
    }

    /** Compares the agent's checkpoint with the same data as decoded by protobuf's own library. */
    @ParameterizedTest
    @MethodSource("recordings")
    void configIsReadAsItWasMeant(String recording, @TempDir Path agent) throws Exception {
        Path container = Files.createDirectories(agent.resolve("containers/a"));
        try (Stream<Path> files = Files.list(RECORDINGS.resolve(recording))) {
            for (Path file : files.filter(it -> it.toString().endsWith("config.bin")).toList()) {
                Files.write(container.resolve("config"), Files.readAllBytes(file));
                ContainerConfig config = RuntimeDirectory.of(container.toString()).config();
                String json = file.getFileName().toString().replace("config.bin", "");
                JsonNode meant =
                        JSON.readTree(file.resolveSibling(json + "container_config.json").toFile());
                assertEquals(meant.path("directory").asText(), config.directory());
                assertEquals(meant.path("user").asText(), config.user());
                assertEquals(meant.path("rootfs").asText(), config.rootfs().orElse(""));
                assertEquals(meant.has("task_info"), config.commandTask());
                assertEquals(
                        meant.path("container_class").asText().equals("DEBUG"), config.debug());
                assertEquals(resources(meant), resources(config));
                assertEquals(image(meant), config.image());
            }
        }
    }

    private static Optional<ImageConfig> image(JsonNode config) throws Exception {
        JsonNode image = config.path("docker").path("manifest").path("config");
        return image.isMissingNode()
                ? Optional.empty()
                : Optional.of(ImageConfig.parse(image.toString()));
    }

    private static List<String> resources(JsonNode config) {
        List<String> resources = new ArrayList<>();
        for (JsonNode resource : config.path("resources")) {
            List<String> items = new ArrayList<>();
            resource.path("set").path("item").forEach(item -> items.add(item.asText()));
            resources.add(
                    resource.path("name").asText()
                            + " "
                            + resource.path("scalar").path("value").asDouble()
                            + items);
        }
        return resources;
    }

    private static List<String> resources(ContainerConfig config) {
        return config.resources().stream()
                .map(it -> it.name() + " " + it.scalar() + it.items())
                .toList();
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void whatIsExpectedIsOfARecording(String recording) throws IOException {
        try (Stream<Path> files = Files.list(RECORDINGS.resolve(recording))) {
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                if (name.endsWith(EXPECTED)) {
                    assertTrue(Files.exists(file.resolveSibling(recorded(name))), file::toString);
                }
            }
        }
    }

    private static String recorded(String expected) {
        return expected.substring(0, expected.length() - EXPECTED.length()) + ".json";
    }

    private static String expected(Path directory, String name) throws IOException {
        Path changed = directory.resolve(name.replaceFirst("\\.json$", EXPECTED));
        return Files.readString(Files.exists(changed) ? changed : directory.resolve(name));
    }

    private static void keep(String recording, String name, String json) throws IOException {
        Path directory = Project.root().resolve("tests/target/mesos").resolve(recording);
        Files.createDirectories(directory);
        Files.writeString(directory.resolve(name), pretty(json) + "\n");
    }

    private static String pretty(String json) throws JsonProcessingException {
        JsonNode tree = JSON.readTree(json);
        return JSON.writerWithDefaultPrettyPrinter().writeValueAsString(tree);
    }
}
