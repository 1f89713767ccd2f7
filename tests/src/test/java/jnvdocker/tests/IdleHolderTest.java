package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * {@code gpu idle} lists the GPUs that are held and not used: by the nodes that processes really
 * have open, and by NVML.
 */
@Tag("root")
class IdleHolderTest {
    private final List<Process> programs = new ArrayList<>();
    private DriverRoot host;
    private TestDaemon daemon;
    private FakeNvml nvml;

    @BeforeEach
    void makeWorld() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        nvml = FakeNvml.of(host, "a100x8");
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void close() {
        programs.forEach(Process::destroyForcibly);
        daemon.close();
        host.close();
    }

    private Process run(int gpu, Object... program) {
        return run("device=" + gpu, program);
    }

    private Process run(String gpus, Object... program) {
        List<Object> words = new ArrayList<>(List.of("gpu", "run", "--gpus", gpus, "--"));
        words.addAll(List.of(program));
        Process process = daemon.jnvdocker(words.toArray()).start();
        programs.add(process);
        return process;
    }

    private String idle() {
        // A client watches, so NVML is queried every second.
        daemon.jnvdocker("gpu", "ls").run().ok();
        return daemon.jnvdocker("gpu", "idle", "--for", "1s").run().ok().out();
    }

    private void await(Predicate<String> idle) {
        long deadline = System.nanoTime() + Duration.ofSeconds(40).toNanos();
        String last = idle();
        while (!idle.test(last)) {
            assertTrue(System.nanoTime() < deadline, last);
            LockSupport.parkNanos(200_000_000);
            last = idle();
        }
    }

    private static Predicate<String> line(String pattern) {
        return text -> text.lines().anyMatch(line -> line.matches(pattern));
    }

    /**
     * Three users' programs share a GPU: one computes, one keeps it open and does nothing, one has
     * not even opened it.
     */
    @Test
    void sharesOfAGpuThatOneOfThemUsesAreIdle() {
        daemon.config("shareable = ['1']\n");
        Path holdopen = host.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        Path node = host.directory().resolve("dev/nvidia1");
        daemon.jnvdocker("gpu", "ls").run().ok();
        await(_ -> daemon.jnvdocker("gpu", "ls").run().ok().out().contains(" GiB "));
        long worker = run("share=10G", holdopen, node).pid();
        long sleeper = run("share=10G", holdopen, node).pid();
        run("share=10G", "sleep", "1000");
        nvml.change(text ->
                text.replaceFirst(
                        "(?s)(gpu 0000:0f.*?)process \\d+ \\d+",
                        "$1process %d 1073741824\nprocess %d 2147483648\nsamples\nsample %d 97"
                                .formatted(worker, sleeper, worker)));
        await(
                line("1 +root +holdopen \\(pid "
                                + sleeper
                                + "\\) .* 2.0 GiB .* utilization 0 by"
                                + " this holder")
                        .and(
                                line(
                                        "1 +root +sleep \\(pid \\d+\\) .* no process of this holder"
                                                + " has it open"))
                        .and(text -> !text.contains("pid " + worker)));
        assertEquals(2, json().size());
        programs.getFirst().destroyForcibly();
        nvml.change(text -> text.replace("\nsample " + worker + " 97", ""));
        nvml.change(text ->
                text.replaceFirst("(?s)(gpu 0000:0f.*?)process " + worker + " \\d+\n", "$1"));
        await(text -> !text.contains("pid " + sleeper));
    }

    private JsonNode json() {
        Command.Result printed = daemon.jnvdocker("gpu", "idle", "--for=1s", "--json").run().ok();
        JsonSchemas.check("gpu-idle", printed.out());
        return printed.json();
    }

    /** GPU 0 works, GPU 1 is open and does nothing, GPU 2 is not even open, GPU 3 is free. */
    @Test
    void heldGpusThatNobodyUsesAreListedAlsoByTheNextDaemon() throws Exception {
        nvml.change(text ->
                text.replaceFirst("(?s)(gpu 0000:0f.*?)utilization 97 41", "$1utilization 0 0"));
        Path holdopen = host.directory().resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        assertEquals(
                "no GPU that is held has been idle for 5m",
                daemon.jnvdocker("gpu", "idle").run().ok().out().strip());
        run(0, holdopen, host.directory().resolve("dev/nvidia0"));
        run(1, holdopen, host.directory().resolve("dev/nvidia1"));
        run(2, "sleep", "1000");
        await(
                line("1 +root +holdopen \\(pid \\d+\\) +\\d+s .* 35.4 GiB .* utilization 0")
                        .and(line("2 +root +sleep \\(pid \\d+\\) .* no process has it open")));
        JsonNode before = json();
        assertEquals(Map.of("1", "nvml", "2", "nodes"), sources(before));

        daemon.stop();
        await(line("1 .* utilization 0"));
        JsonNode after = json();
        assertEquals(sources(before), sources(after));
        assertEquals(List.of(0L, 0L, 0L, 0L), secondsBetween(before, after));
        assertEquals(List.of("false", "false"), after.findValuesAsText("at_least"));

        Command.Result wrong = daemon.jnvdocker("gpu", "idle", "--for", "soon").run();
        assertEquals(2, wrong.exitCode());
        assertTrue(wrong.err().contains("'soon' is not a duration"), wrong::toString);
    }

    /** The times of idle GPUs are read by two clocks, one a moment after the other. */
    private static List<Long> secondsBetween(JsonNode before, JsonNode after) {
        List<String> first = before.findValuesAsText("since");
        List<String> second = after.findValuesAsText("since");
        return IntStream.range(0, first.size())
                .mapToObj(i ->
                        Duration.between(Instant.parse(first.get(i)), Instant.parse(second.get(i)))
                                .abs()
                                .toSeconds())
                .toList();
    }

    private static Map<String, String> sources(JsonNode idle) {
        Map<String, String> sources = new TreeMap<>();
        idle.forEach(gpu ->
                sources.put(gpu.path("index").asText(), gpu.path("idle").path("source").asText()));
        return sources;
    }
}
