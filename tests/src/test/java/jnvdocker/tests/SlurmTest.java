package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Clients in a job of Slurm, by the variables that slurmd 22.05 was seen to set, and the prolog and
 * epilog that are shipped. No Slurm runs here.
 */
class SlurmTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;
    private static final Path EXAMPLES = Project.root().resolve("src/dist/examples/slurm");

    @AfterEach
    void nothingIsBooked() {
        for (JsonNode booking : lab.jnvdocker("gpu", "book", "--json").json()) {
            lab.jnvdocker("gpu", "book", "--cancel", booking.path("number").asText()).ok();
        }
        lab.configure("");
    }

    private static Command inJob(String gpus, Object... words) {
        return lab.daemon()
                .jnvdocker(words)
                .with("SLURM_JOB_GPUS", gpus)
                .with("CUDA_VISIBLE_DEVICES", "0");
    }

    private static Command run(String gpus, String... options) {
        List<Object> words = new ArrayList<>(List.of("run", "--rm", "--network", "none"));
        words.addAll(List.of(options));
        words.addAll(List.of("plain", "sh", "-c", "ls /dev/nvidia[0-9]* | tr '\\n' ' '"));
        return inJob(gpus, words.toArray());
    }

    @Test
    void containersGetTheJobsGpusAndNoOthers() {
        String both = "/dev/nvidia1 /dev/nvidia3 ";
        assertEquals(both, run("1,3", "--gpus", "all").run().ok().out());
        assertEquals(both, run("1,3", "--gpus", "2").run().ok().out());
        assertEquals("/dev/nvidia3 ", run("1,3", "--gpus", "device=3").run().ok().out());
        assertEquals(
                "/dev/nvidia3 ",
                run("1,3", "--gpus", "all").with("SLURM_STEP_GPUS", "3").run().ok().out());
        assertEquals("", run("1,3", "--gpus", "none").run().ok().out());
        lab.as(BOB, "run", "-d", "--gpus=device=1", "--name=other", "plain", "sleep", "1000")
                .run()
                .ok();
        assertEquals("/dev/nvidia3 ", run("1,3", "--gpus", "1").run().ok().out());
        Command.Result taken = run("1,3", "--gpus", "2").run();
        assertEquals(125, taken.exitCode(), taken::toString);
        assertTrue(taken.err().contains("container other"), taken::toString);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1,3|3|3 GPUs requested, but this Slurm job has 2 (SLURM_JOB_GPUS=1,3); request no"
                        + " more than those of the job: 1,3",
                "1,3|\"device=0,1\"|GPU 0 (GPU-5c1a0000) is not one of this Slurm job's"
                        + " (SLURM_JOB_GPUS=1,3); request no more than those of the job: 1,3",
                "NoDevFiles|1|the GPUs of this Slurm job are not known: SLURM_JOB_GPUS=NoDevFiles"
                        + " does not number whole GPUs of this host; name them with --gpus"
                        + " device=<ids>, or have gres.conf list all GPUs",
                "7|all|the GPUs of this Slurm job are not known: SLURM_JOB_GPUS=7 does not number"
                        + " whole GPUs of this host; name them with --gpus device=<ids>, or have"
                        + " gres.conf list all GPUs"
            })
    void refusalsNameTheJobsGpus(String job, String gpus, String refusal) {
        for (Command command : List.of(run(job, "--gpus", gpus), program(job, "--gpus", gpus))) {
            Command.Result result = command.run();
            assertEquals(125, result.exitCode(), result::toString);
            assertEquals("jnvdocker: " + refusal + "\n", result.err());
        }
    }

    @Test
    void aJobWhoseGpusAreNotKnownNamesThem() {
        assertEquals("/dev/nvidia2 ", run("NoDevFiles", "--gpus", "device=2").run().ok().out());
    }

    private static Command program(String job, String... options) {
        List<Object> words = new ArrayList<>(List.of("gpu", "run"));
        words.addAll(List.of(options));
        words.addAll(List.of("printenv", "CUDA_VISIBLE_DEVICES"));
        return inJob(job, words.toArray());
    }

    @Test
    void programsGetTheJobsGpus() {
        Command.Result all = program("1,3", "--gpus", "all").run().ok();
        assertEquals(2, all.out().split(",").length, all::toString);
        assertEquals("", all.err());
        assertTrue(all.out().startsWith("GPU-5c1a1003"), all::toString);
        assertTrue(program("2").run().ok().out().startsWith("GPU-5c1a2006"), "GPU 2");
    }

    private static Command.Result example(String name, String gpus) {
        Path programs = Project.tree().resolve("bin");
        return Command.of(EXAMPLES.resolve(name))
                .with(lab.daemon().environment())
                .with("PATH", programs + ":" + System.getenv("PATH"))
                .with("SLURM_JOB_UID", Integer.toString(ALICE))
                .with("SLURM_JOB_GPUS", gpus)
                .run();
    }

    @Test
    void prologBooksAJobsGpusAndEpilogGivesThemBack() {
        lab.configure("bookings = 'end'\n");
        lab.as(ALICE, "run", "-d", "--gpus=device=0", "--name=before", "plain", "sleep", "1000")
                .run()
                .ok();
        assertEquals("", example("prolog", "1,3").ok().err());
        Command.Result other = lab.as(BOB, "run", "--rm", "--gpus=device=1", "plain", "true").run();
        assertTrue(other.err().contains("is booked for uid 61001 until"), other::toString);
        lab.as(
                        ALICE,
                        "run",
                        "-d",
                        "--gpus=all",
                        "--name=job",
                        "--stop-signal=KILL",
                        "plain",
                        "sleep",
                        "1000")
                .with("SLURM_JOB_GPUS", "1,3")
                .run()
                .ok();
        lab.awaitHolders(Map.of(0, "before", 1, "job", 3, "job"));
        assertEquals("", example("epilog", "1,3").ok().err());
        lab.awaitHolders(Map.of(0, "before"));
        lab.as(BOB, "run", "--rm", "--gpus=device=1", "plain", "true").run().ok();
    }

    @Test
    void prologOfGpusThatAreBookedLetsTheJobBegin() {
        lab.configure("bookings = 'end'\n");
        Stream.of("0", "0,1").forEach(gpus -> example("prolog", gpus).ok());
        assertEquals(1, lab.jnvdocker("gpu", "book", "--json").json().size());
    }
}
