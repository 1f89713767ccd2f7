package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The installed task definitions: each requests GPUs, in the Mesos containerizer. */
@Tag("tree")
class MesosExamplesTest {
    private static final Path EXAMPLES = Project.tree().resolve("examples");

    private static final ObjectMapper JSON =
            new ObjectMapper()
                    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    @Test
    void eachFrameworkHasThree() throws IOException {
        for (String framework : List.of("marathon", "chronos", "mesos-execute")) {
            try (Stream<Path> files = Files.list(EXAMPLES.resolve(framework))) {
                assertEquals(
                        List.of("gpu-test.json", "service.json", "tensorflow.json"),
                        files.map(file -> file.getFileName().toString()).sorted().toList());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu-test", "tensorflow", "service"})
    void marathonsRequestGpusAndAnImage(String name) throws IOException {
        JsonNode app = read("marathon", name);
        assertTrue(app.path("gpus").isInt() && app.path("gpus").asInt() > 0, app::toString);
        assertEquals("MESOS", app.at("/container/type").asText());
        assertImage(app.at("/container/docker/image").asText());
        assertEquals("host", app.at("/networks/0/mode").asText());
        // A second copy would need the same number of GPUs again.
        assertEquals(0, app.at("/upgradeStrategy/maximumOverCapacity").asInt(-1));
        boolean service = name.equals("service");
        assertEquals(service ? 1 : 0, app.path("portDefinitions").size());
        assertEquals(service, app.path("cmd").asText().contains("$PORT_HTTP"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu-test", "tensorflow", "service"})
    void tasksOfMesosExecuteRequestGpusAndAnImage(String name) throws IOException {
        JsonNode task = read("mesos-execute", name);
        assertEquals(name, task.at("/task_id/value").asText());
        assertTrue(resource(task, "gpus").at("/scalar/value").asInt() > 0, task::toString);
        assertEquals("MESOS", task.at("/container/type").asText());
        assertEquals("DOCKER", task.at("/container/mesos/image/type").asText());
        assertImage(task.at("/container/mesos/image/docker/name").asText());
        JsonNode port = resource(task, "ports").at("/ranges/range/0");
        assertEquals(name.equals("service"), port.isObject());
        assertEquals(port.path("begin"), port.path("end"));
    }

    /** Chronos does not support GPUs, so its jobs have mesos-execute request them. */
    @ParameterizedTest
    @ValueSource(strings = {"gpu-test", "tensorflow", "service"})
    void jobsOfChronosRunMesosExecute(String name) throws IOException {
        JsonNode job = read("chronos", name);
        assertTrue(job.path("schedule").asText().matches("R/.*Z/P.*"), job::toString);
        assertFalse(job.has("gpus"), job::toString);
        String command = job.path("command").asText();
        assertTrue(command.startsWith("mesos-execute --"), command);
        List<String> words =
                Command.of("sh", "-c", command.replaceFirst("mesos-execute", "printf '%s\\\\n'"))
                        .run()
                        .ok()
                        .out()
                        .lines()
                        .toList();
        assertTrue(words.contains("--framework_capabilities=GPU_RESOURCES"), words::toString);
        assertTrue(
                words.stream().anyMatch(word -> word.matches("--resources=.*;gpus:[1-9].*")),
                words::toString);
        String image = "--docker_image=";
        assertImage(
                words.stream()
                        .filter(word -> word.startsWith(image))
                        .findFirst()
                        .orElseThrow()
                        .substring(image.length()));
        for (String word : words) {
            assertTrue(word.startsWith("--"), word);
            if (word.startsWith("--volumes=")) {
                JSON.readTree(word.substring("--volumes=".length()));
            }
            if (word.startsWith("--command=")) {
                Command.of("sh", "-n", "-c", word.substring("--command=".length())).run().ok();
            }
        }
    }

    private static JsonNode read(String framework, String name) throws IOException {
        return JSON.readTree(EXAMPLES.resolve(framework).resolve(name + ".json").toFile());
    }

    private static JsonNode resource(JsonNode task, String name) {
        for (JsonNode resource : task.path("resources")) {
            if (resource.path("name").asText().equals(name)) {
                return resource;
            }
        }
        return JSON.missingNode();
    }

    /** Asserts that the image has a tag, so that it does not change by itself. */
    private static void assertImage(String image) {
        assertTrue(image.matches("[a-z]+/[a-z-]+:[a-z0-9.-]+"), image);
    }
}
