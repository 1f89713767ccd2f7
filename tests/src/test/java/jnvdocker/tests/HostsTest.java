package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.LoopbackPort;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.SshServer;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Hosts that a real ssh reaches: daemons of this machine, and such as do not answer. */
class HostsTest extends OneHostTest {
    private static final int MANY = 8;

    private static DriverRoot small;
    private static TestDaemon here;
    private static TestDaemon there;
    private static Path rude;
    private static ServerSocket silent;
    private static SshServer ssh;

    @BeforeAll
    static void startHosts() throws IOException {
        small = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
        here = new TestDaemon(host);
        there = new TestDaemon(small);
        here.config("hosts = [\"there\", \"gone\"]\n");
        here.jnvdocker("gpu", "ls").run().ok();
        there.jnvdocker("gpu", "ls").run().ok();
        rude = Directories.make("rude");
        Map<String, Map<String, String>> hosts = new HashMap<>();
        hosts.put("here", environment(here, Project.tree().resolve("bin")));
        hosts.put("there", environment(there, Project.tree().resolve("bin")));
        hosts.put("empty", Map.of("PATH", "/usr/bin:/bin"));
        hosts.put("rude", Map.of("PATH", rude + ":/usr/bin:/bin"));
        for (int i = 0; i < MANY; i++) {
            hosts.put("copy" + i, environment(there, Project.tree().resolve("bin")));
        }
        ssh = new SshServer(hosts);
        ssh.know("gone", LoopbackPort.free().getPort());
        silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        ssh.know("silent", silent.getLocalPort());
    }

    @AfterAll
    static void stopHosts() throws IOException {
        ssh.close();
        silent.close();
        here.close();
        there.close();
        small.close();
        Directories.remove(rude);
    }

    private static Map<String, String> environment(TestDaemon daemon, Path programs) {
        Map<String, String> environment = new HashMap<>(daemon.environment());
        environment.put("PATH", programs + ":/usr/bin:/bin");
        return environment;
    }

    /** Machines that pass tests are slow, and so is ssh there. */
    private static Command.Result query(Object... words) {
        List<Object> all = new ArrayList<>(List.of(words));
        if (List.of(words).stream().anyMatch(it -> it.toString().startsWith("--on"))
                && List.of(words).stream().noneMatch(it -> it.toString().startsWith("--pat"))) {
            all.add("--patience=60s");
        }
        return here.jnvdocker(all.toArray()).with("PATH", ssh.path()).run();
    }

    private static Process hold(TestDaemon daemon) throws IOException {
        Process holder =
                daemon.jnvdocker(
                                "gpu",
                                "run",
                                "--gpus=device=0",
                                "--",
                                "sh",
                                "-c",
                                "echo ready; exec sleep 1000")
                        .start();
        assertEquals("ready", holder.inputReader().readLine());
        return holder;
    }

    @Test
    void gpusOfSeveralHostsAreInOneTable() throws Exception {
        Process holder = hold(there);
        try {
            Command.Result result = query("gpu", "ls", "--on", "there,here,gone,empty,there");
            assertEquals(1, result.exitCode(), result::toString);
            List<String> rows = result.out().lines().map(row -> row.replaceAll(" +", " ")).toList();
            assertEquals(1 + 2 + 4 + 2, rows.size(), result::toString);
            assertTrue(rows.getFirst().startsWith("HOST GPU MODEL STATE USER"), rows::toString);
            assertTrue(rows.get(1).matches("there 0 .* HELD root sh .*"), rows::toString);
            assertTrue(rows.get(2).matches("there 1 .* FREE - - .*"), rows::toString);
            assertTrue(rows.get(3).matches("here 0 .* FREE - - .*"), rows::toString);
            assertTrue(rows.get(7).matches("gone - .*Connection refused"), rows::toString);
            assertTrue(rows.get(8).matches("empty - .*jnvdocker: .*not found"), rows::toString);
            Command.Result json = query("gpu", "ls", "--on", "there,gone", "--json");
            assertTrue(json.out().contains("\"host\" : \"gone\""), json::toString);
        } finally {
            holder.destroy();
            holder.waitFor();
        }
    }

    @Test
    void configurationNamesAllHosts() {
        Command.Result result = query("gpu", "ls", "--on", "all");
        assertTrue(result.out().contains("\nthere "), result::toString);
        assertTrue(result.out().contains("\ngone "), result::toString);
        Command.Result none =
                there.jnvdocker("gpu", "ls", "--on", "all").with("PATH", ssh.path()).run();
        assertEquals(125, none.exitCode(), none::toString);
        assertTrue(
                none.err().contains("jnvdocker: --on all: the configuration names no hosts;"),
                none::toString);
    }

    @Test
    void hostsThatCanServeComeFirst() throws Exception {
        Command.Result both = query("gpu", "find", "--gpus", "2", "--on", "there,gone,here", "-q");
        assertEquals("here\nthere\n", both.ok().out());
        Process holder = hold(there);
        try {
            Command.Result one = query("gpu", "find", "--gpus=2", "--on=there,here", "--json");
            JsonNode found = one.json();
            assertEquals("here", found.get(0).get("host").asText());
            assertEquals(2, found.get(0).get("gpus").size());
            assertEquals(4, found.get(0).get("free").asInt());
            assertEquals("there", found.get(1).get("host").asText());
            assertEquals(0, found.get(1).get("gpus").size());
            assertTrue(
                    found.get(1).get("refusal").asText().startsWith("2 GPUs requested, but "),
                    found::toString);
            Command.Result none = query("gpu", "find", "--gpus", "2", "--on", "there", "-q");
            assertEquals(1, none.exitCode(), none::toString);
            assertEquals("", none.out());
        } finally {
            holder.destroy();
            holder.waitFor();
        }
    }

    @Test
    void requestIsDecidedHereWithoutALease() {
        Command.Result result = query("gpu", "find", "--gpus", "device=1").ok();
        assertTrue(
                result.out().lines().toList().get(1).matches("\\S+ +1 +\\S.* +4 *"),
                result::toString);
        assertEquals(1, query("gpu", "find", "--json").json().size());
        assertEquals("[ ]\n", query("gpu", "leases", "--json").ok().out());
        Command.Result refused = query("gpu", "find", "--gpus", "9");
        assertEquals(1, refused.exitCode(), refused::toString);
        assertTrue(refused.out().contains("9 GPUs requested"), refused::toString);
        assertEquals(125, query("gpu", "find", "--gpus", "none").exitCode());
    }

    @Test
    void hoursAreAddedUpByName() throws Exception {
        Process here1 = hold(here);
        Process there1 = hold(there);
        Thread.sleep(1_100);
        for (Process each : List.of(here1, there1)) {
            each.destroy();
            each.waitFor();
        }
        Command.Result both = query("gpu", "history", "--on", "here,there", "--json");
        JsonNode sum = both.json();
        double parts =
                query("gpu", "history", "--json").json().get("gpu_hours").asDouble()
                        + there.jnvdocker("gpu", "history", "--json")
                                .run()
                                .json()
                                .get("gpu_hours")
                                .asDouble();
        assertEquals(1, sum.get("users").size(), both::toString);
        assertEquals("root", sum.get("users").get(0).get("user").asText());
        assertEquals(parts, sum.get("gpu_hours").asDouble(), 1e-5, both::toString);
        assertTrue(parts > 2 * 1.0 / 3600, both::toString);
        Command.Result partial =
                query("gpu", "history", "--on=here,gone", "--since=2h", "--by=group");
        assertEquals(1, partial.exitCode(), partial::toString);
        assertTrue(partial.out().startsWith("GROUP "), partial::toString);
        assertTrue(
                partial.out().contains("\nthe hours of gone are missing: ssh: "),
                partial::toString);
    }

    @Test
    void manyHostsAnswerAtTheSameTime() {
        String nine =
                IntStream.range(0, MANY).mapToObj(i -> "copy" + i).collect(Collectors.joining(","))
                        + ",here";
        long begun = System.nanoTime();
        Command.Result result = query("gpu", "ls", "--on", nine).ok();
        System.out.printf("nine hosts: %d ms%n", (System.nanoTime() - begun) / 1_000_000);
        assertEquals(1 + 2 * MANY + 4, result.out().lines().count(), result::toString);
    }

    /** It accepts connections and says nothing. */
    @Test
    void hostThatHangsIsARow() {
        Command.Result result = query("gpu", "ls", "--on", "silent,there", "--patience=8s");
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(result.out().contains("no answer within 8s\nthere "), result::toString);
    }

    /** A host may send anything. */
    @Test
    void answersAreBoundedAndQuoted() throws IOException {
        rude(
                "printf"
                    + " 'welcome\\n[{\"index\":0,\"state\":\"\\\\u001b[31mfree\",\"user\":7,\"note\":\"a\\\\nb\"}]'");
        Command.Result quoted = query("gpu", "ls", "--on", "rude").ok();
        assertFalse(quoted.out().contains("\u001b"), quoted::toString);
        assertTrue(
                quoted.out().lines().toList().get(1).matches("rude +0 +- +- .*"), quoted::toString);
        assertTrue(quoted.out().strip().endsWith("a b"), quoted::toString);
        rude("exec yes '['");
        Command.Result endless = query("gpu", "ls", "--on", "rude,there");
        assertEquals(1, endless.exitCode(), endless::toString);
        assertTrue(endless.out().contains("\nthere "), endless::toString);
        rude("exec yes errors >&2");
        Command.Result errors = query("gpu", "ls", "--on", "rude");
        assertEquals(1, errors.exitCode(), errors::toString);
        assertEquals(2, errors.out().lines().count(), errors::toString);
        assertFalse(errors.out().contains("no answer within"), errors::toString);
        rude("echo '[{}, {}]'");
        Command.Result found = query("gpu", "find", "--on", "rude");
        assertEquals(1, found.exitCode(), found::toString);
        assertTrue(found.out().contains("its answer is of another version"), found::toString);
        rude("echo '{\"users\":[{\"user\":\"x\",\"gpu_hours\":1e300}]}'");
        Command.Result hours = query("gpu", "history", "--on", "rude");
        assertTrue(hours.out().contains("the hours of rude are missing"), hours::toString);
        rude("printf '\\033]0;x\\007no\\n' >&2; exit 3");
        Command.Result failed = query("gpu", "ls", "--on", "rude");
        assertFalse(failed.out().contains("\u001b"), failed::toString);
    }

    @Test
    void eachHolderOfAShareIsNamed() throws IOException {
        rude(
                "echo '[{\"index\":1,\"state\":\"held\",\"user\":\"alice\",\"container_name\":\"a\","
                    + "\"shares\":[{\"user\":\"alice\",\"container_name\":\"a\"},"
                    + "{\"user\":\"bob\",\"command\":\"b\"},7]}]'");
        String row = query("gpu", "ls", "--on", "rude").ok().out().lines().toList().get(1);
        assertTrue(row.matches("rude +1 +- +HELD +alice, bob, - +a, b, - .*"), row);
    }

    private static void rude(String script) throws IOException {
        Path program = rude.resolve("jnvdocker");
        Files.writeString(program, "#!/bin/sh\n" + script + "\n");
        Command.of("chmod", "755", program).run().ok();
    }

    @Test
    void optionOfSshIsNoHost() {
        Path made = rude.resolve("made");
        for (String bad : List.of("-oProxyCommand=touch " + made, "a b", "$(touch " + made + ")")) {
            Command.Result result = query("gpu", "ls", "--on", bad);
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(result.err().contains("is not the name of a host"), result::toString);
        }
        assertFalse(Files.exists(made));
    }
}
