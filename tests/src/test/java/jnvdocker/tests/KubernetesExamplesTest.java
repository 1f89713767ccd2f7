package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;

import jnvdocker.kubernetes.dra.DraDriver;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.tomlj.Toml;
import org.tomlj.TomlParseResult;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/** The manifests for a cluster, and the script that turns a node on. */
class KubernetesExamplesTest {
    private static final Path EXAMPLES = Project.source("src/dist/examples/kubernetes");

    private static final ObjectMapper YAML =
            new ObjectMapper(new YAMLFactory())
                    .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    private static JsonNode read(String name) throws IOException {
        return YAML.readTree(EXAMPLES.resolve(name).toFile());
    }

    private static Set<String> keys(JsonNode object) {
        Set<String> keys = new TreeSet<>();
        object.fieldNames().forEachRemaining(keys::add);
        return keys;
    }

    @Test
    void eachManifestIsTested() throws IOException {
        try (Stream<Path> files = Files.list(EXAMPLES)) {
            assertEquals(
                    List.of(
                            "deployment.yaml",
                            "dra-deviceclass.yaml",
                            "dra-pod.yaml",
                            "dra-rbac.yaml",
                            "dra-share.yaml",
                            "install.sh",
                            "job.yaml",
                            "pod.yaml",
                            "runtimeclass.yaml"),
                    files.map(file -> file.getFileName().toString()).sorted().toList());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "pod.yaml, v1, Pod, ''",
        "job.yaml, batch/v1, Job, /spec/template",
        "deployment.yaml, apps/v1, Deployment, /spec/template",
    })
    void workloadAsksForGpusInItsLimits(String file, String version, String kind, String template)
            throws IOException {
        JsonNode root = read(file);
        assertEquals(version, root.path("apiVersion").asText());
        assertEquals(kind, root.path("kind").asText());
        assertTrue(root.at("/metadata/name").asText().matches("[a-z]+"), root::toString);
        JsonNode pod = root.at(template + "/spec");
        assertTrue(
                Set.of("containers", "restartPolicy", "nodeSelector", "runtimeClassName")
                        .containsAll(keys(pod)),
                pod::toString);
        // A Job's pods cannot be restarted for ever.
        assertEquals(kind.equals("Deployment") ? "" : "Never", pod.path("restartPolicy").asText());
        JsonNode container = pod.at("/containers/0");
        assertTrue(container.path("image").asText().contains(":"), container::toString);
        assertEquals(Set.of("limits"), keys(container.path("resources")));
        JsonNode gpus = container.at("/resources/limits/nvidia.com~1gpu");
        assertTrue(gpus.isInt() && gpus.asInt() > 0, container::toString);
    }

    @Test
    void deploymentNeedsNoSecondGpuForAnUpdateAndNamesOurRuntimeClass() throws IOException {
        JsonNode spec = read("deployment.yaml").path("spec");
        assertEquals("Recreate", spec.at("/strategy/type").asText());
        assertEquals(spec.at("/selector/matchLabels"), spec.at("/template/metadata/labels"));
        JsonNode runtime = read("runtimeclass.yaml");
        assertEquals("node.k8s.io/v1", runtime.path("apiVersion").asText());
        assertEquals("RuntimeClass", runtime.path("kind").asText());
        assertEquals("nvidia", runtime.path("handler").asText());
        assertEquals(
                runtime.at("/metadata/name").asText(),
                spec.at("/template/spec/runtimeClassName").asText());
    }

    private static List<JsonNode> all(String name) throws IOException {
        return YAML.readerFor(JsonNode.class)
                .without(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .<JsonNode>readValues(EXAMPLES.resolve(name).toFile())
                .readAll();
    }

    @ParameterizedTest
    @ValueSource(strings = {"dra-pod.yaml", "dra-share.yaml"})
    void claimOfThePodRequestsTheClassOfTheDriver(String file) throws IOException {
        JsonNode type = read("dra-deviceclass.yaml");
        assertEquals("resource.k8s.io/v1", type.path("apiVersion").asText());
        String selector = type.at("/spec/selectors/0/cel/expression").asText();
        assertEquals("device.driver == \"" + DraDriver.NAME + "\"", selector);
        List<JsonNode> pod = all(file);
        assertEquals(
                type.at("/metadata/name"),
                pod.getFirst().at("/spec/spec/devices/requests/0/exactly/deviceClassName"));
        JsonNode spec = pod.getLast().path("spec");
        assertEquals(
                pod.getFirst().at("/metadata/name"),
                spec.at("/resourceClaims/0/resourceClaimTemplateName"));
        assertEquals(
                spec.at("/resourceClaims/0/name"),
                spec.at("/containers/0/resources/claims/0/name"));
    }

    /** What the driver requests of an API server, and no more. */
    @Test
    void accountMayDoWhatTheDriverDoes() throws IOException {
        List<JsonNode> objects = all("dra-rbac.yaml");
        JsonNode role =
                objects.stream()
                        .filter(it -> it.path("kind").asText().equals("ClusterRole"))
                        .findFirst()
                        .orElseThrow();
        Map<String, String> rights = new TreeMap<>();
        for (JsonNode rule : role.path("rules")) {
            rights.put(
                    rule.at("/apiGroups/0").asText() + "/" + rule.at("/resources/0").asText(),
                    rule.path("verbs").toString());
        }
        assertEquals(
                Map.of(
                        "/nodes", "[\"get\"]",
                        "resource.k8s.io/resourceclaims", "[\"get\"]",
                        "resource.k8s.io/resourceslices",
                                "[\"list\",\"create\",\"update\",\"delete\"]"),
                rights);
        JsonNode binding = objects.getLast();
        assertEquals(role.at("/metadata/name"), binding.at("/roleRef/name"));
        assertEquals(objects.getFirst().at("/metadata/name"), binding.at("/subjects/0/name"));
    }

    @Test
    void scriptEnablesThePluginBesideTheConfigurationAndMayRunAgain(@TempDir Path directory)
            throws IOException {
        String script =
                Files.readString(EXAMPLES.resolve("install.sh"))
                        .replace("/etc/jnvdocker", directory.toString());
        String stubs = "systemctl() { :; }\njnvdocker() { :; }\n";
        for (int i = 0; i < 2; i++) {
            Command.of("sh", "-c", stubs + script).run().ok();
            TomlParseResult now = Toml.parse(directory.resolve("config.d/kubernetes.toml"));
            assertFalse(now.hasErrors(), () -> now.errors().toString());
            assertEquals(true, now.getBoolean("kubernetes.enabled"), now::toToml);
        }
    }
}
