package jnvdocker.mesos.agent;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
    void agentThatAlsoUsesDockerIsKnown() {
        assertTrue(agent("--containerizers=mesos,docker").usesDocker());
        assertTrue(agent("--containerizers=docker , mesos").usesDocker());
        assertFalse(agent("--containerizers=mesos").usesDocker());
        assertFalse(agent().usesDocker());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "gpus:1",
                "cpus:4;gpus:08",
                "cpus:4; gpus(prod) : 2",
                "cpus:4;gpu_uuids:{GPU-1,GPU-2}",
                "gpu_uuids(prod):{ GPU-1}",
                "[{\"name\":\"gpu_uuids\",\"type\":\"SET\",\"set\":{\"item\":[\"GPU-1\"]}}]",
                "[{\"name\": \"gpus\", \"type\": \"SCALAR\", \"scalar\": {\"value\": 2}}]"
            })
    void offeredGpusAreSeen(String resources) {
        assertTrue(agent("--resources=" + resources).offersGpus());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "cpus:4",
                "gpus:0",
                "cpus:4;gpus(prod):0",
                "vgpus:2",
                "gpus",
                "gpu_uuids:{}"
            })
    void otherResourcesAreNoGpus(String resources) {
        assertFalse(agent("--resources=" + resources).offersGpus());
    }

    @Test
    void resourcesInAFileAreNotKnown() {
        assertTrue(agent("--resources=file:///etc/mesos/resources").hasResourcesInFile());
        assertTrue(agent("--resources=/etc/mesos/resources").hasResourcesInFile());
        assertFalse(agent("--resources=gpus:2").hasResourcesInFile());
        assertFalse(agent().hasResourcesInFile());
    }

    /** A value crafted to be slow to read is read in time. */
    @Test
    void longResourcesAreRead() {
        for (String part : List.of(":", " ", "(", "0", ";", "gpus")) {
            assertFalse(agent("--resources=gpus" + part.repeat(100_000)).offersGpus());
        }
    }

    @Test
    void missingFlagsThatTheHookNeedsAreNamed() {
        assertEquals(List.of(), agent("--isolation=" + AgentIsolation.STANDARD).missing());
        assertEquals(
                List.of(
                        "--launcher=linux",
                        "filesystem/linux,docker/runtime,cgroups/devices in --isolation"),
                agent("--launcher=posix", "--isolation=posix/cpu").missing());
        assertEquals(
                List.of("an --isolation that GPUs can have"),
                agent("--isolation=gpu/nvidia").missing());
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
