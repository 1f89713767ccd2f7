package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.TestKubelet;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The findings of {@code gpu doctor} on a host's Mesos agents, which it recognizes by their flags.
 */
class MesosDoctorTest extends OneDaemonTest {
    private static final String FLAGS =
            "start it with the flags that 'jnvdocker mesos flags' prints";
    private static final String ISOLATION =
            "--isolation=filesystem/linux,docker/runtime,cgroups/devices";

    private final List<Process> agents = new ArrayList<>();
    private Path directory;
    private Path launcher;

    @BeforeEach
    void makeDirectories() throws IOException {
        directory = Directories.make("mesos");
        launcher = directory.resolve("launcher");
        program(directory.resolve("mesos-agent"), "read -r _");
        program(directory.resolve("libexec/mesos-containerizer"), "exit 7");
    }

    @AfterEach
    void endAgents() throws InterruptedException {
        for (Process agent : agents) {
            agent.destroy();
            agent.waitFor();
        }
        Directories.remove(directory);
    }

    /** Starts a process with an agent's name and flags, the only properties that are read. */
    private String agent(String... flags) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(directory.resolve("mesos-agent").toString());
        command.addAll(Arrays.asList(flags));
        Process agent = new ProcessBuilder(command).start();
        agents.add(agent);
        return "the Mesos agent (pid " + agent.pid() + ") ";
    }

    private void install() {
        daemon.jnvdocker(
                        "mesos",
                        "install",
                        "--launcher-dir",
                        launcher,
                        "--mesos-libexec",
                        directory.resolve("libexec"))
                .run()
                .ok();
    }

    private static List<String> findings() {
        Command.Result doctor = daemon.jnvdocker("gpu", "doctor", "--json").run();
        return DoctorTest.findings(DoctorTest.report(doctor), "mesos");
    }

    private static JsonNode assertEngine(String finding) {
        JsonNode report = DoctorTest.report(daemon.jnvdocker("gpu", "doctor", "--json").run());
        List<String> found = DoctorTest.findings(report, "engine");
        assertTrue(found.getFirst().startsWith(finding), report::toString);
        return report;
    }

    @Test
    void hostWithoutAnAgentHasNothingToReadOfIt() {
        assertEquals(List.of(), findings());
    }

    @Test
    void agentThatGivesGpusItselfIsWrong() throws IOException {
        String agent = agent("--isolation=cgroups/devices,gpu/nvidia", "--resources=gpus:2");
        assertEquals(
                List.of(
                        "wrong: "
                                + agent
                                + "gives GPUs to tasks itself (gpu/nvidia in its --isolation); "
                                + FLAGS),
                findings());
    }

    @Test
    void agentWithoutOurHookIsNamedAndOneWithItIsWell() throws IOException {
        install();
        String without = agent(ISOLATION, "--resources=gpus:2");
        String with = agent(ISOLATION, "--resources=gpus:2", "--launcher_dir=" + launcher);
        assertEquals(
                List.of(
                        "hint: "
                                + without
                                + "does not query jnvdocker (its --launcher_dir is"
                                + " /usr/libexec/mesos), and its tasks get no GPUs; if it offers"
                                + " GPUs: create a directory for it with 'jnvdocker mesos install',"
                                + " and "
                                + FLAGS,
                        "ok: " + with + "gets its tasks' GPUs from jnvdocker"),
                findings());
    }

    @Test
    void launcherDirectoryThatIsGoneIsInstalledAgain() throws IOException {
        install();
        String agent = agent(ISOLATION, "--resources=gpus:2", "--launcher_dir=" + launcher);
        Directories.remove(launcher);
        assertEquals(
                List.of(
                        "wrong: "
                                + agent
                                + "cannot launch containers: its --launcher_dir "
                                + launcher
                                + " has lost jnvdocker's programs; run 'jnvdocker mesos install';"
                                + " the agent need not be restarted"),
                findings());
        daemon.jnvdocker("mesos", "install").run().ok();
        assertEquals(List.of("ok: " + agent + "gets its tasks' GPUs from jnvdocker"), findings());
    }

    @Test
    void hostWithoutDockerNeedsNone() throws IOException {
        Files.deleteIfExists(daemon.state().resolve("mesos-install"));
        assertEngine("wrong: ");
        daemon.jnvdocker(
                        "runtime",
                        "install",
                        "--engine=cdi",
                        "--config",
                        directory.resolve("cdi.json"),
                        "--runtime-dir",
                        directory.resolve("cdi"))
                .run()
                .ok();
        assertEngine("ok: no Docker engine runs here (");
        daemon.jnvdocker("runtime", "uninstall").run().ok();
        assertEngine("wrong: ");
        TestKubelet kubelet = TestKubelet.start(directory.resolve("kubelet"));
        try {
            daemon.config("[kubernetes]\nkubelet_dir = \"" + directory.resolve("kubelet") + "\"\n");
            daemon.stop();
            assertEngine("ok: no Docker engine runs here (");
        } finally {
            kubelet.close();
            daemon.config("");
            daemon.stop();
        }
        install();
        JsonNode report = assertEngine("ok: no Docker engine runs here (");
        assertEquals(
                List.of("ok: no Docker container has a claim"),
                DoctorTest.findings(report, "claims"));
        assertEquals(
                List.of("ok: nothing is left of nvidia-docker 1.0"),
                DoctorTest.findings(report, "leftovers"));
        assertTrue(
                DoctorTest.findings(report, "plugin").getFirst().startsWith("ok: "),
                report::toString);
    }

    @Test
    void tasksGpusThatAreNoneOfThisHostAreFound() {
        daemon.config("mesos.gpus = [0, 7, 'GPU-abc']\n");
        daemon.stop();
        try {
            List<String> found = findings();
            assertEquals(1, found.size(), found::toString);
            assertTrue(
                    found.getFirst()
                            .startsWith(
                                    "wrong: mesos.gpus in the configuration lists '7', 'GPU-abc',"
                                            + " which match no GPU on this host; correct that"),
                    found::toString);
        } finally {
            daemon.config("");
            daemon.stop();
        }
        assertEquals(List.of(), findings());
    }
}
