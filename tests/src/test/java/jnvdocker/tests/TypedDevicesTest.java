package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Docker's own device options give no container a GPU that another one holds. */
@Attack(
        by = "a member",
        what = "`--device` of a link, a hand-made node or a directory; `--device-cgroup-rule`",
        result = "leased, or refused while another has the GPU; a rule for all devices is refused")
class TypedDevicesTest extends OneEngineTest {
    @TempDir static Path made;

    /** Makes nodes with names unlike those of GPUs, and links to the host's nodes. */
    @BeforeAll
    static void makeNodes() throws IOException {
        Path dev = lab.host().directory().resolve("dev");
        Files.createSymbolicLink(made.resolve("link"), dev.resolve("nvidia1"));
        Path below = Files.createDirectories(made.resolve("directory/below"));
        for (Path node : List.of(made.resolve("node"), below.resolve("tty"))) {
            Command.of("mknod", node, "c", "195", "1").run().ok();
        }
        Command.of("mknod", made.resolve("control"), "c", "195", "255").run().ok();
        Files.createSymbolicLink(made.resolve("linked-directory"), made.resolve("directory"));
        Files.createSymbolicLink(below.resolve("not-followed"), dev.resolve("nvidia3"));
    }

    /** ~ stands for a blank within an option. */
    private static Command.Result typed(String verb, String options) {
        List<Object> words = new ArrayList<>(List.of(verb, "--name", "second"));
        words.addAll(verb.equals("run") ? List.of("-d") : List.of());
        Arrays.stream(options.replace("MADE", made.toString()).split(" "))
                .map(word -> word.replace("HOST", lab.host().directory().toString()))
                .map(word -> word.replace('~', ' '))
                .forEach(words::add);
        words.addAll(List.of("--stop-signal", "KILL", "plain", "sleep", "1000"));
        return lab.jnvdocker(words.toArray());
    }

    @Test
    void gpuThatAnotherHasIsNotGiven() {
        lab.run("holder", 1);
        for (String options :
                List.of(
                        "--device MADE/link",
                        "--device MADE/link:/dev/nvidia0:r",
                        "--device MADE/node:w",
                        "--device=MADE/directory:/dev",
                        "--device MADE/linked-directory",
                        "--device HOST/dev",
                        "--device-cgroup-rule c~195:1~r",
                        "--device-cgroup-rule c~195:*~rwm",
                        "--device-cgroup-rule=c~0195:001~w",
                        "--gpus device=0 --device MADE/node")) {
            Command.Result refused = typed("run", options);
            assertEquals(125, refused.exitCode(), () -> options + ": " + refused);
            assertTrue(
                    refused.err().contains("GPU 1 (GPU-5c1a1003) is held by "), refused::toString);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "--device MADE/link, 1",
        // Links in a directory are not followed.
        "--device MADE/directory, 1",
        "--device-cgroup-rule c~195:*~rwm, 0 1 2 3",
        "--gpus device=0 --device MADE/node:/dev/mine, 0 1",
    })
    void whoTypesThemHoldsTheirGpus(String options, String gpus) {
        typed("run", options).ok();
        Map<Integer, String> holders = new TreeMap<>();
        Stream.of(gpus.split(" ")).forEach(gpu -> holders.put(Integer.valueOf(gpu), "second"));
        lab.awaitHolders(holders);
        assertEquals(
                gpus.replaceAll("\\b(?=\\d)", "/dev/nvidia").replace(' ', '\n') + "\n",
                lab.docker("exec", "second", "sh", "-c", "ls /dev/nvidia[0-9]").ok().out());
    }

    @Test
    void ruleForAllDevicesIsRefusedAsPrivilegesAre() {
        for (String rule :
                List.of("c *:* rwm", "a *:* r", "a 10:1 w", "c *:1 rw", "a 10:1 m", "a *:* m")) {
            for (String gpus : List.of("", "--gpus device=0 ")) {
                Command.Result refused =
                        typed("run", gpus + "--device-cgroup-rule " + rule.replace(' ', '~'));
                assertEquals(125, refused.exitCode(), refused::toString);
                assertTrue(
                        refused.err()
                                .startsWith(
                                        "jnvdocker: --device-cgroup-rule '"
                                                + rule
                                                + "' opens GPUs that others hold; name a major"
                                                + " number, or have an administrator set"
                                                + " allow_privileged = true"),
                        refused::toString);
            }
        }
        lab.configure("allow_privileged = true\n");
        try {
            typed("run", "--gpus device=0 --device-cgroup-rule c~*:*~rwm").ok();
            lab.awaitHolders(Map.of(0, "second"));
        } finally {
            lab.configure("");
        }
    }

    /** crun cuts off their upper bits: these would open GPU 0, or all. */
    @Test
    void ruleWithNumbersThatNoDeviceHasIsRefused() {
        for (String rule :
                List.of("c 4294967491:0 rwm", "c 2147483648:2147483648 rwm", "b 8:1048576 r")) {
            Command.Result refused = typed("run", "--device-cgroup-rule " + rule.replace(' ', '~'));
            assertEquals(125, refused.exitCode(), refused::toString);
            assertEquals(
                    "jnvdocker: --device-cgroup-rule '"
                            + rule
                            + "' has a number that no device has (major numbers end at 4095, minor"
                            + " numbers at 1048575); give the numbers that 'ls -l' shows for the"
                            + " device\n",
                    refused.err());
        }
    }

    @Test
    void whatOpensNoGpuAsksForNone() {
        for (String options :
                List.of(
                        "--device MADE/control",
                        "--device MADE/node:m",
                        "--device /dev/null:/dev/nvidia1",
                        "--device-cgroup-rule c~195:1~m",
                        "--device-cgroup-rule c~195:255~rw",
                        "--device-cgroup-rule c~10:*~rwm",
                        "--device-cgroup-rule b~*:*~rwm")) {
            typed("create", options).ok();
            assertEquals("", lab.inspect("second", "{{index .Config.Labels \"jnvdocker.claim\"}}"));
            lab.docker("rm", "second").ok();
        }
    }

    @Test
    void cordonedGpuIsNotGivenByItsNodeBesideAllOthers() {
        lab.jnvdocker("gpu", "cordon", "1").ok();
        try {
            Command.Result refused = typed("run", "--gpus all --device MADE/node");
            assertEquals(125, refused.exitCode(), refused::toString);
            assertEquals(
                    "jnvdocker: a --device that names a GPU's node gives the container GPU 1, which"
                            + " --gpus all leaves out ('jnvdocker gpu why 1' shows why); leave one"
                            + " of the two options out\n",
                    refused.err());
            lab.awaitHolders(Map.of());
        } finally {
            lab.jnvdocker("gpu", "uncordon", "1").ok();
        }
    }
}
