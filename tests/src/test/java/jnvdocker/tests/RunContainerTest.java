package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.SocketRelay;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The main function, with real driver files and a real engine. */
@Tag("docker")
@Tag("root")
class RunContainerTest {
    private static TestEngine engine;
    private static DriverRoot host;
    private static TestDaemon daemon;

    /** Most other tests have the driver before, in its installer's layout. */
    @BeforeAll
    static void start() {
        engine = new TestEngine();
        host = DriverRoot.make(DriverRoot.Release.DRIVER_550_DEBIAN);
        daemon = new TestDaemon(engine, host);
        daemon.jnvdocker("gpu", "ls").run().ok();
        engine.image(
                "cuda",
                "--label",
                "com.nvidia.volumes.needed=nvidia_driver",
                "--label",
                "com.nvidia.cuda.version=11.0");
        engine.image("modern", "--env", "NVIDIA_VISIBLE_DEVICES=all");
        engine.image("driver", "--small", "--env", "NVIDIA_VISIBLE_DEVICES=none");
        engine.image("plain");
    }

    @AfterAll
    static void stop() {
        daemon.close();
        engine.close();
        host.close();
    }

    @AfterEach
    void noContainerIsLeft() {
        engine.removeContainers();
    }

    private Command.Result run(Object... arguments) {
        return jnvdocker(arguments).run();
    }

    private Command jnvdocker(Object... arguments) {
        List<Object> words = new ArrayList<>(List.of("run", "--rm"));
        words.addAll(List.of(arguments));
        return daemon.jnvdocker(words.toArray());
    }

    private static final String NODES = "ls -d /dev/nvidia*";

    @Test
    void realNvidiaSmiRunsOutOfTheVolumeAndLoadsTheRealLibrary() {
        assertEquals(
                "/usr/local/nvidia/bin/nvidia-smi\n",
                run("cuda", "sh", "-c", "command -v nvidia-smi").ok().out());
        Command.Result smi = run("-e", "LD_DEBUG=files", "cuda", "nvidia-smi");
        assertTrue(
                smi.out().contains("couldn't communicate with the NVIDIA driver"), smi::toString);
        assertTrue(
                smi.err().contains("calling init: /usr/local/nvidia/lib64/libnvidia-ml.so.1"),
                smi::toString);
    }

    @Test
    void libcudaLoads() {
        assertEquals("ok libcuda.so.1\n", run("cuda", "dlopen", "libcuda.so.1").ok().out());
    }

    @Test
    void everyLinkInTheVolumeLeadsToAFileInIt() {
        String script =
                "find /usr/local/nvidia -type l | while read l; do"
                        + " t=$(readlink -e \"$l\") || t=nowhere;"
                        + " case $t in /usr/local/nvidia/*) ;; *) echo \"$l -> $t\" ;; esac; done";
        assertEquals("", run("cuda", "sh", "-c", script).ok().out());
        String count = run("cuda", "sh", "-c", "find /usr/local/nvidia -type l | wc -l").ok().out();
        assertTrue(Integer.parseInt(count.strip()) > 20, count);
    }

    @Test
    void driverVolumeIsReadOnly() {
        Command.Result touch = run("cuda", "touch", "/usr/local/nvidia/bin/x");
        assertTrue(touch.err().contains("Read-only file system"), touch::toString);
    }

    @Test
    void imageThatAsksForGpusGetsAll() {
        String all =
                """
                /dev/nvidia-uvm
                /dev/nvidia-uvm-tools
                /dev/nvidia0
                /dev/nvidia1
                /dev/nvidia2
                /dev/nvidia3
                /dev/nvidiactl
                """;
        assertEquals(all, run("cuda", "sh", "-c", NODES).ok().out());
        assertEquals(all, run("modern", "sh", "-c", NODES).ok().out());
    }

    @Test
    void nvGpuGivesThatGpuAndNoOther() {
        String script =
                "tryopen /dev/nvidia1; ls -d /dev/nvidia[0-9]*;"
                        + " mknod /dev/nvidia0 c 195 0 && tryopen /dev/nvidia0; true";
        Command.Result result = jnvdocker("cuda", "sh", "-c", script).with("NV_GPU", "1").run();
        // GPU 1's node exists without a driver behind it; the cgroup denies access to GPU 0.
        assertEquals("ENXIO\n/dev/nvidia1\nEPERM\n", result.ok().out());
    }

    @Test
    void gpusOptionChoosesForAnyImageAndWinsOverTheVariable() {
        assertEquals(
                "/dev/nvidia2\n",
                jnvdocker("--gpus", "device=2", "plain", "sh", "-c", "ls /dev/nvidia[0-9]*")
                        .with("NV_GPU", "1")
                        .run()
                        .ok()
                        .out());
        assertEquals(
                "/dev/nvidia0\n/dev/nvidia3\n",
                run("--gpus", "\"device=3,0\"", "plain", "sh", "-c", "ls /dev/nvidia[0-9]*")
                        .ok()
                        .out());
        assertEquals(
                2,
                run("--gpus=2", "plain", "sh", "-c", "ls /dev/nvidia[0-9]*")
                        .ok()
                        .out()
                        .lines()
                        .count());
    }

    @Test
    void gpuThatIsNamedInTwoOptionsIsGivenOnce() {
        // Only created, since this machine has no such node.
        String id =
                daemon.jnvdocker("create", "--gpus", "device=0", "--device", "/dev/nvidia0", "cuda")
                        .run()
                        .ok()
                        .out()
                        .strip();
        String nodes = "{{range .HostConfig.Devices}}{{.PathInContainer}} {{end}}";
        assertEquals(
                "/dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidiactl",
                Stream.of(
                                engine.docker("inspect", "--format", nodes, id)
                                        .run()
                                        .ok()
                                        .out()
                                        .strip()
                                        .split(" "))
                        .sorted()
                        .collect(Collectors.joining(" ")));
    }

    @Test
    void noneGivesTheDriverAndNoGpu() {
        String driver = "/dev/nvidia-uvm\n/dev/nvidia-uvm-tools\n/dev/nvidiactl\n";
        assertEquals(driver, run("--gpus", "none", "cuda", "sh", "-c", NODES).ok().out());
        assertEquals(driver, run("driver", "sh", "-c", NODES).ok().out());
        assertEquals(
                "ok libcuda.so.1\n",
                jnvdocker("cuda", "dlopen", "libcuda.so.1")
                        .with("NV_GPU", "none")
                        .run()
                        .ok()
                        .out());
    }

    @Test
    void deviceOptionAsksForItsGpuWithEverythingElse() {
        // Checked by docker's arguments alone: our own /dev lacks the simulated host's node.
        Command.Result result =
                jnvdocker("--device", "/dev/nvidia2", "plain")
                        .with("NV_DOCKER", Project.fixture("bin/docker"))
                        .run()
                        .ok();
        assertTrue(result.out().contains("argument=/dev/nvidia2\n"), result::toString);
        assertTrue(result.out().contains("/dev/nvidiactl:/dev/nvidiactl:rw\n"), result::toString);
        assertFalse(result.out().contains("dev/nvidia2:/dev/nvidia2"), result::toString);
        assertTrue(result.out().contains("volume-driver=nvidia-docker"), result::toString);
    }

    @Test
    void gpusOfBothOptionsAreRequested() {
        Command.Result result =
                jnvdocker("--gpus", "device=0", "--device", "/dev/nvidia2", "plain")
                        .with("NV_DOCKER", Project.fixture("bin/docker"))
                        .run()
                        .ok();
        assertTrue(result.out().contains("dev/nvidia0:/dev/nvidia0:rw\n"), result::toString);
        String leases = daemon.jnvdocker("gpu", "leases", "--all").run().ok().out();
        assertTrue(leases.contains(" 0,2 "), leases);
        Command.Result refused = run("--gpus=1", "--device=/dev/nvidia2", "plain", "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertEquals(
                "jnvdocker: --gpus=1 and a --device that names a GPU's node cannot be combined;"
                        + " name all GPUs in one of them, as --gpus '\"device=0,1\"'\n",
                refused.err());
    }

    @Test
    void imageThatAsksForNothingIsUntouched() {
        Command.Result result =
                jnvdocker("plain", "sh", "-c", NODES + " /usr/local/nvidia; env")
                        .with("NV_GPU", "1")
                        .run();
        assertFalse(result.out().contains("nvidia"), result::toString);
        assertEquals(
                "jnvdocker: NV_GPU is not used: the image plain needs no GPU; request one with"
                        + " --gpus",
                result.err().lines().findFirst().orElse(""));
    }

    @Test
    void newerCudaIsRefusedInTheWordsOfNvidiaDocker() {
        engine.image(
                "future",
                "--label",
                "com.nvidia.volumes.needed=nvidia_driver",
                "--label",
                "com.nvidia.cuda.version=99.0");
        Command.Result result = run("future", "true");
        assertEquals(125, result.exitCode());
        assertTrue(
                result.err()
                        .startsWith(
                                "jnvdocker: unsupported CUDA version: driver 12.4 < image 99.0"),
                result::toString);
        assertEquals("", engine.docker("ps", "-aq").run().ok().out());
        run("-e", "NVIDIA_DISABLE_REQUIRE=1", "future", "true").ok();
    }

    @Test
    void searchPathsAreCompletedOnlyWhereTheImageLacksThem() {
        engine.image(
                "paths",
                "--env",
                "NVIDIA_VISIBLE_DEVICES=all",
                "--env",
                "PATH=/usr/local/nvidia/bin:/usr/bin:/bin",
                "--env",
                "LD_LIBRARY_PATH=/opt/lib");
        assertEquals(
                "/usr/local/nvidia/bin:/usr/bin:/bin"
                        + " /opt/lib:/usr/local/nvidia/lib:/usr/local/nvidia/lib64\n",
                run("paths", "sh", "-c", "echo $PATH $LD_LIBRARY_PATH").ok().out());
        assertEquals(
                "/mine\n",
                run("-e", "LD_LIBRARY_PATH=/mine", "paths", "sh", "-c", "echo $LD_LIBRARY_PATH")
                        .ok()
                        .out());
    }

    @Test
    void envFileOfTheUserCounts() throws Exception {
        var file = daemon.state().resolve("variables");
        Files.writeString(file, "# mine\nLD_LIBRARY_PATH=/from/file\n");
        assertEquals(
                "/from/file\n",
                run("--env-file", file, "cuda", "sh", "-c", "echo $LD_LIBRARY_PATH").ok().out());
    }

    @Test
    void privilegedContainerWithGpusIsRefused() {
        Command.Result result = run("--privileged", "cuda", "true");
        assertEquals(125, result.exitCode());
        assertTrue(result.err().contains("allow_privileged = true"), result::toString);
        // Only created, since some test machines cannot run a container with all rights.
        daemon.jnvdocker("create", "--privileged", "plain", "true").run().ok();
        daemon.jnvdocker("create", "--privileged", "--gpus=none", "plain", "true").run().ok();
        String none = "--env=NVIDIA_VISIBLE_DEVICES=none";
        daemon.jnvdocker("create", "--privileged", none, "cuda", "true").run().ok();
    }

    @Test
    void engineOnAnotherMachineIsRefusedGpusAndNothingElse() {
        var loopback = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (SocketRelay relay = new SocketRelay(loopback, engine.socket())) {
            String url = "tcp:/" + relay.address();
            for (String image : List.of("cuda", "modern")) {
                Command.Result result = daemon.jnvdocker("-H", url, "run", image).run();
                assertEquals(125, result.exitCode(), result::toString);
                assertTrue(
                        result.err().startsWith("jnvdocker: the engine at " + url + " is on"),
                        result::toString);
            }
            assertEquals(
                    125,
                    daemon.jnvdocker("-H", url, "run", "--gpus", "1", "plain").run().exitCode());
            daemon.jnvdocker("-H", url, "run", "--rm", "plain", "true").run().ok();
        }
    }

    @Test
    void standardInputReachesTheContainer() {
        assertEquals("typed\n", jnvdocker("-i", "cuda", "cat").input("typed\n").run().ok().out());
    }

    @Test
    void exitCodeIsTheContainers() {
        assertEquals(42, run("cuda", "sh", "-c", "exit 42").exitCode());
        assertEquals(127, run("cuda", "no-such-program").exitCode());
        assertEquals(126, run("cuda", "/etc/passwd").exitCode());
    }

    @Test
    void terminalIsTheContainersToo() {
        String client = Project.tree().resolve("bin/jnvdocker").toString();
        Command.Result result =
                Command.of(
                                "script",
                                "-qec",
                                "stty rows 33 cols 77; "
                                        + client
                                        + " run --rm -it cuda sh -c 'tty; while [ \"$(stty size)\""
                                        + " = \"0 0\" ]; do sleep 0.1; done; stty size'",
                                "/dev/null")
                        .with(daemon.environment())
                        .run();
        assertTrue(result.out().contains("/dev/pts/0\r\n"), result::toString);
        assertTrue(result.out().contains("33 77\r\n"), result::toString);
    }

    @Test
    void signalReachesTheContainer() throws Exception {
        Process process =
                jnvdocker(
                                "cuda",
                                "sh",
                                "-c",
                                "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep"
                                        + " 0.1; done")
                        .start();
        assertEquals("ready", process.inputReader().readLine());
        // Not destroy(), which would close the pipes too.
        Command.of("kill", "-TERM", process.pid()).run().ok();
        assertEquals("caught", process.inputReader().readLine());
        assertEquals(7, process.waitFor());
    }

    @Test
    void namesThatAreNoImagesAreDockersToRefuse() {
        for (String image : List.of("UPPER", "a b", "a?b", "sha256:" + "0".repeat(64))) {
            Command.Result ours = run(image, "true");
            Command.Result dockers = engine.docker("run", "--rm", image, "true").run();
            assertEquals(dockers, ours, image);
        }
        assertEquals(1, daemon.jnvdocker("create", "localhost:1/no/such").run().exitCode());
        assertEquals(
                engine.docker("run", "--pull=", "no-such").run(),
                daemon.jnvdocker("run", "--pull=", "no-such").run());
    }

    @Test
    void wrongImageOfOneUserDoesNotDisturbTheOthers() {
        var wrong =
                CompletableFuture.runAsync(() -> {
                    for (int i = 0; i < 20; i++) {
                        daemon.jnvdocker("run", "UPPER").run();
                    }
                });
        var right =
                Stream.generate(() -> daemon.jnvdocker("create", "--gpus", "1", "plain"))
                        .limit(20)
                        .map(client -> CompletableFuture.supplyAsync(client::run))
                        .toList();
        right.forEach(result -> result.join().ok());
        wrong.join();
    }

    @Test
    void callerWhoIgnoresItsChildrenIsServed() throws Exception {
        var file = Files.writeString(daemon.state().resolve("empty"), "");
        String client = Project.tree().resolve("bin/jnvdocker").toString();
        Command.of(
                        "bash",
                        "-c",
                        "trap '' CHLD; exec "
                                + client
                                + " run --rm --env-file "
                                + file
                                + " cuda true")
                .with(daemon.environment())
                .run()
                .ok();
    }

    @Test
    void unreadableEnvFileIsReportedByDockerAlone() {
        Command.Result refused = run("--env-file", "/proc/self/mem", "cuda", "true");
        assertEquals(125, refused.exitCode());
        assertFalse(refused.err().contains("cat: "), refused::err);
    }

    @Test
    void nameAloneInAnEnvFileChangesNothing() throws Exception {
        var file = Files.writeString(daemon.state().resolve("names"), "LD_LIBRARY_PATH\n");
        assertEquals(
                "/usr/local/nvidia/lib:/usr/local/nvidia/lib64\n",
                run("--env-file", file, "cuda", "sh", "-c", "echo $LD_LIBRARY_PATH").ok().out());
    }

    @Test
    void createdContainerStartsWithItsGpus() {
        String id =
                daemon.jnvdocker("create", "--gpus", "device=1", "plain", "sh", "-c", NODES)
                        .run()
                        .ok()
                        .out()
                        .strip();
        Command.Result result = engine.docker("start", "-a", id).run().ok();
        assertTrue(result.out().contains("/dev/nvidia1\n"), result::toString);
        assertFalse(result.out().contains("/dev/nvidia0\n"), result::toString);
    }

    @Test
    void missingNodeIsMadeAsTheDriverWantsIt() throws Exception {
        Files.delete(host.directory().resolve("dev/nvidia3"));
        Files.delete(host.directory().resolve("dev/nvidia-uvm-tools"));
        assertTrue(run("cuda", "sh", "-c", NODES).ok().out().contains("/dev/nvidia3\n"));
        assertEquals(
                "666 195:3\n",
                Command.of("stat", "-c", "%a %Hr:%Lr", host.directory().resolve("dev/nvidia3"))
                        .run()
                        .ok()
                        .out());
    }

    @Test
    void containerKeepsItsVolumeAcrossARestartOfTheDaemon() {
        String id = daemon.jnvdocker("run", "-d", "cuda", "sleep", "60").run().ok().out().strip();
        daemon.stop();
        assertEquals(
                "ok libcuda.so.1\n",
                engine.docker("exec", id, "dlopen", "libcuda.so.1").run().ok().out());
        daemon.jnvdocker("gpu", "ls").run().ok();
        engine.docker("rm", "-f", id).run().ok();
    }

    /** A command of nvidia-docker 1.0's first releases. */
    @Test
    void volumeSetupMakesTheDriverVolume() {
        String volume = "nvidia_driver_" + host.version();
        for (int i = 0; i < 2; i++) {
            assertEquals(volume + "\n", daemon.jnvdocker("volume", "setup").run().ok().out());
        }
        assertEquals(
                "nvidia-docker\n",
                engine.docker("volume", "inspect", "--format", "{{.Driver}}", volume)
                        .run()
                        .ok()
                        .out());
        assertTrue(daemon.jnvdocker("volume", "setup", "more").run().exitCode() != 0);
    }
}
