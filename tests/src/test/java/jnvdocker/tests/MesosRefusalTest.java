package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Which GPUs a task gets, and for which reasons it is refused. */
class MesosRefusalTest extends OneAgentTest {
    private static final String GPUS =
            "for n in 0 1 2 3; do [ ! -e /dev/nvidia$n ] || echo $n; done";
    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endPrograms() throws InterruptedException {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
        jnvdocker("gpu", "uncordon", "1", "2", "3").ok();
        if (read(daemon.state().resolveSibling("config.toml")).isEmpty()) {
            return;
        }
        configure("");
    }

    private void start(Command command) {
        started.add(command.start());
    }

    private static MesosTask task(double gpus) {
        return MesosTask.of(GPUS).gpus(gpus).needsDriver();
    }

    private static MesosTask of(int... gpus) {
        MesosTask task = MesosTask.of(GPUS).needsDriver();
        for (int gpu : gpus) {
            task.uuids(uuid(gpu));
        }
        return task;
    }

    @Test
    void namedGpusAreThoseThatTheTaskGets() {
        assertEquals(List.of("1", "3"), lines(of(3, 1)));
        assertEquals(List.of("2"), lines(of(2).gpus(1)));
    }

    @Test
    void otherNumberThanOfNamedGpusIsRefused() {
        assertRefused(
                "the task has gpus:1 and names 2 in gpu_uuids; use only one of the two",
                of(2, 3).gpus(1));
    }

    @Test
    void partOfAGpuIsRefused() {
        assertRefused(
                "the 'gpus' resource must be an unsigned integer, but is 0.5; request whole"
                        + " GPUs",
                task(0.5));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "label com.nvidia.cuda.version=99.0 | unsupported CUDA version: driver 12.2 < image"
                        + " 99.0",
                "env NVIDIA_REQUIRE_CUDA=cuda>=99.0 | NVIDIA_REQUIRE_CUDA",
            })
    void whatTheDriverDoesNotSupportIsRefused(String need, String reason) {
        for (double gpus : new double[] {0, 1}) {
            Command.Result result = agent.run(requiring(need, gpus));
            assertEquals(1, result.exitCode(), result::toString);
            List<String> remarks = remarks(result.err());
            assertEquals(1, remarks.size(), result::toString);
            assertTrue(remarks.getFirst().contains(reason), result::toString);
            lines(requiring(need, gpus).variable("NVIDIA_DISABLE_REQUIRE", "1"));
        }
        // Without our driver, the requirement is the image's own affair.
        lines(requiring(need, 1).imageVariable("NVIDIA_VISIBLE_DEVICES=void"));
    }

    private static MesosTask requiring(String need, double gpus) {
        String[] words = need.split(" |=", 3);
        return words[0].equals("label")
                ? task(gpus).label(words[1], words[2])
                : task(gpus).imageVariable(words[1] + "=" + words[2]);
    }

    @Test
    void agentWithoutDevicesCgroupsIsRefused() {
        MesosContainer container = agent.launch(task(1).noDevicesCgroup());
        assertRefused(
                "the Mesos container "
                        + container.id()
                        + " has no devices cgroup, so it could use the GPUs of"
                        + " others; start the agent with cgroups/devices in its --isolation",
                container.await());
    }

    @Test
    void taskDoesNotWaitForever() {
        configure("mesos.wait = '1s'\n");
        start(daemon.jnvdocker("gpu", "run", "--gpus", "all", "sleep", "1000"));
        awaitStates("hhhh");
        Command.Result result = agent.run(task(1));
        assertEquals(1, result.exitCode(), result::toString);
        List<String> remarks = remarks(result.err());
        assertEquals(2, remarks.size(), result::toString);
        assertTrue(
                remarks.get(1)
                        .startsWith(
                                "jnvdocker: gave up after 1s: none is free:"
                                        + " GPUs 0-3 are held by root's process sleep (pid"),
                result::toString);
        assertTrue(
                remarks.get(1)
                        .endsWith(
                                "; start the task again later ('jnvdocker gpu ls' shows who holds"
                                        + " the GPUs)"),
                result::toString);
    }

    @Test
    void logNamesTaskUserAndFramework() {
        int before = read(daemon.log()).length();
        agent.run(task(0.5).named("smi").user("daemon"));
        agent.run(task(9).named("train"));
        String log = read(daemon.log()).substring(before);
        assertTrue(log.contains("refused daemon's Mesos task smi of framework "), log);
        assertTrue(log.contains(": the 'gpus' resource must be an unsigned integer"), log);
        assertTrue(log.contains("refused root's Mesos task train of framework "), log);
    }

    @Test
    void cordonedGpuIsNotGiven() {
        jnvdocker("gpu", "cordon", "1", "2", "3").ok();
        assertEquals(List.of("0"), lines(task(1)));
        Command.Result result = agent.run(of(1));
        assertTrue(
                remarks(result.err()).getFirst().contains("GPU 1 (GPU-5c1a1003) is cordoned by"),
                result::toString);
        assertRefusedWith(
                "2 GPUs requested, but only 1 GPU is in service: GPUs 1-3 are cordoned", task(2));
    }

    private static void assertRefusedWith(String beginning, MesosTask task) {
        Command.Result result = agent.run(task);
        assertEquals(1, result.exitCode(), result::toString);
        assertEquals(1, remarks(result.err()).size(), result::toString);
        assertTrue(
                remarks(result.err()).getFirst().startsWith("jnvdocker: " + beginning),
                result::toString);
    }

    @Test
    void gpuThatSomebodyUsesIsNotGiven() {
        configure("mesos.wait = '0s'\n");
        Path holdopen = agent.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        for (int gpu : new int[] {0, 1, 3}) {
            start(Command.of(holdopen, host.directory().resolve("dev/nvidia" + gpu)));
        }
        awaitStates("uufu");
        assertEquals(List.of("2"), lines(task(1)));
        Command.Result result = agent.run(of(3));
        assertTrue(
                remarks(result.err()).getLast().contains("GPU 3 (GPU-5c1a3009) is used by root's"),
                result::toString);
    }

    @Test
    void labsConfigurationSaysWhichGpusAreForTasks() {
        configure("mesos.gpus = ['1', '" + uuid(3) + "']\n");
        assertEquals(List.of("1", "3"), lines(task(2)));
        String rule =
                "but Mesos tasks get only 1, "
                        + uuid(3)
                        + " (mesos.gpus in the configuration); have the agent offer only these"
                        + " ('jnvdocker mesos flags')";
        assertRefused("3 GPUs requested, " + rule, task(3));
        assertRefused("GPU 0 requested, " + rule, of(0));
        assertRefusedWith("5 GPUs requested, but this host has", task(5));
    }

    @Test
    void refusalForAWaitingTaskNamesItAfterARestartToo() {
        configure("mesos.gpus = ['1', '2']\n");
        lasting(sleeper(1).uuids(uuid(1)).named("one"));
        awaitStates("fhff");
        agent.launch(task(2).named("train")).awaitRemark("jnvdocker: waiting for 2 GPUs");
        assertKeptForTrain();
        daemon.stop();
        startDaemon();
        assertKeptForTrain();
    }

    private void assertKeptForTrain() {
        jnvdocker("gpu", "run", "--gpus", "device=0", "true").ok();
        Command.Result result = jnvdocker("gpu", "run", "--gpus", "device=2", "true");
        assertTrue(result.err().contains("kept for root's Mesos task "), result::err);
        assertTrue(result.err().contains("train"), result::err);
        assertTrue(result.err().contains(", waiting for 2 GPUs since"), result::err);
    }

    @Test
    void quotaCountsForTheTasksUser() {
        configure("limits.'*'.gpus = 1\nmesos.wait = '0s'\n");
        lasting(sleeper(1).user("daemon").named("one"));
        Command.Result result = agent.run(task(1).user("daemon"));
        assertTrue(remarks(result.err()).getLast().contains("daemon"), result::toString);
        assertEquals(1, result.exitCode());
        assertEquals(1, lines(task(1)).size());
        assertRefusedWith("2 GPUs requested, but", task(2));
    }

    @Test
    void onlyAgentsMaySendRequests() {
        // A test's directory is accessible to root alone, that of a real daemon to everyone.
        Path directory = daemon.socket().getParent().getParent();
        Command.of("chmod", "755", directory).run().ok();
        Path client = directory.resolve("jnvdocker");
        Command.of("cp", Project.tree().resolve("bin/jnvdocker"), client).run().ok();
        configure("socket_group = 'nogroup'\n");
        Command asNobody =
                Command.of(client, "mesos", "launch", "/var/run/mesos/containers/x", "{}")
                        .asNobody()
                        .with(daemon.environment());
        Command.Result result = asNobody.run();
        assertEquals(125, result.exitCode(), result::toString);
        assertEquals(
                "jnvdocker: only root may launch the containers of a Mesos agent; start the agent"
                        + " as root\n",
                result.err());
    }
}
