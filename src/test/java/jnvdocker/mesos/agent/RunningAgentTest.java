package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

class RunningAgentTest {
    @TempDir Path root;

    private RunningAgent agent(String... arguments) {
        return new RunningAgent(812, root, RunningAgent.flags(List.of(arguments), List.of()));
    }

    @Test
    void flagsAreOfTheCommandLineOrElseOfTheVariables() {
        assertEquals(
                Map.of("isolation", "a,b", "resources", "gpus:2", "work_dir", "/x=y"),
                RunningAgent.flags(
                        List.of(
                                "/usr/sbin/mesos-agent",
                                "--isolation=a,b",
                                "--no-switch_user",
                                "--work_dir=/x=y",
                                "-v",
                                "isolation=c",
                                ""),
                        List.of(
                                "MESOS_ISOLATION=gpu/nvidia",
                                "MESOS_RESOURCES=gpus:2",
                                "PATH=/bin",
                                "MESOS_",
                                "")));
    }

    @Test
    void agentThatGivesGpusItselfIsKnown() {
        assertTrue(agent("--isolation=cgroups/devices,gpu/nvidia").givesGpus());
        assertFalse(agent("--isolation=cgroups/devices").givesGpus());
        assertFalse(agent().givesGpus());
    }

    @Test
    void directoryIsSearchedWhereTheAgentSeesIt() throws IOException {
        RunningAgent agent = agent("--launcher_dir=/opt/launcher");
        assertFalse(agent.callsUs());
        Path directory = Files.createDirectories(root.resolve("opt/launcher"));
        Path program = directory.resolve("mesos-containerizer");
        Files.writeString(program, "somebody's");
        assertFalse(agent.callsUs());
        byte[] mark = "jnvdocker-mesos-settings-1".getBytes(StandardCharsets.US_ASCII);
        Files.write(program, Arrays.copyOf(mark, 32));
        assertTrue(agent.callsUs());
        assertEquals("/usr/libexec/mesos", agent().launcherDir());
        assertFalse(agent().callsUs());
    }
}
