package jnvdocker.tests.world;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * A recorded call by an engine of its runtime, from {@code fixtures/oci}, with the engine's
 * directories moved below another one.
 *
 * @param texts of a create: {@code config.json}, and docker's {@code config.v2.json} and {@code
 *     hostconfig.json} where it has them
 */
public record RuntimeCall(
        List<String> argv, Path cwd, Map<String, String> environment, Map<String, String> texts) {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path RECORDINGS = Project.fixture("oci");
    private static final String ENGINE = "/(var/run|var/lib|run)/(docker|containers|containerd)\\b";

    /** All recorded scenarios, such as {@code docker-28.5.2/run-rm}. */
    public static List<String> scenarios() throws IOException {
        try (Stream<Path> files = Files.walk(RECORDINGS)) {
            return files.filter(file -> file.toString().endsWith(".json"))
                    .filter(file -> !file.toString().endsWith("process-file.json"))
                    .map(file -> RECORDINGS.relativize(file).toString().replace(".json", ""))
                    .sorted()
                    .toList();
        }
    }

    /** The calls of a scenario, of an engine whose directories are below that one. */
    public static List<RuntimeCall> of(String scenario, Path directory) throws IOException {
        Path file = RECORDINGS.resolve(scenario + ".json");
        String moved = Files.readString(file).replaceAll(ENGINE, directory + "$0");
        List<RuntimeCall> calls = new ArrayList<>();
        for (JsonNode call : JSON.readTree(moved).get("calls")) {
            List<String> argv = new ArrayList<>();
            call.get("argv").forEach(word -> argv.add(word.asText()));
            Map<String, String> environment = new TreeMap<>();
            call.get("env")
                    .properties()
                    .forEach(it -> environment.put(it.getKey(), it.getValue().asText()));
            Map<String, String> texts = new TreeMap<>();
            for (String name : List.of("config.json", "config.v2.json", "hostconfig.json")) {
                if (call.has(name)) {
                    texts.put(name, call.get(name).toString());
                }
            }
            calls.add(new RuntimeCall(argv, Path.of(call.get("cwd").asText()), environment, texts));
        }
        return calls;
    }

    public boolean isCreate() {
        return !texts.isEmpty();
    }

    /** The container: the last argument of each recorded call. */
    public String id() {
        return argv.getLast();
    }

    /** The value of an option, in the same word or the next; empty if it is missing. */
    public String option(String name) {
        for (String word : argv) {
            if (word.startsWith(name + "=")) {
                return word.substring(name.length() + 1);
            }
        }
        int at = argv.indexOf(name);
        return at < 0 ? "" : argv.get(at + 1);
    }

    public Path bundle() {
        return Path.of(option("--bundle"));
    }

    /** Returns the call with another text about the container. */
    public RuntimeCall with(String name, String text) {
        Map<String, String> changed = new TreeMap<>(texts);
        changed.put(name, text);
        return new RuntimeCall(argv, cwd, environment, changed);
    }

    /** Returns the call with other arguments. */
    public RuntimeCall with(List<String> words) {
        return new RuntimeCall(words, cwd, environment, texts);
    }

    /** Lays out the files that the engine has made before this call. */
    public RuntimeCall prepare(Path directory) throws IOException {
        Files.createDirectories(cwd);
        if (isCreate()) {
            Files.createDirectories(bundle());
            Files.writeString(bundle().resolve("config.json"), texts.get("config.json"));
            if (texts.get("config.json").contains("/containers/" + id() + "/hosts\"")) {
                Path docker = directory.resolve("var/lib/docker/containers").resolve(id());
                Files.createDirectories(docker);
                for (String name : List.of("config.v2.json", "hostconfig.json")) {
                    Files.writeString(docker.resolve(name), texts.getOrDefault(name, "{}"));
                }
            }
        }
        return this;
    }
}
