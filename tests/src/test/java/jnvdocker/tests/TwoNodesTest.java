package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.GpuUsers;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.TestSwarm;
import jnvdocker.tests.world.Turns;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Two hosts with eight GPUs, and many short tasks that come at random: containers of {@code
 * jnvdocker run} and of plain docker, jobs of Swarm, programs of the hosts. Daemons and engines are
 * killed meanwhile. With {@code KILL_POINTS=all} in the environment there are ten times as many.
 */
@Tag("docker")
@Tag("root")
class TwoNodesTest {
    private static final int TASKS = Moments.areAllWanted() ? 200 : 20;
    private static final int KILLS = Moments.areAllWanted() ? 12 : 4;
    private static final int WORKERS = 10;
    private static final long SEED = 20261128;

    private static final String WORK =
            """
            sleep 0.4
            echo $TASK $(printf "%s\\n" /dev/nvidia[0-9]* | wc -l) >> /share/done
            """;

    private static final String PROGRAM =
            """
            sleep 0.4
            echo $TASK $(echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l) >> %s/done
            """;

    private final GpuUsers users = new GpuUsers();
    private TestSwarm swarm;
    private Turns turns;

    @BeforeEach
    void open() throws IOException {
        swarm = new TestSwarm();
        turns = new Turns();
    }

    @AfterEach
    void close() {
        swarm.close();
        turns.close();
    }

    /** A task, drawn by lot. */
    private record Task(int number, int kind, int node, int gpus) {
        static List<Task> draw() {
            Random random = new Random(SEED);
            return IntStream.range(0, TASKS)
                    .mapToObj(number ->
                            new Task(
                                    number,
                                    random.nextInt(6),
                                    random.nextInt(2),
                                    1 + random.nextInt(4) / 3))
                    .toList();
        }

        String name() {
            return "task-" + number + "-" + gpus;
        }
    }

    @Test
    void tasksOfAllKindsTakeTurnsAndNeverTwoHaveOneGpu() throws Exception {
        List<Task> tasks = Task.draw();
        CompletableFuture<Void> all =
                CompletableFuture.allOf(
                        Turns.work(WORKERS, TASKS, number -> run(tasks.get(number)))
                                .toArray(CompletableFuture[]::new));
        CompletableFuture<Void> watch =
                Turns.inBackground(() -> {
                    while (!all.isDone()) {
                        assertEquals(List.of(), users.together());
                        Thread.sleep(20);
                    }
                });
        int kills = 0;
        while (kills < KILLS && !all.isDone()) {
            int kill = kills++;
            turns.dieWhen(
                    all,
                    TASKS * (kill + 1) / (KILLS + 1),
                    this::assertNoneTogether,
                    () -> kill(kill));
        }
        turns.dieWhen(all, Integer.MAX_VALUE, this::assertNoneTogether, () -> {});
        all.join();
        watch.join();

        assertEquals(TASKS, turns.done().size());
        int leases = 0;
        for (TestSwarm.Node node : swarm.nodes()) {
            node.lab().clear();
            leases +=
                    Turns.assertTurns(
                            node.lab()
                                    .jnvdocker("gpu", "leases", "--all", "-n", 9999, "--json")
                                    .json());
        }
        int seen = users.seen().size();
        System.out.printf(
                "%d tasks on %d GPUs in %d turns beside %d kills; %d holders seen from outside, %d"
                        + " tried again%n",
                TASKS, 2 * TestSwarm.GPUS, leases, kills, seen, turns.tries());
        // Most are: else the view from outside would prove nothing.
        assertTrue(seen > TASKS / 2, () -> users.seen().toString());
    }

    private void assertNoneTogether() {
        for (TestSwarm.Node node : swarm.nodes()) {
            assertEquals(List.of(), node.lab().registry().heldTwice());
        }
    }

    private void kill(int number) {
        Lab manager = swarm.manager().lab();
        Lab worker = swarm.worker().lab();
        switch (number % 4) {
            case 0 -> restart(manager);
            case 1 -> {
                worker.engine().kill();
                worker.engine().start();
            }
            case 2 -> restart(worker);
            default -> {
                manager.daemon().kill();
                worker.daemon().kill();
                worker.engine().kill();
                manager.startDaemon();
                worker.startDaemon();
                worker.engine().start();
            }
        }
    }

    private static void restart(Lab lab) {
        lab.daemon().kill();
        lab.startDaemon();
    }

    private void run(Task task) throws Exception {
        Lab lab = swarm.nodes().get(task.node()).lab();
        String name = task.name();
        String variable = "TASK=" + name;
        String gpus = "--gpus=" + task.gpus();
        String share = turns.share() + ":/share";
        switch (task.kind()) {
            case 0, 1 ->
                    turns.untilDone(
                            name,
                            Turns.GAVE_UP,
                            () ->
                                    lab.jnvdocker(
                                            "run",
                                            "--rm",
                                            "--gpu-wait",
                                            gpus,
                                            "-e",
                                            variable,
                                            "-v",
                                            share,
                                            "plain",
                                            "sh",
                                            "-c",
                                            WORK));
            case 2 ->
                    turns.untilDone(
                            name,
                            Turns.REFUSED,
                            () ->
                                    lab.docker(
                                            "run", "--rm", gpus, "-e", variable, "-v", share,
                                            "plain", "sh", "-c", WORK));
            case 3 -> ofSwarm(task);
            default ->
                    turns.untilDone(
                            name,
                            Turns.GAVE_UP,
                            () ->
                                    lab.daemon()
                                            .jnvdocker(
                                                    "gpu",
                                                    "run",
                                                    "--gpu-wait",
                                                    gpus,
                                                    "--",
                                                    "sh",
                                                    "-c",
                                                    PROGRAM.formatted(turns.share()))
                                            .with("TASK", name)
                                            .run());
        }
    }

    /** A job of one task, which Swarm tries again until it has ended well. */
    private void ofSwarm(Task task) throws Exception {
        swarm.service(
                task.name(),
                task.gpus(),
                "--mode=replicated-job",
                "--restart-condition=on-failure",
                "--env=TASK=" + task.name(),
                "--mount=type=bind,source=" + turns.share() + ",target=/share",
                "plain",
                "sh",
                "-c",
                WORK);
        turns.retry(task.name(), () -> {});
        swarm.docker("service", "rm", task.name()).ok();
    }
}
