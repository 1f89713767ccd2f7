package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.MesosContainer;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.Registry;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A task holds its GPUs as long as any of its processes lives, whatever happens to agent and
 * daemon.
 */
class MesosLeaseTest extends OneAgentTest {
    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void endPrograms() throws InterruptedException {
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    /** Starts a program of the host that holds these GPUs. */
    private Process hold(String gpus) {
        Process process = daemon.jnvdocker("gpu", "run", "--gpus", gpus, "sleep", "1000").start();
        started.add(process);
        return process;
    }

    private static Registry registry() {
        return new Registry(daemon);
    }

    private static MesosTask on(int gpu) {
        return MesosTask.of("echo up; sleep 1000").needsDriver().uuids(uuid(gpu));
    }

    @Test
    void leaseIsShownAsTheTasks() {
        MesosContainer task = lasting(on(1).named("train").user("daemon"));
        JsonNode gpu = gpus().path(1);
        assertEquals("held", gpu.path("state").asText());
        assertEquals("daemon", gpu.path("user").asText());
        assertEquals(
                List.of("ok: no Docker container has a claim; 1 Mesos task holds GPUs"),
                DoctorTest.findings(
                        DoctorTest.report(jnvdocker("gpu", "doctor", "--json")), "claims"));
        assertEquals("train", gpu.path("container_name").asText());
        assertEquals(task.id(), gpu.path("container_id").asText());
        assertTrue(gpu.path("image").isNull(), gpu::toString);
        assertEquals(task.pid(), gpu.path("pid").asLong());
        JsonNode lease = leases().path(0);
        assertEquals("mesos", lease.path("engine").asText());
        assertEquals("train", lease.path("container_name").asText());
        assertEquals(task.id(), lease.path("container_id").asText());
        String list = jnvdocker("gpu", "ls").ok().out();
        assertTrue(list.matches("(?s).* HELD +daemon +Mesos task train .*"), list);
        String why = jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("is held by daemon's Mesos task train since "), why);
        assertTrue(why.contains("A container of a Mesos agent, " + task.id() + ", under"), why);
        assertTrue(why.contains("its process (pid " + task.pid() + ") runs"), why);
        assertTrue(why.contains("stop the task through its framework"), why);
        task.kill();
        awaitStates("ffff");
        assertEquals(
                List.of("its process (pid " + gpu.path("pid") + ") is gone, and its cgroup empty"),
                registry().ends("train"));
    }

    @Test
    void nestedTaskIsNamedAfterItsExecutor() {
        MesosContainer executor = lasting(MesosTask.groups(1).named("pod"));
        MesosContainer task = executor.nested(sleeper(1)).awaitLine("up");
        JsonNode lease = leases().path(0);
        assertEquals("pod/" + task.id().substring(0, 8), lease.path("container_name").asText());
        assertEquals(executor.id() + "." + task.id(), lease.path("container_id").asText());
    }

    /** Marathon and other frameworks pass each task its id. */
    @Test
    void nestedTaskIsNamedByItsIdIfThatIsKnown() {
        MesosContainer executor = lasting(MesosTask.groups(1).named("pod"));
        executor.nested(sleeper(1).variable("MESOS_TASK_ID", "pod.instance-1.train"))
                .awaitLine("up");
        assertEquals("pod.instance-1.train", leases().path(0).path("container_name").asText());
        String list = jnvdocker("gpu", "ls").ok().out();
        assertTrue(list.contains("Mesos task pod.instance-1.train"), list);
    }

    @Test
    void whyTellsOfAnAgentThatIsDown() throws Exception {
        MesosContainer task = lasting(on(0));
        String none = "No Mesos agent runs on this host. ";
        Path program = agent.directory().resolve("mesos-agent");
        Files.writeString(program, "#!/bin/sh\nread -r _\n");
        program.toFile().setExecutable(true);
        Process other = new ProcessBuilder(program.toString()).start();
        started.add(other);
        Lab.await(() -> {
            String why = jnvdocker("gpu", "why", "0").ok().out();
            return why.contains(none) ? List.of(why) : List.of();
        });
        other.destroyForcibly().waitFor();
        agent.kill();
        String why = jnvdocker("gpu", "why", "0").ok().out();
        assertTrue(why.contains(none), why);
        assertTrue(why.contains("for the agent's --recovery_timeout (15 minutes by default)"), why);
        assertTrue(why.contains("root can end it with: kill " + task.pid()), why);
        agent.recover();
        task.kill();
    }

    @Test
    void leaseEndsWithTheLastProcessOfTheContainer() throws Exception {
        MesosContainer task =
                lasting(on(2).command("setsid sleep 1000 > /dev/null 2>&1 & echo up; sleep 1000"));
        agent.kill(); // a running agent would end the other processes
        Command.of("kill", "-KILL", task.pid()).run().ok();
        Lab.await(() -> {
            String why = jnvdocker("gpu", "why", "2").ok().out();
            return why.contains("has ended, and others run") ? List.of() : List.of(why);
        });
        assertEquals("ffhf", states());
        assertTrue(gpuRules(task).contains("c 195:2 rw"));
        agent.recover();
        task.await();
        awaitStates("ffff");
    }

    @Test
    void leaseOfALiveTaskIsReleasedByForceAlone() {
        MesosContainer task =
                lasting(
                        on(3).named("stubborn")
                                .command(
                                        "echo up; while [ ! -e $MESOS_SANDBOX/go ]; do sleep 0.02;"
                                                + " done; tryopen /dev/nvidia3"));
        Command.Result refused = jnvdocker("gpu", "release", "stubborn");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(
                refused.err()
                        .contains(
                                "its process (pid "
                                        + task.pid()
                                        + ") runs; stop the task"
                                        + " through its framework"),
                refused::toString);
        assertEquals(List.of("c 195:3 rw"), gpuRules(task));
        String warned =
                jnvdocker("gpu", "release", "stubborn", "--force", "--reason", "hangs").ok().err();
        assertTrue(warned.contains(" runs, and can use what it has opened as before"), warned);
        assertEquals("ffff", states());
        assertEquals(List.of(), gpuRules(task));
        task.writeToSandbox("go");
        assertEquals("up\nEPERM\n", task.await().out());
    }

    @Test
    void taskWaitsForWhoHasItsGpu() throws Exception {
        Process holder = hold("device=0");
        awaitStates("hfff");
        MesosContainer task =
                agent.launch(on(0).command("tryopen /dev/nvidia0"))
                        .awaitRemark(
                                "jnvdocker: waiting for GPU "
                                        + uuid(0)
                                        + ", next in the queue; GPU 0 (GPU-5c1a0000) is held by"
                                        + " root's process sleep (pid "
                                        + holder.pid()
                                        + ") since ");
        holder.destroyForcibly().waitFor();
        Command.Result result = task.await();
        assertEquals("ENXIO\n", result.out(), result::toString);
        List<String> remarks = remarks(result.err());
        assertEquals(2, remarks.size(), result::toString);
        assertTrue(remarks.get(1).startsWith("jnvdocker: got GPU 0 (GPU-5c1a0000) after "));
    }

    /** The agent's fetcher empties stderr after the hook has written to it. */
    @Test
    void waitingTaskSaysSoAlthoughTheFetcherEmptiesItsStderr() throws Exception {
        Process holder = hold("device=0");
        awaitStates("hfff");
        MesosContainer task = agent.launch(on(0).command("tryopen /dev/nvidia0").fetchedAfter("1"));
        task.awaitRemark("jnvdocker: waiting for GPU ");
        task.awaitRemark("Fetcher Info");
        task.awaitRemark("jnvdocker: waiting for GPU ");
        holder.destroyForcibly().waitFor();
        Command.Result result = task.await();
        List<String> remarks = remarks(result.err());
        assertEquals(2, remarks.size(), result::toString);
        assertTrue(remarks.get(0).startsWith("jnvdocker: waiting for GPU "), result::toString);
        assertTrue(remarks.get(1).startsWith("jnvdocker: got GPU 0 "), result::toString);
    }

    /**
     * The daemon has answered before the fetcher starts, so jnvdocker-prestart repeats the remark.
     */
    @Test
    void remarksOfAShortWaitAreRepeatedAfterTheFetcher() throws Exception {
        Process holder = hold("device=0");
        awaitStates("hfff");
        MesosContainer task =
                agent.launch(on(0).command("tryopen /dev/nvidia0").fetchedAfter("3"))
                        .awaitRemark("jnvdocker: waiting for GPU ");
        holder.destroyForcibly().waitFor();
        task.awaitRemark("jnvdocker: got GPU 0 ");
        Command.Result result = task.await();
        assertEquals("ENXIO\n", result.out(), result::toString);
        assertTrue(result.err().startsWith("I0101 "), result::toString);
        List<String> remarks = remarks(result.err());
        assertEquals(2, remarks.size(), result::toString);
        assertTrue(remarks.get(0).startsWith("jnvdocker: waiting for GPU "), result::toString);
        assertTrue(remarks.get(1).startsWith("jnvdocker: got GPU 0 "), result::toString);
    }

    @Test
    void reasonOfAHookThatFailsOutlastsTheFetcher() throws Exception {
        Path helper = agent.directory().resolve("libexec/mesos-containerizer");
        Path away = helper.resolveSibling("away");
        Files.move(helper, away);
        try {
            Command.Result result = agent.run(on(0).fetchedAfter("1"));
            assertEquals(125, result.exitCode(), result::toString);
            assertTrue(result.err().contains("I0101 "), result::toString);
            List<String> remarks = remarks(result.err());
            assertEquals(1, remarks.size(), result::toString);
            assertTrue(
                    remarks.getFirst().startsWith("jnvdocker: cannot run '" + helper + "': "),
                    result::toString);
        } finally {
            Files.move(away, helper);
        }
    }

    /** An agent offers GPUs again before the container that had them is gone. */
    @Test
    void taskWaitsForAnotherTask() {
        MesosContainer first = lasting(sleeper(4).named("first"));
        MesosContainer second =
                agent.launch(MesosTask.of("ls /dev | grep -c 'nvidia[0-3]'").gpus(4))
                        .awaitRemark("are held by root's Mesos task first since ");
        first.kill();
        assertEquals("4\n", second.await().ok().out());
    }

    @Test
    void waitGoesOnWithTheNextDaemon() throws Exception {
        Process holder = hold("device=0");
        awaitStates("hfff");
        MesosContainer task =
                agent.launch(on(0).command("tryopen /dev/nvidia0"))
                        .awaitRemark("jnvdocker: waiting for GPU ");
        daemon.kill();
        startDaemon();
        holder.destroyForcibly().waitFor();
        assertEquals("ENXIO\n", task.await().out(), task::err);
        assertEquals(0, registry().tickets());
    }

    @Test
    void daemonThatComesBackServesWhoWaitsForIt() {
        daemon.stop();
        MesosContainer task = agent.launch(on(0).command("tryopen /dev/nvidia0"));
        startDaemon();
        Command.Result result = task.await();
        assertEquals("ENXIO\n", result.out(), result::toString);
        assertFalse(result.err().contains("jnvdocker: "), result::toString);
    }
}
