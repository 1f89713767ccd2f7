package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** GPUs that are used without a lease are detected, and not given out. */
@Attack(
        by = "any user",
        what = "mounts a claim's directory in a namespace of their own",
        result = "holds nothing, and nothing is adopted")
@Attack(
        by = "a fault",
        what = "unmanaged use of a GPU",
        result =
                "shown as UNMANAGED and not given out, on both engines; a use that starts in the"
                        + " same moment may get the GPU, too")
class UnmanagedUseTest extends WantedEngineTest {
    private static final long FOUND_WITHIN_NANOS = 30_000_000_000L;

    private static final String CDI =
            """
            {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "1",
              "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia1", "hostPath": "%s"}]}}]}
            """;

    @TempDir static Path programs;

    private final List<Process> started = new ArrayList<>();

    /** Makes NVIDIA's hook and runtime known to the engine; here they add nothing. */
    @BeforeAll
    static void installNvidia() throws IOException {
        Path hook = programs.resolve("nvidia-container-runtime-hook");
        Files.writeString(hook, "#!/bin/sh\nexit 0\n");
        Command.of("chmod", "755", programs, hook).run().ok();
        CProgram.put("holdopen", holdopen());
        Files.createDirectories(host("dev/char"));
        Files.createSymbolicLink(host("dev/char/gpu"), Path.of("../nvidia1"));
        lab.engine().path(programs);
        String runc = Command.of("sh", "-c", "command -v runc").run().ok().out().strip();
        List<String> options = new ArrayList<>(List.of("--add-runtime", "nvidia=" + runc));
        if (RELEASE == TestEngine.Release.NEWEST) {
            Files.writeString(programs.resolve("nvidia.json"), CDI.formatted(host("dev/nvidia1")));
            options.addAll(List.of("--cdi-spec-dir", programs.toString()));
        }
        lab.engine().restart(options.toArray(String[]::new));
    }

    @AfterEach
    void endProcesses() throws InterruptedException {
        lab.startDaemon();
        for (Process process : started) {
            process.destroyForcibly().waitFor();
        }
    }

    private static Path holdopen() {
        return programs.resolve("holdopen");
    }

    private static Path host(String file) {
        return lab.host().directory().resolve(file);
    }

    /** Starts a process of this machine that holds a node of the host open. */
    private long open(String node) {
        Process process = Command.of(holdopen(), host("dev/" + node)).start();
        started.add(process);
        return process.pid();
    }

    private void end(long pid) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }

    /** A container of plain docker, with {@code holdopen} at {@code /holdopen}. */
    private static Command.Result plain(String name, String options, String... command) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--name", name));
        words.addAll(List.of("--network", "none", "-v", holdopen() + ":/holdopen:ro"));
        Arrays.stream(options.replace("HOST", lab.host().directory().toString()).split(" +"))
                .filter(word -> !word.isEmpty())
                .map(word -> word.replace('~', ' '))
                .forEach(words::add);
        words.add("plain");
        words.addAll(List.of(command.length == 0 ? new String[] {"sleep", "1000"} : command));
        return lab.docker(words.toArray());
    }

    private static JsonNode gpus() {
        String text = lab.jnvdocker("gpu", "ls", "--json").ok().out();
        try {
            return new ObjectMapper().readTree(text);
        } catch (JsonProcessingException e) {
            throw new AssertionError(text, e);
        }
    }

    private static List<String> states() {
        return gpus().findValuesAsText("state");
    }

    /** Takes one letter for each of GPUs 0 to 3. */
    private static void awaitStates(String letters) {
        long deadline = System.nanoTime() + FOUND_WITHIN_NANOS;
        while (true) {
            StringBuilder found = new StringBuilder();
            states().forEach(state -> found.append(state.charAt(0)));
            if (found.toString().equals(letters)) {
                return;
            }
            assertTrue(System.nanoTime() < deadline, "should be " + letters + ", is " + found);
            LockSupport.parkNanos(50_000_000);
        }
    }

    private static void assertRefusal(String message, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertEquals("jnvdocker: " + message + "\n", result.err());
    }

    private static Command.Result run(String gpus) {
        return lab.jnvdocker("run", "--rm", "--gpus", gpus, "plain", "true");
    }

    private static void configure(String toml) {
        lab.configure(toml);
    }

    @Test
    void processOfTheHostIsSeenAndItsGpuIsNotGivenOut() {
        long pid = open("nvidia1");
        awaitStates("fuff");
        JsonNode gpu = gpus().path(1);
        assertEquals("root", gpu.path("user").asText());
        assertEquals(pid, gpu.path("pid").asLong());
        assertTrue(gpu.path("container_name").isNull());
        assertTrue(gpu.path("lease").isNull());
        String line = lab.jnvdocker("gpu", "ls").ok().out().lines().skip(2).findFirst().get();
        assertTrue(
                line.matches(
                        "1 +GPU-5c1a1003 +\\S.* +UNMANAGED +root +holdopen \\(pid "
                                + pid
                                + "\\) +- +not in a container"),
                line);
        String user = "is used by root's process holdopen (pid " + pid + "), which jnvdocker did";
        assertRefusal(
                "GPU 1 (GPU-5c1a1003) "
                        + user
                        + " not start; wait with --gpu-wait, or take another (free: 0,2,3)",
                run("device=1"));
        assertRefusal(
                "all GPUs requested, but GPU 1 (GPU-5c1a1003) "
                        + user
                        + " not start; wait with --gpu-wait, or take others (free: 0,2,3)",
                run("all"));
        assertEquals(125, run("4").exitCode());
        assertEquals(
                "/dev/nvidia0\n/dev/nvidia2\n/dev/nvidia3\n",
                lab.jnvdocker(
                                "run",
                                "--rm",
                                "--gpus",
                                "3",
                                "plain",
                                "sh",
                                "-c",
                                "ls /dev/nvidia[0-9]")
                        .ok()
                        .out());
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains(user + " not start."), why);
        assertTrue(why.contains("has /dev/nvidia1 open."), why);
        end(pid);
        awaitStates("ffff");
        run("device=1").ok();
    }

    @Test
    void nodesThatAreNoGpusDoNotCount() {
        open("nvidiactl");
        open("nvidia-uvm");
        LockSupport.parkNanos(200_000_000);
        assertEquals(List.of("free", "free", "free", "free"), states());
    }

    /** ~ stands for a blank within an option. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "fuff --device HOST/dev/nvidia1:/dev/nvidia1",
                "fuff --device HOST/dev/nvidia1:/dev/gpu",
                "fuff --device HOST/dev/char/gpu:/dev/gpu",
                "uuuu --device HOST/dev:/dev/all",
                "fuff -v HOST/dev/nvidia1:/gpu --device-cgroup-rule c~195:1~rw",
                "uuuu -v HOST/dev:/devices --device-cgroup-rule c~*:*~rw",
                "uuuu --device-cgroup-rule c~195:*~rwm",
                "uuff --gpus 2",
                "fufu --gpus \"device=1,GPU-5c1a3009\"",
                "uuuu --gpus all",
                "fuff --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=1",
                "fufu --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=GPU-5c1a1003,3",
                "uuuu --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all",
            })
    void containerThatWasGivenAGpuByDockerCountsWhileItIsIdle(String given) {
        String[] parts = given.split(" ", 2);
        plain("plain-1", parts[1]).ok();
        awaitStates(parts[0]);
        JsonNode gpu = gpus().path(1);
        assertEquals("plain-1", gpu.path("container_name").asText());
        assertEquals(
                lab.inspect("plain-1", "{{.Id}} {{.State.Pid}}"),
                gpu.path("container_id").asText() + " " + gpu.path("pid").asText());
        Command.Result refused = run("device=1");
        assertEquals(125, refused.exitCode(), refused::toString);
        String message = "GPU 1 (GPU-5c1a1003) is used by container plain-1, which jnvdocker did";
        assertTrue(
                refused.err().startsWith("jnvdocker: " + message + " not start; "), refused.err());
        lab.docker("rename", "plain-1", "plain-2").ok();
        assertEquals("plain-2", gpus().path(1).path("container_name").asText());
        lab.docker("rm", "-f", "plain-2").ok();
        awaitStates("ffff");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "-v HOST/dev/nvidia1:/dev/nvidia1",
                "--device-cgroup-rule c~*:*~rw",
                "--device-cgroup-rule c~195:255~rw",
                "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=none",
                "--runtime nvidia -e NVIDIA_VISIBLE_DEVICES=void",
                "-e NVIDIA_VISIBLE_DEVICES=all",
                "--device HOST/dev/nvidiactl:/dev/nvidiactl",
            })
    void containerThatWasGivenNoneDoesNotCount(String options) {
        plain("plain-1", options).ok();
        LockSupport.parkNanos(200_000_000);
        assertEquals(List.of("free", "free", "free", "free"), states());
    }

    /** Privileged containers of the older engine need more rights than a test machine may have. */
    private static boolean hasPrivilegedContainers() {
        return RELEASE == TestEngine.Release.NEWEST;
    }

    @Test
    void privilegedContainerCountsWhileItHasANodeOpen() {
        if (!hasPrivilegedContainers()) {
            return;
        }
        String open = "mknod /dev/nvidia2 c 195 2; /holdopen /dev/nvidia2; sleep 1000";
        plain("plain-1", "--privileged -v HOST/dev:/devices", "sh", "-c", open).ok();
        awaitStates("ffuf");
        JsonNode gpu = gpus().path(2);
        assertEquals("plain-1", gpu.path("container_name").asText());
        assertTrue(
                gpu.path("note").asText().startsWith("opened by its holdopen (pid "),
                gpu::toString);
        assertTrue(gpu.path("user").isNull(), gpu::toString);
        end(gpu.path("pid").asLong());
        awaitStates("ffff");
        assertEquals("running", lab.inspect("plain-1", "{{.State.Status}}"));
    }

    @Test
    void privilegedContainerThatWasGivenANodeByNameCountsWhileItIsIdle() {
        if (hasPrivilegedContainers()) {
            plain("plain-1", "--privileged -v HOST/dev/nvidia1:/dev/nvidia1").ok();
            awaitStates("fuff");
        }
    }

    @Test
    void containerWithACdiDeviceCountsWhileItIsIdle() {
        if (RELEASE == TestEngine.Release.NEWEST) {
            plain("plain-1", "--device nvidia.com/gpu=1").ok();
            awaitStates("fuff");
            assertEquals("given by docker: a CDI device", gpus().path(1).path("note").asText());
        }
    }

    @Test
    void containerOfOursIsAnUnmanagedUseOnAnotherGpu() {
        lab.gpuContainer("run", "ours", 0, "-v", holdopen() + ":/holdopen:ro").run().ok();
        String open = "mknod /dev/nvidia%1$d c 195 %1$d; /holdopen /dev/nvidia%1$d";
        lab.docker("exec", "-d", "ours", "/holdopen", "/dev/nvidia0").ok();
        lab.docker("exec", "-d", "ours", "sh", "-c", open.formatted(3)).ok();
        awaitStates("hffu");
        assertTrue(gpus().path(0).path("note").isNull());
        // The program that was started first may open its node last.
        Lab.await(() -> processes(0).isEmpty() ? List.of("no process has GPU 0 open") : List.of());
        for (int gpu : List.of(0, 3)) {
            assertEquals(List.of("ours"), processes(gpu).findValuesAsText("container_name"));
            assertEquals(gpu == 3, processes(gpu).path(0).path("lease").isNull());
        }
        Command.Result refused = run("device=3");
        assertTrue(
                refused.err()
                        .startsWith(
                                "jnvdocker: GPU 3 (GPU-5c1a3009) is used by container ours, which"
                                        + " has no lease on it; wait with --gpu-wait"),
                refused::toString);
    }

    private JsonNode processes(int gpu) {
        return lab.jnvdocker("gpu", "top", "--json").ok().json().path(gpu).path("processes");
    }

    @Test
    void containerThatWasReleasedByForceIsAnUnmanagedUseWhileItHasTheGpuOpen() {
        lab.gpuContainer("run", "ours", 0, "-v", holdopen() + ":/holdopen:ro").run().ok();
        lab.awaitHolders(Map.of(0, "ours"));
        lab.jnvdocker("gpu", "release", "ours", "--force", "--reason", "to see").ok();
        awaitStates("ffff");
        lab.docker("exec", "-d", "ours", "/holdopen", "/dev/nvidia0").ok();
        awaitStates("ufff");
        assertEquals("ours", gpus().path(0).path("container_name").asText());
    }

    @Test
    void whoUsesAHeldGpuTooIsNamed() {
        lab.run("ours", 0);
        long pid = open("nvidia0");
        String note = "used by holdopen (pid " + pid + "), too";
        Lab.await(() ->
                gpus().path(0).path("note").asText().equals(note) ? List.of() : List.of("no note"));
        assertEquals("held", gpus().path(0).path("state").asText());
        assertEquals("ours", gpus().path(0).path("container_name").asText());
        // The lease stays: the container can be restarted.
        lab.docker("restart", "ours").ok();
        lab.awaitHolders(Map.of(0, "ours"));
    }

    @Test
    void startOfAnOldContainerIsRefusedWhileAnotherUsesItsGpu() {
        lab.create("ours", 1);
        plain("plain-1", "--device HOST/dev/nvidia1:/dev/nvidia1").ok();
        awaitStates("fuff");
        Command.Result refused = lab.docker("start", "ours");
        assertTrue(
                refused.err()
                        .contains(
                                "GPU 1 (GPU-5c1a1003) is used by container plain-1, which jnvdocker"
                                        + " did not start; start this container again when it has"
                                        + " ended, or remove the container and run it again to get"
                                        + " other GPUs\n"),
                refused::toString);
        lab.docker("rm", "-f", "plain-1").ok();
        lab.docker("start", "ours").ok();
        lab.docker("stop", "ours").ok();
        awaitStates("ffff");
        long pid = open("nvidia1");
        refused = lab.docker("start", "ours");
        assertTrue(refused.err().contains("process holdopen (pid " + pid + ")"), refused::toString);
        end(pid);
        lab.docker("start", "ours").ok();
    }

    @Test
    void whatIsIgnoredDoesNotCount() {
        configure("ignore = ['holdopen', 'plain']\n");
        try {
            open("nvidia1");
            plain("plain-1", "--device HOST/dev/nvidia2:/dev/nvidia2", "/holdopen", "/dev/nvidia2")
                    .ok();
            LockSupport.parkNanos(200_000_000);
            assertEquals(List.of("free", "free", "free", "free"), states());
            run("all").ok();
        } finally {
            configure("");
        }
        awaitStates("fuuf");
    }

    @Test
    void whereItIsAllowedAGpuThatIsUsedMayBeNamed() {
        configure("allow_unmanaged = true\n");
        try {
            open("nvidia1");
            plain("plain-1", "--device HOST/dev/nvidia2:/dev/nvidia2").ok();
            awaitStates("fuuf");
            run("\"device=1,2\"").ok();
            assertEquals(125, run("3").exitCode());
            assertEquals(125, run("all").exitCode());
        } finally {
            configure("");
        }
    }

    /** The user can reach the directory, and mount it in a namespace of their own. */
    @Test
    void nobodyHoldsAGpuByAMountOfHisOwn() {
        lab.run("ours", 0);
        String claim = lab.registry().liveOf("ours").orElseThrow().claim();
        Path directory = lab.daemon().state().resolve("claims").resolve(claim).resolve("mount");
        Path reachable = lab.daemon().state();
        while (!reachable.equals(Path.of("/tmp")) && reachable.getNameCount() > 1) {
            Command.of("chmod", "a+x", reachable).run().ok();
            reachable = reachable.getParent();
        }
        String mount = "mount --bind \"$0\" /mnt && exec sleep 1000";
        Process forger =
                Command.of("unshare", "-Urm", "sh", "-c", mount, directory).asNobody().start();
        started.add(forger);
        Path mounts = Path.of("/proc/" + forger.pid() + "/mountinfo");
        Lab.await(() -> {
            try {
                return Files.readString(mounts).contains(claim) ? List.of() : List.of("no mount");
            } catch (IOException e) {
                return List.of(e.toString());
            }
        });
        lab.docker("kill", "ours").ok();
        awaitStates("ffff");
        lab.daemon().stop();
        lab.startDaemon();
        awaitStates("ffff");
        run("device=0").ok();
        assertTrue(forger.isAlive());
    }

    @Test
    void processesAreSeenWithoutAnEngine() {
        lab.engine().stop();
        try {
            open("nvidia1");
            awaitStates("fuff");
        } finally {
            lab.engine().start();
        }
    }
}
