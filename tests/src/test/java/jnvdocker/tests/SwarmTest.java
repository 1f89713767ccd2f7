package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.GpuUsers;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestSwarm;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Services whose tasks need GPUs, on two hosts, each with its own account of its GPUs. */
@Tag("docker")
@Tag("root")
class SwarmTest {
    private static final int GPUS = TestSwarm.GPUS;

    /** By which the processes of tasks are known from outside. */
    private static final String TASK = "--env=TASK={{.Task.Name}}";

    private static TestSwarm swarm;

    private final GpuUsers users = new GpuUsers();

    @BeforeAll
    static void open() {
        swarm = new TestSwarm();
    }

    @AfterAll
    static void close() {
        swarm.close();
    }

    @AfterEach
    void nothingIsLeft() {
        swarm.docker("service", "rm", "train");
        for (TestSwarm.Node node : swarm.nodes()) {
            Lab.await(() ->
                    node.lab().registry().holders().values().stream()
                            .filter(name -> name.startsWith("train."))
                            .toList());
            node.lab().clear();
        }
    }

    private void assertOneHolderEach() {
        for (TestSwarm.Node node : swarm.nodes()) {
            assertEquals(List.of(), node.lab().registry().heldTwice());
        }
        assertEquals(List.of(), users.together());
    }

    private static void service(int replicas) {
        swarm.service("train", 1, "--replicas=" + replicas, TASK, "plain", "sleep", "1000");
    }

    /**
     * Swarm counts its own tasks alone, and so sends three to each node, one of which has two GPUs
     * for them.
     */
    @Test
    void taskThatCannotRunHereSaysWhyAndRunsOnTheOtherNode() {
        Lab lab = swarm.manager().lab();
        lab.jnvdocker("run", "-d", "--name=mine", "--gpus=2", "plain", "sleep", "1000").ok();
        service(6);
        swarm.awaitTasks("train", 2, 4);
        assertOneHolderEach();
        assertEquals(7, swarm.holders().stream().distinct().count());
        assertEquals(6, users.seen().size());
        String why =
                swarm.tasks("train").stream()
                        .filter(task -> !task.error().isEmpty())
                        .findFirst()
                        .orElseThrow()
                        .error();
        assertTrue(
                why.matches(
                        ".*: jnvdocker: 1 GPU requested, but none is free: .*held by root's"
                                + " container mine.*; Swarm tries again, after"
                                + " some failures on another node.*"),
                why);
    }

    @Test
    void updateReplacesTheTasksOfAllGpus() {
        int all = 2 * GPUS;
        String[] options = {"--update-parallelism=4", "--update-monitor=1ms"};
        service(all);
        swarm.awaitTasks("train", GPUS, GPUS);
        List<String> before = swarm.holders();
        assertEquals(all, before.stream().distinct().count());
        swarm.docker("service", "update", "-d", options[0], options[1], "--force", "train").ok();
        Lab.await(() -> {
            assertOneHolderEach();
            return swarm.holders().stream().filter(before::contains).toList();
        });
        swarm.awaitTasks("train", GPUS, GPUS);
        assertOneHolderEach();
        assertEquals(all, swarm.holders().size());
        // No more than there are.
        swarm.docker("service", "scale", "-d", "train=" + (all + 1)).ok();
        Lab.await(() ->
                swarm.tasks("train").stream()
                                .anyMatch(task -> task.error().contains("insufficient resources"))
                        ? List.of()
                        : List.of("all tasks have a node"));
    }

    /** What runs on a node that Swarm has lost keeps its GPUs there until the engine ends it. */
    @Test
    void tasksOfANodeThatIsGoneRunOnTheOtherOne() {
        TestSwarm.Node lost = swarm.worker();
        service(4);
        swarm.awaitTasks("train", 2, 2);
        lost.unplug();
        lost.lab().engine().kill();
        lost.lab().daemon().kill();
        swarm.awaitTasks("train", GPUS, 0);
        lost.lab().startDaemon();
        assertEquals(2, lost.lab().registry().holders().size());
        assertOneHolderEach();
        lost.plug();
        lost.lab().engine().start();
        Lab.await(() -> List.copyOf(lost.lab().registry().holders().values()));
        swarm.docker("node", "update", "--availability=drain", swarm.manager().name()).ok();
        swarm.awaitTasks("train", 0, GPUS);
        swarm.docker("node", "update", "--availability=active", swarm.manager().name()).ok();
    }
}
