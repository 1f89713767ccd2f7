package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.ProcessGroups;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** {@code gpu run}: programs of the host hold GPUs exclusively for as long as they run. */
@Attack(
        by = "root, by mistake",
        what = "deletes the state directory while a program of `gpu run` runs",
        result =
                "it has its lease again, by an attribute of its cgroup; without that no GPU is"
                        + " given out")
class GpuRunTest extends OneEngineTest {
    private static final String UUID_OF_1 = "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901";

    private static Path directory;
    private static Path holdopen;
    private final List<Process> started = new ArrayList<>();

    @BeforeAll
    static void makePrograms() {
        directory = Directories.make("gpu-run");
        holdopen = directory.resolve("holdopen");
        CProgram.put("holdopen", holdopen);
    }

    @AfterAll
    static void removePrograms() {
        Directories.remove(directory);
    }

    @AfterEach
    void endPrograms() {
        lab.startDaemon();
        started.forEach(Process::destroyForcibly);
        for (Path group : ProcessGroups.of(lab.daemon())) {
            String kill = "xargs -r kill -KILL < \"$1/cgroup.procs\" 2> /dev/null || true";
            Command.of("sh", "-c", kill, "kill", group).run().ok();
        }
        awaitStates("ffff");
        ProcessGroups.awaitNone(lab.daemon());
    }

    private static Command gpuRun(Object... words) {
        List<Object> all = new ArrayList<>(List.of("gpu", "run"));
        all.addAll(List.of(words));
        return lab.daemon().jnvdocker(all.toArray());
    }

    private Process start(Object... words) {
        Process process = gpuRun(words).start();
        started.add(process);
        return process;
    }

    private static JsonNode gpus() {
        return lab.jnvdocker("gpu", "ls", "--json").json();
    }

    /** Takes the first letter of each state, of GPUs 0 to 3. */
    private static void awaitStates(String letters) {
        Lab.await(() -> {
            StringBuilder now = new StringBuilder();
            gpus().findValuesAsText("state").forEach(state -> now.append(state.charAt(0)));
            return now.toString().equals(letters) ? List.of() : List.of("states are " + now);
        });
    }

    @Test
    void programIsTheClientItselfWithItsGpusInTheEnvironment() throws Exception {
        Command.Result result =
                gpuRun("--gpus", "device=3,1", "--", "sh", "-c", "cat; env; exit 7")
                        .input("typed\n")
                        .with("CUDA_VISIBLE_DEVICES", "0")
                        .run();
        assertEquals(7, result.exitCode());
        assertEquals("", result.err());
        assertTrue(
                result.out()
                        .contains(
                                "\nCUDA_VISIBLE_DEVICES="
                                        + UUID_OF_1
                                        + ",GPU-5c1a3009-1d2c-4e5f-8a9b-012345678903\n"),
                result::out);
        assertTrue(result.out().startsWith("typed\n"), result::out);
        Process process = start("--gpus", "device=0", "sleep", "1000");
        awaitStates("hfff");
        assertEquals(process.pid(), gpus().path(0).path("pid").asLong());
    }

    @Test
    void refusalsOfOtherContainersNameTheHolder() {
        Process process = start("--gpus", "device=1", "sleep", "1000");
        awaitStates("fhff");
        Command.Result refused = lab.jnvdocker("run", "--rm", "--gpus", "device=1", "plain");
        assertEquals(125, refused.exitCode());
        Lab.assertMatches(
                "jnvdocker: GPU 1 \\(GPU-5c1a1003\\) is held by \\S+'s process sleep \\(pid "
                        + process.pid()
                        + "\\) since \\d\\d:\\d\\d; wait with --gpu-wait, or take another \\(free:"
                        + " 0,2,3\\)\n",
                refused.err());
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("A process of the host, started with 'jnvdocker gpu run'"), why);
        Lab.assertMatches(
                "(?s).* have ended: kill \\$\\(cat (/sys/fs/cgroup/\\S+)/cgroup.procs\\)\n.*", why);
        assertEquals("sleep", gpus().path(1).path("command").asText());
        assertTrue(gpus().path(1).path("image").isNull());
        String ls = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(ls.contains("   sleep (pid " + process.pid() + ")   "), ls);
        String shown = "sleep (pid " + process.pid() + ")";
        for (String name : List.of("sleep", shown)) {
            assertTrue(lab.jnvdocker("gpu", "why", name).ok().out().startsWith("GPU 1 "));
            Command.Result extended = lab.jnvdocker("gpu", "extend", name, "1h");
            assertTrue(extended.err().contains("may hold its GPUs as long as"), extended::err);
            Command.Result released = lab.jnvdocker("gpu", "release", name);
            assertTrue(released.err().contains(" is not released: "), released::err);
        }
        process.destroyForcibly();
        awaitStates("ffff");
        assertTrue(
                lab.jnvdocker("gpu", "why", "sleep")
                        .ok()
                        .out()
                        .startsWith(shown + " has no GPU now: it has ended.\n"));
    }

    @Test
    void whatItHasStartedHoldsTheGpusWhenItHasEnded() throws Exception {
        Path pid = directory.resolve("pid");
        String daemonize =
                "env -i setsid sh -c 'echo $$ > " + pid + "; exec sleep 1000' < /dev/null &";
        Process process = start("--gpus", "device=0,1", "sh", "-c", daemonize);
        assertEquals(0, process.waitFor());
        Lab.await(
                () -> Files.exists(pid) && !text(pid).isEmpty() ? List.of() : List.of("no child"));
        awaitStates("hhff");
        lab.daemon().kill();
        lab.startDaemon();
        awaitStates("hhff");
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("has ended, but others that it started run: /sys/fs/cgroup/"), why);
        Command.Result release = lab.jnvdocker("gpu", "release", claim());
        assertEquals(125, release.exitCode(), release::toString);
        long child = Long.parseLong(text(pid).strip());
        ProcessHandle.of(child).orElseThrow().destroyForcibly();
        awaitStates("ffff");
        String history = lab.jnvdocker("gpu", "leases", "--all").ok().out();
        assertTrue(
                history.contains("its process (pid " + process.pid() + ") is gone, and all it"),
                history);
    }

    private static String claim() {
        return gpus().path(0).path("claim").asText();
    }

    private static String text(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void itIsNoUnmanagedUseOfItsOwnGpuAndOneOfAnother() {
        String both = holdopen + " $0/nvidia1 & " + holdopen + " $0/nvidia2";
        start("--gpus", "device=1", "sh", "-c", both, lab.host().directory().resolve("dev"));
        awaitStates("fhuf");
        assertTrue(gpus().path(1).path("note").isNull(), () -> gpus().toString());
    }

    @Test
    void aLeaseMayBeReleasedByForceAndTheGpuIsUsedWithoutOneThen() {
        start("--gpus", "device=1", holdopen, lab.host().directory().resolve("dev/nvidia1"));
        awaitStates("fhff");
        String claim = gpus().path(1).path("claim").asText();
        String warned =
                lab.jnvdocker("gpu", "release", claim, "--force", "--reason", "to see").ok().err();
        assertTrue(
                warned.endsWith(
                        " runs, and can use its GPUs as before, though others get it now; end"
                                + " it\n"),
                warned);
        awaitStates("fuff");
    }

    /** With the directory the registry and the file of the claim are gone; the cgroup is there. */
    @Test
    void aProgramKeepsItsGpusWhenTheStateDirectoryIsLost() throws Exception {
        Process process = start("--gpus", "device=1,2", "sleep", "1000");
        awaitStates("fhhf");
        String claim = gpus().path(1).path("claim").asText();
        lab.daemon().kill();
        Command.of("sh", "-c", "rm -r $0/registry* $0/claims", lab.daemon().state()).run().ok();
        lab.startDaemon();
        awaitStates("fhhf");
        assertEquals(claim, gpus().path(2).path("claim").asText());
        assertEquals(process.pid(), gpus().path(1).path("pid").asLong());
        Command.Result refused = gpuRun("--gpus", "device=1", "true").run();
        assertTrue(refused.err().contains("GPU 1 (GPU-5c1a1003) is held by"), refused::err);
    }

    /** It is ours by its name, which only root can have given it; nothing shows which GPUs. */
    @Test
    void aProgramOfAnUnknownClaimKeepsAllGpusFromOthers() throws Exception {
        Process sleep = new ProcessBuilder("sleep", "1000").start();
        started.add(sleep);
        Path cgroups =
                Stream.of("devices", "")
                        .map(Path.of("/sys/fs/cgroup")::resolve)
                        .filter(path -> Files.exists(path.resolve("cgroup.procs")))
                        .findFirst()
                        .orElseThrow();
        lab.daemon().kill();
        Path group = Files.createDirectory(cgroups.resolve("jnvdocker-0123456789ab"));
        try {
            Files.writeString(group.resolve("cgroup.procs"), String.valueOf(sleep.pid()));
            for (int start = 0; start < 2; start++) {
                lab.startDaemon();
                awaitStates("uuuu");
                Command.Result refused = gpuRun("--gpus", "device=0", "true").run();
                assertEquals(125, refused.exitCode());
                assertTrue(refused.err().contains("which has no lease on it"), refused::err);
                lab.daemon().kill();
            }
        } finally {
            sleep.destroyForcibly().waitFor();
            Lab.await(() -> group.toFile().delete() ? List.of() : List.of(group + " is used"));
            lab.startDaemon();
        }
        awaitStates("ffff");
    }

    @ParameterizedTest
    @CsvSource({"no-such-program, 127", "/etc/passwd, 126"})
    void whatCannotBeRunHoldsNothing(String program, int code) {
        Command.Result result = gpuRun("--gpus", "all", program).run();
        assertEquals(code, result.exitCode());
        assertTrue(
                result.err().startsWith("jnvdocker: cannot run '" + program + "': "), result::err);
        awaitStates("ffff");
    }

    @Test
    void cudaVisibleDevicesDoesNotChooseAndIsSaidNotTo() {
        Command.Result said =
                lab.daemon()
                        .jnvdocker("gpu", "run", "printenv", "CUDA_VISIBLE_DEVICES")
                        .with("CUDA_VISIBLE_DEVICES", "3")
                        .run()
                        .ok();
        assertEquals(
                "jnvdocker: CUDA_VISIBLE_DEVICES=3 does not choose GPUs here, and is replaced;"
                        + " choose them with --gpus device=3\n",
                said.err());
        assertEquals("GPU-5c1a0000", said.out().substring(0, 12));
        Command.Result chosen =
                lab.daemon()
                        .jnvdocker("gpu", "run", "--gpus", "1", "true")
                        .with("CUDA_VISIBLE_DEVICES", "3")
                        .run()
                        .ok();
        assertEquals("", chosen.err());
    }

    @Test
    void optionsBehindTheProgramAreItsOwn() {
        assertEquals("--gpus 9\n", gpuRun("--gpus", "1", "echo", "--gpus", "9").run().ok().out());
        assertEquals("5m\n", gpuRun("--gpu-wait", "echo", "5m").run().ok().out());
        assertEquals("-x\n", gpuRun("--", "echo", "-x").run().ok().out());
    }

    @Test
    void durationInPlaceOfTheProgramIsNamed() {
        Command.Result result = gpuRun("--gpu-wait", "5m", "true").run();
        assertEquals(2, result.exitCode());
        assertEquals(
                "jnvdocker: '5m' after --gpu-wait would be no part of it; type --gpu-wait=5m to"
                        + " wait that long; see 'jnvdocker gpu run --help'\n",
                result.err());
        assertEquals(127, gpuRun("--gpu-wait", "--", "5m").run().exitCode());
        assertEquals(0, gpuRun("--gpu-wait=5m", "true").run().exitCode());
    }

    @Test
    void noDockerIsNeededForIt() {
        Command.Result result =
                gpuRun("/bin/echo", "done").with("PATH", directory.resolve("nowhere")).run();
        assertEquals("done\n", result.ok().out());
        lab.daemon().jnvdocker("gpu", "ls").with("PATH", directory.resolve("nowhere")).run().ok();
    }

    @Test
    void whichGpusIsSaidAsForContainers() {
        String one = gpuRun("printenv", "CUDA_VISIBLE_DEVICES").run().ok().out();
        assertFalse(one.contains(","), one);
        assertEquals(
                UUID_OF_1 + "\n",
                gpuRun("printenv", "CUDA_VISIBLE_DEVICES").with("NV_GPU", "1").run().ok().out());
        assertEquals(
                "\n", gpuRun("--gpus", "none", "printenv", "CUDA_VISIBLE_DEVICES").run().out());
        Command.Result unknown = gpuRun("--gpus", "device=9", "true").run();
        assertEquals(125, unknown.exitCode());
        assertTrue(unknown.err().startsWith("jnvdocker: invalid device: 9; "), unknown::err);
        assertEquals(2, gpuRun().run().exitCode());
        assertEquals(2, gpuRun("--badopt", "true").run().exitCode());
    }
}
