package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** The default executor runs groups of tasks, each in a container nested in its own. */
class MesosGroupsTest extends OneAgentTest {
    private static final String NODES =
            "for n in 0 1 2 3; do [ ! -e /dev/nvidia$n ] || echo $n $(tryopen /dev/nvidia$n);"
                    + " done; ";
    private static final String OTHERS =
            "for n in 0 1 2 3; do mknod /tmp/n$n c 195 $n; echo $n $(tryopen /tmp/n$n); done; ";
    private static final String LASTING =
            "echo up; while [ ! -e $MESOS_SANDBOX/end ]; do sleep" + " 0.02; done; ";

    private static MesosContainer nested(MesosContainer executor, MesosTask task) {
        return executor.nested(task).awaitLine("up");
    }

    private static MesosTask task(String script, double gpus) {
        return MesosTask.of(script).gpus(gpus).needsDriver();
    }

    /** The index of the only GPU that the container can open. */
    private static int gpu(MesosContainer container) {
        List<String> nodes = container.out().lines().takeWhile(it -> !it.equals("up")).toList();
        assertEquals(1, nodes.size(), container::out);
        assertTrue(nodes.getFirst().endsWith(" ENXIO"), container::out);
        return Integer.parseInt(nodes.getFirst().substring(0, 1));
    }

    private static String state(int gpu) {
        return gpus().path(gpu).path("state").asText();
    }

    private static String rule(int gpu) {
        return "c 195:" + gpu + " rw";
    }

    @Test
    void executorHasNoLeaseBesideItsTasks() {
        MesosContainer executor = lasting(MesosTask.groups(2).named("pod"));
        assertEquals("ffff", states());
        assertEquals(List.of(), gpuRules(executor));
        MesosContainer one = nested(executor, task(NODES + LASTING, 1));
        MesosContainer other = nested(executor, task(NODES + LASTING, 1));
        assertNotEquals(gpu(one), gpu(other));
        assertEquals("held", state(gpu(one)));
        assertEquals("held", state(gpu(other)));
        assertEquals(2, leases().size());
        assertEquals(2, states().chars().filter(state -> state == 'h').count());
    }

    @Test
    void taskOfAGroupGivesItsGpuBackBeforeTheExecutorEnds() {
        MesosContainer executor = lasting(MesosTask.groups(2));
        MesosContainer first = nested(executor, task(NODES + LASTING, 1));
        MesosContainer second = nested(executor, task(NODES + LASTING, 1));
        int gpu = gpu(first);
        int others = gpu(second);
        assertEquals(
                List.of(rule(gpu), rule(others)).stream().sorted().toList(), gpuRules(executor));
        first.kill();
        awaitHeld(others);
        assertEquals(List.of(rule(others)), gpuRules(executor));
        String rules = read(executor.cgroup("devices").resolve("devices.list"));
        assertTrue(rules.contains("c 195:255 rw\n"), rules);
        executor.kill();
        second.await();
        awaitStates("ffff");
    }

    private static void awaitHeld(int gpu) {
        awaitStates("ffff".substring(0, gpu) + "h" + "ffff".substring(gpu + 1));
    }

    /** Another task of the group may get it next, and opens it in the executor's own cgroup. */
    @Test
    void groupsLaterTaskHasTheGpuOfAnEarlierOne() {
        MesosContainer executor = lasting(MesosTask.groups(1));
        for (int round = 0; round < 2; round++) {
            MesosTask task = task("tryopen /dev/nvidia1", 0).uuids(uuid(1));
            Command.Result result = executor.nested(task).await();
            assertEquals("ENXIO\n", result.out(), result::toString);
            awaitStates("ffff");
            assertEquals(List.of(), gpuRules(executor));
        }
    }

    /** As with an agent before 1.10, which passes only the executor's resources. */
    @Test
    void tasksWithoutSharesHaveTheExecutorsTogether() {
        MesosContainer executor = lasting(MesosTask.groups(2).named("old"));
        MesosTask task = MesosTask.of(NODES + LASTING).withoutResources().needsDriver();
        MesosContainer first = nested(executor, task);
        MesosContainer second = nested(executor, task);
        assertEquals(first.out(), second.out());
        assertEquals(2, first.out().lines().filter(it -> it.endsWith(" ENXIO")).count());
        JsonNode leases = leases();
        assertEquals(1, leases.size(), leases::toString);
        assertEquals("old", leases.path(0).path("container_name").asText());
        first.kill();
        second.kill();
        assertEquals(2, states().chars().filter(state -> state == 'h').count());
        assertEquals(2, gpuRules(executor).size());
        executor.kill();
        awaitStates("ffff");
    }

    /** All tasks of a group are launched at once. */
    @Test
    void tasksWithoutSharesThatAreLaunchedTogetherHaveTheSameGpu() throws Exception {
        MesosContainer executor = lasting(MesosTask.groups(1));
        Process all = daemon.jnvdocker("gpu", "run", "--gpus", "all", "sleep", "1000").start();
        List<MesosContainer> tasks = new ArrayList<>();
        try {
            awaitStates("hhhh");
            for (int i = 0; i < 4; i++) {
                tasks.add(
                        executor.nested(
                                MesosTask.of(NODES + LASTING).withoutResources().needsDriver()));
            }
            tasks.forEach(OneAgentTest::awaitQuestion);
        } finally {
            all.destroyForcibly().waitFor();
        }
        int gpu = gpu(tasks.getFirst().awaitLine("up"));
        for (MesosContainer task : tasks) {
            assertEquals(gpu, gpu(task.awaitLine("up")));
        }
        awaitHeld(gpu);
        assertEquals(1, leases().size());
    }

    @Test
    void tasksThatDoNotShareCgroupsCanNotOpenEachOthersGpus() {
        MesosContainer executor = lasting(MesosTask.groups(2));
        MesosContainer first = nested(executor, task(NODES + LASTING, 1).ownCgroups());
        MesosContainer second =
                nested(executor, task(NODES + OTHERS + "echo up; " + LASTING, 1).ownCgroups());
        int gpu = gpu(first);
        int others = Integer.parseInt(second.out().substring(0, 1));
        List<String> lines = second.out().lines().toList();
        assertEquals(gpu + " EPERM", lines.get(1 + gpu));
        assertEquals(others + " ENXIO", lines.get(1 + others));
        assertEquals(List.of(rule(gpu)), gpuRules(first));
        assertEquals(List.of(rule(others)), gpuRules(second));
        first.kill();
        awaitHeld(others);
        assertEquals(List.of(rule(others)), gpuRules(executor));
        assertEquals(List.of(rule(others)), gpuRules(second));
    }

    @Test
    void healthCheckIsInItsTasksContainer() {
        MesosContainer executor = lasting(MesosTask.groups(1));
        MesosContainer task = nested(executor, task(NODES + LASTING, 1));
        Command.Result check = task.debug(NODES + "ls /usr/local; echo up").await();
        assertEquals(
                task.out().replace("up", "bin\nnvidia\nup"), check.ok().out(), check::toString);
        assertEquals("", check.err());
        assertEquals(1, leases().size());
        daemon.stop();
        assertEquals("up\n", task.debug("echo up").await().ok().out());
    }

    /** Mesos gives it the variables of the image and the task, without our additions. */
    @Test
    void healthCheckFindsTheDriversLibraries() {
        MesosContainer executor = lasting(MesosTask.groups(1));
        MesosContainer task = nested(executor, task(NODES + LASTING, 1));
        String ours = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64";
        assertEquals(ours + "\n", task.debug("echo $LD_LIBRARY_PATH").await().ok().out());
        daemon.stop();
        Command.Result check = task.debug("echo $LD_LIBRARY_PATH").await().ok();
        assertEquals("\n", check.out());
        // Although the fetcher empties the file.
        assertTrue(
                check.err().startsWith("jnvdocker: no jnvdockerd answers at ")
                        && check.err().endsWith("; LD_LIBRARY_PATH stays as the task has it\n"),
                check::toString);
    }

    @Test
    void groupWithoutGpusNeedsNoDaemon() {
        daemon.stop();
        MesosContainer executor = lasting(MesosTask.of("echo up; sleep 1000").direct().noImage());
        Command.Result result = executor.nested(MesosTask.of("ls /dev")).await();
        assertFalse(result.ok().out().contains("nvidia"), result::toString);
        assertEquals("", result.err());
    }

    @Test
    void taskOfAGroupIsRefusedInItsOwnSandbox() {
        MesosContainer executor = lasting(MesosTask.groups(5));
        Command.Result result = executor.nested(task("echo up", 5)).await();
        assertRefused(
                "5 GPUs requested, but this host has 4; request fewer ('jnvdocker gpu ls'"
                        + " shows them)",
                result);
        assertEquals("", executor.err());
        assertEquals(List.of(), gpuRules(executor));
    }
}
