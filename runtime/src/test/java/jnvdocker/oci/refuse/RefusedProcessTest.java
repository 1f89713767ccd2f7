package jnvdocker.oci.refuse;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Tests only the texts. The module tests has real runtimes read them. */
class RefusedProcessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path PROGRAM = Path.of("/opt/x/refused/jnvdocker-refused");

    /** The configuration of a container with everything that can be taken away. */
    private static final String CONFIG =
            """
            {"ociVersion": "1.2.1", "hostname": "h",
             "process": {"terminal": true, "user": {"uid": 1000, "additionalGids": [7]},
               "args": ["/sbin/docker-init", "--", "train"], "cwd": "/work",
               "env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all", "CUDA_VISIBLE_DEVICES=0", "A=NVIDIA_"],
               "capabilities": {"bounding": ["CAP_SYS_ADMIN"], "ambient": ["CAP_SYS_ADMIN"]},
               "rlimits": [{"type": "RLIMIT_CORE", "hard": 18446744073709551615, "soft": 0}],
               "apparmorProfile": "docker-default", "oomScoreAdj": 100},
             "root": {"path": "/image"},
             "mounts": [
               {"destination": "/", "type": "bind", "source": "/evil"},
               {"destination": "/proc", "type": "proc", "source": "proc", "options": ["nodev"]},
               {"destination": "/dev", "type": "bind", "source": "/dev", "options": ["rbind"]},
               {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": ["gid=5"]},
               {"destination": "/sbin/docker-init", "type": "bind", "source": "/usr/bin/docker-init"}],
             "hooks": {"prestart": [{"path": "/hook"}]},
             "linux": {"rootfsPropagation": "rshared", "seccomp": {"defaultAction": "SCMP_ACT_ERRNO"},
               "namespaces": [{"type": "mount"}], "cgroupsPath": "/docker/1",
               "resources": {"memory": {"limit": 6291456},
                 "devices": [{"allow": true, "access": "rwm"},
                             {"allow": true, "type": "c", "major": 195, "minor": 0, "access": "rw"}]},
               "devices": [{"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0}]}}
            """;

    private final JsonNode before = read(CONFIG);

    private static JsonNode read(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static JsonNode refused(String config) throws RefusedException {
        return read(RefusedProcess.of(config, PROGRAM, "GPU 0 is held by \"x\"\nwait"));
    }

    @Test
    void anotherProcessInAnotherRoot() throws RefusedException {
        JsonNode after = refused(CONFIG);
        JsonNode process = after.get("process");
        assertEquals(
                read("[\"/jnvdocker-refused\", \"GPU 0 is held by \\\"x\\\"\\nwait\"]"),
                process.get("args"));
        assertEquals("/", process.get("cwd").asText());
        assertFalse(process.has("env"), process::toString);
        assertTrue(process.get("noNewPrivileges").asBoolean());
        assertEquals(5, process.get("capabilities").size());
        process.get("capabilities").forEach(set -> assertEquals(0, set.size()));
        assertEquals(read("{\"path\": \"/opt/x/refused\", \"readonly\": true}"), after.get("root"));
        assertFalse(after.has("hooks"));
    }

    @Test
    void onlyMountsThatARuntimeNeedsAreLeft() throws RefusedException {
        JsonNode mounts = refused(CONFIG).get("mounts");
        assertEquals(List.of("/proc", "/dev", "/dev/pts"), mounts.findValuesAsText("destination"));
        assertEquals(before.get("mounts").get(1), mounts.get(0));
        assertEquals("tmpfs", mounts.get(1).get("type").asText());
        assertEquals(before.get("mounts").get(3), mounts.get(2));

        JsonNode bare = refused("{\"process\": {}}").get("mounts");
        assertEquals(List.of("/proc", "/dev"), bare.findValuesAsText("destination"));
    }

    /** As rootless podman mounts it for {@code --pid host}. */
    @Test
    void procOfTheHostStaysAndAnotherDirectoryDoesNot() throws RefusedException {
        String mount =
                "{\"destination\": \"/proc\", \"type\": \"bind\", \"source\": \"SOURCE\","
                        + " \"options\": [\"rbind\"]}";
        String config = "{\"process\": {}, \"mounts\": [" + mount + "]}";
        JsonNode host = refused(config.replace("SOURCE", "/proc")).get("mounts").get(0);
        assertEquals("bind", host.get("type").asText());
        JsonNode other = refused(config.replace("SOURCE", "/x")).get("mounts").get(0);
        assertEquals("proc", other.get("type").asText());
    }

    @Test
    void noDeviceIsAllowedButThoseOfEveryContainer() throws RefusedException {
        JsonNode linux = refused(CONFIG).get("linux");
        assertFalse(linux.has("devices"));
        List<String> rules = new ArrayList<>();
        linux.get("resources")
                .get("devices")
                .forEach(rule ->
                        rules.add(
                                rule.get("allow").asBoolean()
                                        + " "
                                        + rule.path("major").asText("*")
                                        + ":"
                                        + rule.path("minor").asText("*")));
        assertEquals(
                List.of(
                        "false *:*",
                        "true 1:3",
                        "true 1:5",
                        "true 1:7",
                        "true 1:8",
                        "true 1:9",
                        "true 5:0",
                        "true 5:1",
                        "true 5:2",
                        "true 136:*"),
                rules);
    }

    @Test
    void limitsOfAContainerStay() throws RefusedException {
        JsonNode after = refused(CONFIG);
        for (String name :
                List.of("terminal", "user", "rlimits", "apparmorProfile", "oomScoreAdj")) {
            assertEquals(before.get("process").get(name), after.get("process").get(name));
        }
        for (String name : List.of("seccomp", "namespaces", "cgroupsPath")) {
            assertEquals(before.get("linux").get(name), after.get("linux").get(name));
        }
        assertEquals(before.at("/linux/resources/memory"), after.at("/linux/resources/memory"));
        assertEquals(before.get("hostname"), after.get("hostname"));
        assertFalse(after.get("linux").has("rootfsPropagation"));
    }

    @Test
    void textIsAValidArgument() throws Exception {
        String text = "a\0b" + "\ud83d\ude00".repeat(20_000);
        String json = RefusedProcess.of(CONFIG, PROGRAM, text);
        String argument = read(json).get("process").get("args").get(1).asText();
        assertTrue(argument.startsWith("a b\ud83d\ude00"));
        assertTrue(argument.endsWith("\ud83d\ude00"));
        assertTrue(argument.getBytes("UTF-8").length < 128 << 10);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[]",
                "{}",
                "{\"process\": 1}",
                "{\"process\": {}, \"linux\": []}",
                "{\"process\": {}, \"linux\": {\"resources\": 1}}",
                "{\"process\": {}, \"root\": \"/\"}",
                "{\"process\": {}} x",
                "{\"process\": {",
            })
    void textThatIsNoConfigIsRefused(String config) {
        String text = assertThrows(RefusedException.class, () -> refused(config)).getMessage();
        assertTrue(text.startsWith("the engine's config.json is not one of a Linux container ("));
    }

    @Test
    void programWithoutADirectoryOfItsOwnIsOurFault() {
        for (String program : List.of("jnvdocker-refused", "/jnvdocker-refused")) {
            assertThrows(
                    IllegalArgumentException.class,
                    () -> RefusedProcess.of(CONFIG, Path.of(program), "x"));
        }
    }
}
