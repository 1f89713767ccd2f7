package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Containers of any client of the engine, with our OCI runtime: the tests use plain docker, like
 * compose and all others would.
 */
@Attack(
        by = "a member",
        what =
                "names a graphics node of another's GPU (`--device /dev/dri/renderD130`, a"
                        + " rule), or the directory `/dev/dri`",
        result =
                "leased, or refused while another holds it; of the directory, the nodes of other"
                        + " GPUs are left out")
@Attack(
        by = "a container that may open every device, also `--privileged`",
        what = "opens GPUs without a lease, with our OCI runtime; systemd reloads",
        result = "it starts, opens no GPU, and keeps its other devices")
class RuntimeContainersTest extends RuntimeEngineTest {
    private static final String NODES =
            "ls /dev | grep nvidia | tr '\\n' ' '; for n in 0 1 2 3; do"
                    + " [ -e /dev/nvidia$n ] || mknod /dev/nvidia$n c 195 $n;"
                    + " echo $n $(tryopen /dev/nvidia$n); done";

    @BeforeAll
    static void makeImages() throws IOException {
        lab.host().graphics(4);
        lab.engine().image("cuda", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=all");
        lab.engine()
                .image(
                        "forged",
                        "--small",
                        "--label",
                        "jnvdocker.gpus=all",
                        "--label",
                        "jnvdocker.claim=0123456789ab",
                        "--label",
                        "jnvdocker.owner=root",
                        "--label",
                        "jnvdocker.time=1h",
                        "--env",
                        "JNVDOCKER_GPUS=all",
                        "--env",
                        "DOCKER_RESOURCE_GPU=4",
                        "--env",
                        "NVIDIA_VISIBLE_DEVICES=void");
    }

    @AfterEach
    void daemonIsAsBefore() {
        lab.daemon().config("");
        lab.startDaemon();
    }

    private static Command.Result run(Object... words) {
        List<Object> all = new ArrayList<>(List.of("run", "--rm", "--runtime", "nvidia"));
        all.addAll(Arrays.asList(words));
        return lab.docker(all.toArray());
    }

    /**
     * Asserts that the container can open its own GPUs, and not the others by nodes that it makes.
     */
    private static void assertOpensItsOwn(String container) {
        String out = lab.docker("exec", container, "sh", "-c", NODES).ok().out();
        for (int gpu = 0; gpu < 4; gpu++) {
            boolean own = gpus(container).contains(gpu);
            assertTrue(out.contains(gpu + (own ? " ENXIO" : " EPERM")), out);
        }
    }

    /** Counts the GPUs that it could open. */
    private static long opened(String out) {
        return out.lines().filter(line -> line.endsWith(" ENXIO")).count();
    }

    private static Set<Integer> gpus(String container) {
        Set<Integer> gpus = new TreeSet<>();
        lab.registry()
                .holders()
                .forEach((gpu, holder) -> {
                    if (holder.equals(container)) {
                        gpus.add(gpu);
                    }
                });
        return gpus;
    }

    /** Waits until these containers, and no others, hold these numbers of GPUs. */
    private static void awaitNumbers(Map<String, Integer> numbers) {
        Lab.await(() -> {
            Map<String, Integer> now = new TreeMap<>();
            lab.registry().holders().values().forEach(name -> now.merge(name, 1, Integer::sum));
            return now.equals(new TreeMap<>(numbers))
                    ? List.of()
                    : List.of("should be " + numbers + " and are " + now);
        });
    }

    @Test
    void containerFindsItsGpuTheDriverAndItsLease() {
        String out =
                run(
                                "-e",
                                "NVIDIA_VISIBLE_DEVICES=1",
                                "plain",
                                "sh",
                                "-c",
                                NODES
                                        + "; env; cat /run/jnvdocker/lease.json;"
                                        + " ls /usr/local/nvidia/bin; touch /usr/local/nvidia/x")
                        .out();
        assertTrue(out.startsWith("nvidia-uvm nvidia-uvm-tools nvidia1 nvidiactl "), out);
        assertTrue(out.contains("0 EPERM\n1 ENXIO\n2 EPERM\n3 EPERM\n"), out);
        assertTrue(out.contains("NVIDIA_VISIBLE_DEVICES=GPU-5c1a1003"), out);
        assertTrue(out.contains(":/usr/local/nvidia/bin\n"), out);
        assertTrue(out.contains("LD_LIBRARY_PATH=/usr/local/nvidia/lib:"), out);
        assertTrue(out.contains("\"index\" : 1"), out);
        assertTrue(out.contains("nvidia-smi\n"), out);
    }

    @Test
    void pausedContainerKeepsItsGpuAndIsShownAsPaused() {
        start("one", "--label", "jnvdocker.gpus=1").ok();
        awaitNumbers(Map.of("one", 1));
        lab.docker("pause", "one").ok();
        Lab.await(() -> isPaused() ? List.of() : List.of("not paused"));
        awaitNumbers(Map.of("one", 1));
        lab.docker("unpause", "one").ok();
        Lab.await(() -> isPaused() ? List.of("paused") : List.of());
    }

    private static boolean isPaused() {
        return lab.jnvdocker("gpu", "ls").ok().out().lines().anyMatch(it -> it.endsWith("paused"));
    }

    @Test
    void countsAreOfFreeOnesAndTheThirdIsRefusedByName() {
        start("one", "--label", "jnvdocker.gpus=2").ok();
        start("two", "-e", "JNVDOCKER_GPUS=2").ok();
        awaitNumbers(Map.of("one", 2, "two", 2));
        assertRefused(
                run("--label", "jnvdocker.gpus=1", "plain", "true"),
                "held by somebody's container");
        lab.docker("stop", "two").ok();
        awaitNumbers(Map.of("one", 2));
        run("--label", "jnvdocker.gpus=2", "plain", "true").ok();
        awaitNumbers(Map.of("one", 2));
    }

    @Test
    void restartHasTheSameAndALaterStartAnotherWhereItIsTaken() {
        start("one", "--label", "jnvdocker.gpus=1").ok();
        assertOpensItsOwn("one");
        Set<Integer> first = gpus("one");
        lab.docker("restart", "one").ok();
        awaitNumbers(Map.of("one", 1));
        assertEquals(first, gpus("one"));
        lab.docker("stop", "one").ok();
        awaitNumbers(Map.of());
        start("two", "--label", "jnvdocker.gpus=device=" + first.iterator().next()).ok();
        lab.docker("start", "one").ok();
        awaitNumbers(Map.of("one", 1, "two", 1));
        assertEquals(first, gpus("two"));
        assertOpensItsOwn("one");
        assertOpensItsOwn("two");
        lab.docker("update", "--memory=100m", "--memory-swap=100m", "one").ok();
        assertOpensItsOwn("one");
    }

    @Test
    void commandsInItHaveWhatItHas() {
        start("one", "--label", "jnvdocker.gpus=1").ok();
        String out = lab.docker("exec", "one", "env").ok().out();
        assertTrue(out.contains(":/usr/local/nvidia/bin\n"), out);
        assertTrue(out.contains("NVIDIA_VISIBLE_DEVICES=GPU-5c1a"), out);
        out = lab.docker("exec", "-e", "LD_LIBRARY_PATH=/mine", "one", "env").ok().out();
        assertTrue(out.contains("LD_LIBRARY_PATH=/mine\n"), out);
        run("-d", "--name", "none", "-e", "NVIDIA_VISIBLE_DEVICES=none", "cuda", "sleep", "1000")
                .ok();
        out = lab.docker("exec", "none", "env").ok().out();
        assertTrue(out.contains("NVIDIA_VISIBLE_DEVICES=void\n"), out);
        Path edited = lab.daemon().socket().resolveSibling("runtime");
        assertEquals(2, edited.toFile().list().length);
        lab.docker("rm", "-f", "one", "none").ok();
        Lab.await(() -> List.of(edited.toFile().list()));
    }

    @Test
    void labelSaysHowLongTheGpuIsWantedIfTheUserHasSetIt() {
        start("one", "--label", "jnvdocker.gpus=device=0", "--label", "jnvdocker.time=2h").ok();
        assertEquals(Optional.of(Duration.ofHours(2)), lab.timeOf("one"));
        List<Object> forged =
                List.of(
                        "run",
                        "-d",
                        "--runtime=nvidia",
                        "--name=two",
                        "--stop-signal=KILL",
                        "--env=NVIDIA_VISIBLE_DEVICES=1",
                        "forged",
                        "sleep",
                        "1000");
        lab.docker(forged.toArray()).ok();
        assertEquals(Optional.empty(), lab.timeOf("two"));
        assertRefused(
                run("--label", "jnvdocker.gpus=1", "--label", "jnvdocker.time=soon", "plain"),
                "the label jnvdocker.time: 'soon' is not a duration; write one as in 90s, 30m or"
                        + " 1d12h");
    }

    @Test
    void imageThatForgesWhatUsersSayGetsNothingByIt() {
        String out = run("forged", "sh", "-c", "ls /dev; env").ok().out();
        assertTrue(!out.contains("nvidia"), out);
        assertTrue(out.contains("NVIDIA_VISIBLE_DEVICES=void"), out);
        assertEquals(Map.of(), lab.registry().holders());
    }

    /** In its own output, and in the daemon's log. */
    private static void assertSays(Command.Result container, String why) throws IOException {
        assertTrue(
                container.err().contains("jnvdocker: this container " + why), container::toString);
        assertTrue(Files.readString(lab.daemon().log()).contains("this container " + why), why);
    }

    @Test
    void containerThatGetsNoneOfWhatItNamesSaysWhy() throws IOException {
        assertSays(
                run("--label", "jnvdocker.gpus=all", "forged", "true").ok(),
                "has no GPU: its label jnvdocker.gpus=all is taken as its image's; ");
        Path node = lab.host().directory().resolve("dev/nvidiactl");
        assertSays(
                run("--device", node + ":/dev/nvidiactl", "plain", "true").ok(),
                "does not get /dev/nvidiactl, ");
    }

    @Test
    void imageGetsWhatTheLabGivesUnasked() throws IOException {
        lab.configure("default_gpus = 1\n");
        assertEquals(1, opened(run("cuda", "sh", "-c", NODES).ok().out()));
        lab.configure("[runtime]\nimage_need = 'none'\n");
        assertEquals(0, opened(run("cuda", "sh", "-c", NODES).ok().out()));
        // Docker puts what its user sets before what the image sets, be it the same.
        Command.Result users =
                run("-e", "NVIDIA_VISIBLE_DEVICES=all", "cuda", "sh", "-c", NODES).ok();
        assertEquals(4, opened(users.out()));
        lab.configure("");
    }

    @Test
    void deadDaemonStopsContainersWithGpusAlone() {
        lab.daemon().kill();
        run("plain", "true").ok();
        assertRefused(run("cuda", "true"), "no jnvdockerd answers at " + lab.daemon().socket());
        start("kept").ok();
        lab.startDaemon();
        lab.docker("restart", "kept").ok();
    }

    @Test
    void explicitNodeIsLeasedOrRefused() {
        Path node = lab.host().directory().resolve("dev/nvidia2");
        start("one", "--device", node + ":/dev/nvidia2").ok();
        awaitNumbers(Map.of("one", 1));
        assertEquals(Set.of(2), gpus("one"));
        assertOpensItsOwn("one");
        assertRefused(run("--device", node + ":/dev/own", "plain", "true"), "container one");
        assertRefused(
                run("--privileged", "-e", "NVIDIA_VISIBLE_DEVICES=1", "plain", "true"),
                "allow_privileged");
    }

    /** Who has a GPU's graphics node has the GPU. */
    @Test
    void graphicsNodeIsLeasedOrRefusedAndOfTheDirectoryTheOthersAreLeftOut() {
        Path dri = lab.host().directory().resolve("dev/dri");
        String open =
                "cd /dev/dri; for n in 0 1 2 128 129 130; do"
                        + " [ -e n$n ] || mknod n$n c 226 $n; echo $n $(tryopen n$n); done";
        start("one", "--device", dri + "/renderD130:/dev/dri/renderD130").ok();
        awaitNumbers(Map.of("one", 1));
        assertEquals(Set.of(1), gpus("one"));
        assertRefused(run("--device", dri + "/card2:/dev/own", "plain", "true"), "container one");
        assertRefused(run("--device-cgroup-rule", "c 226:2 r", "plain", "true"), "container one");
        for (String way :
                List.of("--device=" + dri + ":/dev/dri", "--device-cgroup-rule=c 226:* rmw")) {
            String out = run(way, "plain", "sh", "-c", "mkdir -p /dev/dri; " + open).ok().out();
            assertEquals("0 ENXIO\n1 EPERM\n2 EPERM\n128 ENXIO\n129 EPERM\n130 EPERM\n", out, way);
        }
        String own =
                run(
                                "--label=jnvdocker.gpus=device=0",
                                "--device=" + dri + ":/dev/dri",
                                "plain",
                                "sh",
                                "-c",
                                open)
                        .ok()
                        .out();
        assertEquals("0 ENXIO\n1 ENXIO\n2 EPERM\n128 ENXIO\n129 ENXIO\n130 EPERM\n", own);
    }

    /** A user who names one means it, and has no GPU by it. */
    @Test
    void nodesThatGiveNoGpuAreThoseThatAreNamedOrThatVariablesRequest() throws IOException {
        Path fs = lab.host().storage();
        String look =
                "ls /dev | grep nvidia-fs; tryopen /dev/nvidia-fs0; ls /dev | grep -c nvidia0;"
                        + " true";
        String named = "--device=" + fs + ":/dev/nvidia-fs0";
        assertEquals("nvidia-fs0\nENXIO\n0\n", run(named, "plain", "sh", "-c", look).ok().out());
        assertEquals(
                "nvidia-fs0\nENXIO\n1\n",
                run(named, "--gpus=device=0", "plain", "sh", "-c", look).ok().out());
        assertEquals(
                "nvidia-fs0\nENXIO\n1\n",
                run("--gpus=device=0", "-e", "NVIDIA_GDS=enabled", "plain", "sh", "-c", look)
                        .ok()
                        .out());
        assertEquals(
                "nvidia-fs0\nENXIO\n1\n",
                run(named, "--gpus=device=0", "-e", "NVIDIA_GDS=enabled", "plain", "sh", "-c", look)
                        .ok()
                        .out());
        String without = run("--gpus=device=0", "plain", "sh", "-c", look).ok().out();
        assertFalse(without.contains("nvidia-fs"), without);
    }

    /** It has no label, and its second name no event. */
    @Test
    void renamedContainerIsCalledSo() {
        start("one", "--network=none", "--label", "jnvdocker.gpus=1").ok();
        lab.docker("rename", "one", "two").ok();
        awaitNumbers(Map.of("two", 1));
        lab.daemon().kill();
        lab.docker("rename", "two", "three").ok();
        lab.startDaemon();
        awaitNumbers(Map.of("three", 1));
        assertRefused(run("--label", "jnvdocker.gpus=4", "plain", "true"), "container three");
    }

    /** A bind mount can put any directory into any container, without a lease. */
    @Test
    void directoryOfAnothersClaimIsNoPass() throws IOException {
        start("one", "--label", "jnvdocker.gpus=1").ok();
        awaitNumbers(Map.of("one", 1));
        String gpu = "/dev/nvidia" + gpus("one").iterator().next();
        String device = "--device=" + lab.host().directory().resolve(gpu.substring(1)) + ":" + gpu;
        Path claim =
                lab.daemon().state().resolve("claims/" + lab.registry().live().getFirst().claim());
        for (String mount :
                List.of(
                        "--volume=" + claim.resolve("mount") + ":/run/jnvdocker",
                        "--mount=type=bind,ro,dst=/x,src=" + claim.resolve("mount"),
                        "--volume=" + claim.getParent() + ":/x",
                        "--volumes-from=one")) {
            assertRefused(run(mount, device, "plain", "true"), "container one");
        }
        lab.docker(
                        "run",
                        "-d",
                        "--name=two",
                        "--stop-signal=KILL",
                        "--volume=" + claim.resolve("mount") + ":/x",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        lab.docker("stop", "one").ok();
        try {
            awaitNumbers(Map.of());
        } catch (AssertionError e) {
            throw new AssertionError(lab.jnvdocker("gpu", "why", "one").toString(), e);
        }
    }

    /** Which open everything to runc: --privileged, any rule of type a, one for all majors. */
    @Test
    void containerThatMayOpenEveryDeviceOpensNoGpu() {
        String other =
                "mknod /dev/other c 300 1; echo other $(tryopen /dev/other);"
                        + " mknod /dev/graphics c 226 129; echo graphics $(tryopen /dev/graphics); "
                        + NODES;
        assertTrue(run("plain", "sh", "-c", other).ok().out().contains("other EPERM\n"));
        List<String> options = new ArrayList<>();
        List.of("a 10:1 m", "a *:* m", "c *:* rwm", "c *:3 rw")
                .forEach(rule -> options.add("--device-cgroup-rule=" + rule));
        // Containers of the older engine need more rights than a test machine may have.
        if (TestEngine.Release.wanted() == TestEngine.Release.NEWEST) {
            options.add("--privileged");
        }
        for (String option : options) {
            String out = run(option, "plain", "sh", "-c", other).ok().out();
            assertEquals(0, out.lines().filter(it -> it.matches("[0-3] ENXIO")).count(), option);
            assertEquals(option.endsWith("3 rw"), out.contains("other EPERM\n"), option + out);
            assertFalse(out.contains("graphics ENXIO\n"), option + out);
        }
        assertRefused(
                run("--device-cgroup-rule=c 4294967491:0 rwm", "plain", "true"),
                "device rule 'c 4294967491:0 rwm' has a number that no device has");
    }

    /** Docker tries to start it once, when there is no daemon yet. */
    @Test
    void containerThatDockerCouldNotStartBeforeTheDaemonIsStarted() {
        start("one", "--label=jnvdocker.gpus=device=1", "--restart=unless-stopped").ok();
        awaitNumbers(Map.of("one", 1));
        lab.engine().stop();
        // Else it would have its GPU again, cordoned or not.
        lab.jnvdocker("gpu", "release", "--force", "--reason=test", "one").ok();
        lab.daemon().stop();
        lab.engine().start();
        assertEquals("exited", lab.inspect("one", "{{.State.Status}}"));
        lab.daemon().config("cordon = ['1']\n");
        lab.startDaemon();
        Lab.await(() -> {
            String found = lab.jnvdocker("gpu", "doctor").out();
            return found.contains("container one did not come back: GPU 1 ")
                    ? List.of()
                    : List.of(found);
        });
        lab.configure("");
        awaitNumbers(Map.of("one", 1));
    }

    /** Its policy tries again, whatever failed, when nobody has typed the start. */
    @Test
    void containerComesBackWhenTheDriverIsLoadedAfterTheEngine() {
        start("one", "--label=jnvdocker.gpus=device=1", "--restart=unless-stopped").ok();
        start("two", "--gpus=device=2", "--restart=always").ok();
        awaitHolders(Map.of(1, "one", 2, "two"));
        lab.host().unload();
        try {
            lab.engine().restart();
            String why = "jnvdocker: no NVIDIA driver is loaded";
            Lab.await(() -> {
                String log = lab.docker("logs", "one").err() + lab.docker("logs", "two").err();
                return log.split(why, -1).length > 2 ? List.of() : List.of(log);
            });
            awaitRefusal(why);
        } finally {
            lab.host().load();
        }
        awaitHolders(Map.of(1, "one", 2, "two"));
    }

    /** Until the engine has answered after its own start, any start may be that of a policy. */
    private static void awaitRefusal(String why) {
        Lab.await(() -> {
            Command.Result started = start("three", "--gpus=1", "--restart=always");
            if (started.exitCode() != 0) {
                assertRefused(started, why);
                return List.of();
            }
            lab.docker("rm", "-f", "three").ok();
            return List.of("it was started");
        });
    }

    @Test
    void restartPolicyTriesAgainWhileTheDriverIsAway() {
        start("one", "--label=jnvdocker.gpus=device=1", "--restart=always").ok();
        awaitHolders(Map.of(1, "one"));
        lab.host().unload();
        try {
            Command.of("kill", "-9", lab.inspect("one", "{{.State.Pid}}").strip()).run().ok();
            Lab.await(() -> {
                String log = lab.docker("logs", "one").err();
                return log.contains("no NVIDIA driver") ? List.of() : List.of("it runs");
            });
        } finally {
            lab.host().load();
        }
        awaitNumbers(Map.of("one", 1));
    }

    /** The policy does not retry after a refused create, and doubles its delay each time. */
    @Test
    void restartPolicyTriesAgainWhileItsGpuIsTaken() throws Exception {
        start("one", "--label=jnvdocker.gpus=device=0", "--restart=always").ok();
        Command two =
                lab.daemon()
                        .jnvdocker(
                                "run",
                                "-d",
                                "--gpu-wait=1m",
                                "--gpus=device=0",
                                "--name=two",
                                "--stop-signal=KILL",
                                "plain",
                                "sleep",
                                "1000");
        try (ExecutorService waiter = Executors.newSingleThreadExecutor()) {
            Future<Command.Result> served = waiter.submit(() -> two.run());
            Lab.await(() ->
                    lab.jnvdocker("gpu", "queue", "--json").ok().out().contains("\"pid\"")
                            ? List.of()
                            : List.of("nobody waits"));
            // Its restarts alone would keep the GPU.
            lab.jnvdocker("gpu", "release", "one", "--force", "--reason", "to see").ok();
            served.get().ok();
        }
        endFirstProcess("one");
        Lab.await(() ->
                logs("one").contains(" by root's container two")
                        ? List.of()
                        : List.of(logs("one")));
        assertEquals(Set.of(0), gpus("two"));
        lab.docker("rm", "-f", "two").ok();
        awaitNumbers(Map.of("one", 1));
        assertOpensItsOwn("one");
    }

    private static void endFirstProcess(String container) {
        long pid = Long.parseLong(lab.inspect(container, "{{.State.Pid}}"));
        if (pid > 0) {
            ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
        }
    }

    /** Returns the container's own output and the reason of its refusal. */
    private static String logs(String container) {
        Command.Result logs = lab.docker("logs", container).ok();
        return logs.out() + logs.err();
    }

    @Test
    void graphicsNeedMoreOfTheDriver() {
        String out =
                run(
                                "--label",
                                "jnvdocker.gpus=1",
                                "-e",
                                "NVIDIA_DRIVER_CAPABILITIES=graphics",
                                "plain",
                                "sh",
                                "-c",
                                "ls /dev; cat /etc/vulkan/icd.d/nvidia_icd.json")
                        .ok()
                        .out();
        assertTrue(out.contains("libGLX_nvidia.so.0"), out);
    }

    @Test
    void jnvdockerRunUsesItWithItsUser() {
        lab.run("train", 1);
        awaitNumbers(Map.of("train", 1));
        assertEquals("nvidia", lab.inspect("train", "{{.HostConfig.Runtime}}"));
        assertEquals("[]", lab.inspect("train", "{{.HostConfig.Devices}}"));
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*HELD +root +train .*"), table);
        lab.docker("stop", "train").ok();
        awaitNumbers(Map.of());
        lab.docker("start", "train").ok();
        awaitNumbers(Map.of("train", 1));
        assertTrue(lab.jnvdocker("gpu", "ls").ok().out().matches("(?s).*HELD +root +train .*"));
    }

    /** The runtime knows nothing of the job. */
    @Test
    void jnvdockerRunInASlurmJobGivesItTheJobsGpus() {
        lab.daemon()
                .jnvdocker("run", "-d", "--name=job", "--gpus=all", "plain", "sleep", "1000")
                .with("SLURM_JOB_GPUS", "1,3")
                .run()
                .ok();
        awaitNumbers(Map.of("job", 2));
        assertEquals(Map.of(1, "job", 3, "job"), lab.registry().holders());
    }

    /** Docker does not know that such a container uses it. */
    @Test
    void driverVolumeStaysAsLongAsAContainerHasIt() {
        start("train", "--gpus", "device=1").ok();
        String volume = "nvidia_driver_" + lab.host().version();
        Command.Result refused = lab.docker("volume", "rm", volume);
        assertEquals(1, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains(volume + " may be mounted in "), refused::toString);
        assertTrue(refused.err().contains("container train"), refused::toString);
        String library = "/usr/local/nvidia/lib64/libcuda.so.1";
        lab.docker("exec", "train", "test", "-e", library).ok();
        lab.docker("kill", "train").ok();
        lab.awaitHolders(Map.of());
        lab.docker("volume", "rm", volume).ok();
    }
}
