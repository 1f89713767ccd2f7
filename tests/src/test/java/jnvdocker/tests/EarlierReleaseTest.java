package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Folders;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.DriverManager;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * State left by earlier releases keeps working: their registries and claim files ({@code
 * fixtures/states}), and containers that carry their labels, nodes and volumes, on a real engine.
 */
class EarlierReleaseTest extends OneEngineTest {
    private static final Path SCHEMA_4 = Project.fixture("states/schema-4");
    private static final Path SCHEMA_5 = Project.fixture("states/schema-5");
    private static final String CLAIM_4 = "aaaaaaaaaaa";
    private static final String CLAIM_5 = "bbbbbbbbbbb";
    private static final String OTHER_ENGINE = "unix:///run/other.sock";
    private static final String UUID = "GPU-5c1a%s-1d2c-4e5f-8a9b-01234567890%d";
    private static final List<String> SHORT = List.of("0000", "1003", "2006", "3009");

    @Test
    void itsStateFolderContainersAndWaitersGoOn() throws Exception {
        Process client = Command.of("sleep", "1000").start();
        Process waiter = Command.of("sleep", "1000").start();
        try {
            containers();
            lab.daemon().kill();
            Map<String, String> values = values("stopped", "created", "train", "released");
            process(values, "client", client.pid());
            process(values, "waiter", waiter.pid());
            lay(SCHEMA_4, values);
            lab.startDaemon();

            JsonNode gpus = lab.jnvdocker("gpu", "ls", "--json").json();
            assertEquals(
                    List.of("held", "free", "held", "reserved"), gpus.findValuesAsText("state"));
            assertEquals(6, gpus.path(0).path("lease").asInt());
            assertEquals("alice", gpus.path(0).path("user").asText());
            assertEquals("2026-11-20T11:47:12Z", gpus.path(0).path("since").asText());
            // It runs, so it counts, although its user has released it by force.
            assertEquals("released", gpus.path(2).path("container_name").asText());
            assertEquals(8, gpus.path(3).path("lease").asInt());
            assertTrue(gpus.path(3).path("note").asText().contains("cordoned by root"));
            assertEquals(
                    List.of("bob"),
                    lab.jnvdocker("gpu", "queue", "--json").json().findValuesAsText("user"));
            String all = lab.jnvdocker("gpu", "leases", "--all").ok().out();
            for (String evidence :
                    List.of(
                            "gone .*its first process \\(pid 4711\\) is gone",
                            "python3 .*its process \\(pid 4712\\) is gone, and all it started",
                            "train .*its process \\(pid 4713\\) is gone, and its cgroup empty",
                            "released .*released by force: bob \\(uid 1002\\): to see")) {
                assertTrue(all.matches("(?s).* " + evidence + ".*"), all);
            }
            client.destroyForcibly().waitFor();
            waiter.destroyForcibly().waitFor();
            lab.docker("start", "stopped").ok();
            lab.docker("restart", "train").ok();
            lab.awaitHolders(Map.of(0, "train", 1, "stopped", 2, "released"));
            lab.docker("kill", "stopped", "released").ok();
            lab.docker("start", "created").ok();
            lab.awaitHolders(Map.of(0, "train", 1, "created"));
        } finally {
            client.destroyForcibly();
            waiter.destroyForcibly();
        }
    }

    @Test
    void itsClaimsAreOfWhomTheyWere() throws Exception {
        Map<String, Process> processes = new HashMap<>();
        for (String name :
                List.of("client", "program", "task", "first", "second", "third", "fourth")) {
            processes.put(name, Command.of("sleep", "1000").start());
        }
        try {
            lab.daemon().kill();
            Map<String, String> values = new HashMap<>();
            for (Map.Entry<String, Process> process : processes.entrySet()) {
                process(values, process.getKey(), process.getValue().pid());
            }
            values.putAll(Map.of("boot", "an-earlier-one", "engine", "another"));
            lay(SCHEMA_5, values);
            lab.startDaemon();
            container("train", CLAIM_5 + 5, 0, 1001);
            container("stopped", CLAIM_5 + 9, 0, 1001);
            lab.docker("start", "train").ok();
            lab.daemon().kill();
            values.putAll(values("train", "stopped"));
            lay(SCHEMA_5, values);
            lab.startDaemon();

            JsonNode queue = lab.jnvdocker("gpu", "queue", "--json").json();
            assertEquals(List.of("plain", "nvidia/cuda", "null", "null"), texts(queue, "image"));
            assertEquals(List.of("null", "null", "python3", "null"), texts(queue, "command"));
            assertEquals(List.of("null", "null", "null", "train"), texts(queue, "task"));
            JsonNode live = lab.jnvdocker("gpu", "leases", "--json").json();
            List<String> engines = List.of(OTHER_ENGINE, "mesos", "null", values.get("engine"));
            assertEquals(engines, texts(live, "engine"));
            assertEquals(List.of("nvidia/cuda", "null", "null", "plain"), texts(live, "image"));
            assertEquals(List.of("null", "null", "python3", "null"), texts(live, "command"));
            JsonNode all = lab.jnvdocker("gpu", "leases", "--all", "--json").json();
            assertEquals(engines, texts(all, "engine").subList(4, 8));

            for (Process process : processes.values()) {
                process.destroyForcibly().waitFor();
            }
            lab.docker("kill", "train").ok();
            lab.docker("start", "stopped").ok();
            lab.daemon().kill();
            removeRegistry();
            lab.startDaemon();
            JsonNode found = lab.jnvdocker("gpu", "leases", "--json").json();
            assertEquals(List.of("stopped"), texts(found, "container_name"));
            assertEquals(List.of("null"), texts(found, "image"));
            String kept = lab.jnvdocker("gpu", "prune", "--dry-run").ok().out();
            assertTrue(kept.contains("the engine at " + OTHER_ENGINE + " may have its"), kept);
            lab.jnvdocker("gpu", "prune", "--other-engines").ok();
            lab.awaitHolders(Map.of(0, "stopped"));
        } finally {
            processes.values().forEach(Process::destroyForcibly);
        }
    }

    /** The values of a key, in the order of the list. */
    private static List<String> texts(JsonNode list, String key) {
        return list.findValues(key).stream().map(JsonNode::asText).toList();
    }

    /**
     * Makes containers as that release has docker make them; the daemon has their claims, recorded
     * for another engine.
     */
    private static void containers() throws Exception {
        lab.daemon().kill();
        lay(SCHEMA_4, Map.of("boot", "an-earlier-one", "engine", "another"));
        lab.startDaemon();
        container("stopped", CLAIM_4 + 4, 1, 1001);
        container("created", CLAIM_4 + 5, 1, 1002);
        container("train", CLAIM_4 + 6, 0, 1001);
        container("released", CLAIM_4 + 7, 2, 1002);
        lab.docker("start", "stopped", "train", "released").ok();
        lab.docker("kill", "stopped").ok();
    }

    private static void container(String name, String claim, int gpu, int uid) {
        String uuid = UUID.formatted(SHORT.get(gpu), gpu);
        Path node = lab.host().folder().resolve("dev/nvidia" + gpu);
        lab.docker(
                        "create",
                        "--name=" + name,
                        "--stop-signal=KILL",
                        "--label=jnvdocker.claim=" + claim,
                        "--label=jnvdocker.gpus=" + uuid,
                        "--device=" + node + ":/dev/nvidia" + gpu + ":rw",
                        "--mount=type=volume,src=jnvdocker_claim_"
                                + claim
                                + ",dst=/run/jnvdocker,volume-driver=nvidia-docker,volume-opt=gpus="
                                + uuid
                                + ",volume-opt=minors="
                                + gpu
                                + ",volume-opt=uid="
                                + uid
                                + ",readonly,volume-nocopy",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
    }

    /** The values that belong to this machine, its engine and these containers. */
    private static Map<String, String> values(String... containers) throws IOException {
        Map<String, String> values = new HashMap<>();
        values.put("boot", lab.host().read("proc/sys/kernel/random/boot_id").strip());
        values.put("engine", lab.docker("info", "--format", "{{.ID}}").ok().out().strip());
        process(values, "engine", ProcessHandle.current().pid());
        for (String name : containers) {
            values.put(name + ".id", lab.inspect(name, "{{.Id}}"));
            process(values, name, Long.parseLong(lab.inspect(name, "{{.State.Pid}}")));
        }
        return values;
    }

    private static void process(Map<String, String> values, String name, long pid)
            throws IOException {
        values.put(name + ".pid", String.valueOf(pid));
        if (pid != 0) {
            String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
            String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            values.put(name + ".start", words[19]);
        }
    }

    /** Lays the directory out, with made-up numbers for placeholders without a value. */
    private static void lay(Path fixture, Map<String, String> values) throws Exception {
        Path state = lab.daemon().state();
        removeRegistry();
        Folders.remove(state.resolve("claims"));
        Path generation = fixture.resolve("registry.generation");
        if (Files.exists(generation)) {
            Files.copy(generation, state.resolve("registry.generation"));
        }
        try (Stream<Path> walk = Files.walk(fixture.resolve("claims"))) {
            for (Path from : walk.toList()) {
                Path to = state.resolve(fixture.relativize(from).toString());
                if (Files.isDirectory(from)) {
                    Files.createDirectories(to);
                } else if (from.endsWith("claim.json")) {
                    Files.createDirectories(to.resolveSibling("mount"));
                    Files.writeString(to, filled(Files.readString(from), values));
                } else {
                    Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
                }
            }
        }
        try (var connection =
                        DriverManager.getConnection("jdbc:sqlite:" + state.resolve("registry.db"));
                var statement = connection.createStatement()) {
            statement.executeUpdate(
                    filled(Files.readString(fixture.resolve("registry.sql")), values));
        }
    }

    private static void removeRegistry() throws IOException {
        try (Stream<Path> files = Files.list(lab.daemon().state())) {
            for (Path file : files.toList()) {
                if (file.getFileName().toString().startsWith("registry.")) {
                    Files.delete(file);
                }
            }
        }
    }

    private static String filled(String text, Map<String, String> values) {
        String filled = text;
        for (Map.Entry<String, String> value : values.entrySet()) {
            filled = filled.replace("{" + value.getKey() + "}", value.getValue());
        }
        return filled.replaceAll("\\{[a-z]+\\.(pid|start)}", "4242")
                .replaceAll("\\{([a-z]+)\\.id}", "$1");
    }
}
