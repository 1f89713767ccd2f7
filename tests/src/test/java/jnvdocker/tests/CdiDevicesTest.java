package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Podman;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Containers of plain runc get exactly the GPUs that {@code --device} names, or do not start. */
@Tag("docker")
@Tag("root")
class CdiDevicesTest {
    private static final String OPENS = "cat /dev/nvidia1 2>&1; cat /dev/nvidia2 2>&1; true";

    private static Lab lab;
    private static RuntimeInstallation runtime;
    private static Path directory;
    private static Path pods;

    @BeforeAll
    static void open() throws IOException {
        lab = new Lab(TestEngine.Release.NEWEST);
        directory = Directories.make("cdi");
        install().ok();
        runtime = RuntimeInstallation.planned(lab);
        runtime.install("--no-default").ok();
        pods = Files.createDirectory(directory.resolve("pods"));
        lab.daemon().stop();
        lab.daemon().with("JNVDOCKER_CDI_DIR", pods);
        lab.daemon()
                .config(
                        "[kubernetes]\nenabled = true\nkubelet_dir = \""
                                + directory.resolve("k")
                                + "\"\n");
        lab.startDaemon();
        lab.engine().restart("--cdi-spec-dir=" + directory, "--cdi-spec-dir=" + pods);
    }

    @AfterAll
    static void close() {
        lab.close();
        runtime.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nothingIsLeft() {
        lab.engine().removeContainers();
        awaitHolders(Map.of());
    }

    private static Command.Result install() {
        return lab.jnvdocker(
                "runtime",
                "install",
                "--engine=cdi",
                "--config",
                file(),
                "--runtime-dir",
                directory.resolve("program"));
    }

    private static Path file() {
        return directory.resolve("jnvdocker.json");
    }

    private static void awaitHolders(Map<Integer, String> holders) {
        Lab.await(() ->
                lab.registry().holders().equals(holders)
                        ? List.of()
                        : List.of("should be " + holders + ": " + lab.registry().holders()));
    }

    private static Command.Result start(String name, String device, Object... more) {
        List<Object> words =
                new ArrayList<>(
                        List.of(
                                "run",
                                "-d",
                                "--name=" + name,
                                "--network=none",
                                "--stop-signal=KILL",
                                "--device="
                                        + (device.contains("=")
                                                ? device
                                                : "jnvdocker/gpu=" + device)));
        words.addAll(Arrays.asList(more));
        words.addAll(List.of("plain", "sleep", "1000"));
        return lab.docker(words.toArray());
    }

    @Test
    void dockersContainerHasTheGpuThatItNamesAndTheDriver() {
        start("one", "1").ok();
        awaitHolders(Map.of(1, "one"));
        String opened = lab.docker("exec", "one", "sh", "-c", OPENS).ok().out();
        assertEquals(
                "cat: can't open '/dev/nvidia1': No such device or address\n"
                        + "cat: can't open '/dev/nvidia2': No such file or directory\n",
                opened);
        lab.docker("exec", "one", "test", "-x", "/usr/local/nvidia/bin/nvidia-smi").ok();
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertFalse(table.contains("used by"), table);
        Command.Result second = start("two", "1");
        assertTrue(second.exitCode() != 0, second::toString);
        assertTrue(
                second.err().contains("jnvdocker: GPU 1 (GPU-5c1a1003) is held by"),
                second::toString);
        String mount =
                lab.daemon().state()
                        + "/claims/"
                        + lab.registry().live().getFirst().claim()
                        + "/mount";
        Command.Result third = start("three", "1", "--volume=" + mount + ":/x");
        assertTrue(third.err().contains("is held by"), third::toString);
        start("all", "0", "--device=jnvdocker/gpu=3").ok();
        awaitHolders(Map.of(0, "all", 1, "one", 3, "all"));
    }

    @Test
    void eachStartHasALeaseOfItsOwn() {
        start("one", "2").ok();
        lab.docker("restart", "one").ok();
        awaitHolders(Map.of(2, "one"));
        lab.docker("stop", "one").ok();
        awaitHolders(Map.of());
        start("two", "2").ok();
        Command.Result back = lab.docker("start", "one");
        assertTrue(back.exitCode() != 0 && back.err().contains("container two"), back::toString);
    }

    /** As users of NVIDIA's toolkit name them, and podman's {@code --gpus}. */
    @Test
    void devicesHaveNvidiasNamesToo() {
        for (String runtime : List.of("--runtime=runc", "--runtime=nvidia")) {
            start("one", "nvidia.com/gpu=1", runtime).ok();
            awaitHolders(Map.of(1, "one"));
            String table = lab.jnvdocker("gpu", "ls").ok().out();
            assertFalse(table.contains("used by"), table);
            Command.Result second = start("two", "nvidia.com/gpu=1", "--runtime=runc");
            assertTrue(second.err().contains("is held by"), second::toString);
            lab.engine().removeContainers();
            awaitHolders(Map.of());
        }
        start("all", "nvidia.com/gpu=all").ok();
        awaitHolders(Map.of(0, "all", 1, "all", 2, "all", 3, "all"));
    }

    @Test
    void withOurRuntimeItIsOneLease() {
        start("one", "3", "--runtime=nvidia").ok();
        awaitHolders(Map.of(3, "one"));
        assertEquals(1, lab.registry().live().size());
        String mounts = lab.docker("exec", "one", "cat", "/proc/mounts").ok().out();
        assertEquals(2, mounts.split(" /usr/local/nvidia | /run/jnvdocker ").length - 1, mounts);
        String variables = lab.docker("exec", "one", "env").ok().out();
        assertTrue(variables.contains("LD_LIBRARY_PATH=/usr/local/nvidia/lib:"), variables);
    }

    /** They are for kubelets, whose pods have leases: here nobody has taken one. */
    @Test
    void deviceOfPodsIsSeenWithPlainRuncAndLeasedByOurRuntime() {
        String uuid = uuid(2);
        Lab.await(() ->
                Files.exists(pods.resolve("jnvdocker-pods.json"))
                        ? List.of()
                        : List.of("there is no file yet"));
        lab.docker(
                        "run",
                        "-d",
                        "--name=bypass",
                        "--network=none",
                        "--stop-signal=KILL",
                        "--device=pod.jnvdocker/gpu=" + uuid,
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        Command.Result why = lab.jnvdocker("gpu", "why", "2");
        assertTrue(why.out().contains("is used by container bypass"), why::toString);
        Command.Result run = start("one", "2");
        assertTrue(
                run.exitCode() != 0 && run.err().contains("is used by container bypass"),
                run::toString);
        lab.docker("rm", "-f", "bypass", "one");
        lab.docker(
                        "run",
                        "-d",
                        "--name=two",
                        "--network=none",
                        "--stop-signal=KILL",
                        "--runtime=nvidia",
                        "--device=pod.jnvdocker/gpu=" + uuid,
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        awaitHolders(Map.of(2, "two"));
        Command.Result typed =
                lab.jnvdocker("run", "--rm", "--device=pod.jnvdocker/gpu=" + uuid, "plain", "true");
        assertTrue(
                typed.exitCode() == 125 && typed.err().contains("use --gpus device="),
                typed::toString);
    }

    private static String uuid(int gpu) {
        try (var gpus = Files.list(lab.host().directory().resolve("proc/driver/nvidia/gpus"))) {
            Path information =
                    gpus.sorted().skip(gpu).findFirst().orElseThrow().resolve("information");
            return Files.readString(information).replaceFirst("(?s).*GPU UUID:\\s+(\\S+).*", "$1");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "runc, jnvdocker/gpu=0, --privileged",
        "runc, jnvdocker/gpu=0, --device-cgroup-rule=a 10:1 m",
        "nvidia, jnvdocker/gpu=0, --privileged",
        "nvidia, jnvdocker/gpu=0, --device-cgroup-rule=a 10:1 m",
        "nvidia, nvidia.com/gpu=all, --privileged"
    })
    void containerThatMayOpenOtherGpusIsRefused(String runtime, String device, String option) {
        Command.Result run = start("one", device, option, "--runtime=" + runtime);
        assertTrue(
                run.exitCode() != 0 && run.err().contains("jnvdocker: a privileged container"),
                run::toString);
    }

    @Test
    void jnvdockerRunSaysHowToRequestGpus() {
        Command.Result run =
                lab.jnvdocker("run", "--rm", "--device=jnvdocker/gpu=0", "plain", "true");
        assertEquals(125, run.exitCode(), run::toString);
        assertTrue(run.err().contains("use --gpus device=0"), run::toString);
    }

    @Test
    void nothingStartsWithoutTheDaemonWhichForgetsNobody() {
        start("one", "1").ok();
        awaitHolders(Map.of(1, "one"));
        lab.daemon().kill();
        Command.Result run = start("two", "2");
        assertTrue(run.exitCode() != 0 && run.err().contains("jnvdockerd"), run::toString);
        lab.startDaemon();
        awaitHolders(Map.of(1, "one"));
        start("three", "2").ok();
        awaitHolders(Map.of(1, "one", 2, "three"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '"',
            value = {
                "true; is not a JSON object",
                "echo nonsense; is not a JSON object",
                "echo {}; names no bundle or process",
                "printf '{}\\0'; cannot read the state",
                "head -c 2000000 /dev/zero | tr '\\0' ' '; cannot read the state",
            })
    void hookThatGetsNonsenseRefuses(String state, String reason) {
        Command.Result result = hook(state);
        assertEquals(1, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: "), result::toString);
        assertTrue(result.err().contains(reason), result::toString);
        assertEquals("", result.out());
    }

    /** Calls the hook as a runtime does. */
    private static Command.Result hook(String state) {
        String call = "(" + state + ") | (exec -a jnvdocker-cdi-hook \"$0\" createRuntime)";
        return Command.of("bash", "-c", call, directory.resolve("program/nvidia-container-runtime"))
                .run();
    }

    /** Only root's files are believed. */
    @Test
    void hookBelievesNoBundleOfAnybodyElses() throws IOException {
        Path bundle = Files.createDirectories(directory.resolve("bundle"));
        Path config = bundle.resolve("config.json");
        String state = "echo '{\"id\":\"a\",\"pid\":1,\"bundle\":\"" + bundle + "\"}'";
        assertTrue(hook(state).err().contains("not visible to jnvdockerd"));
        // runc refuses this number itself, crun does not.
        String rule = "{'allow':true,'type':'c','major':4294967491,'minor':0,'access':'rwm'}";
        String spec = "{'linux':{'resources':{'devices':[" + rule + "]}}}";
        Files.writeString(config, spec.replace('\'', '"'));
        assertTrue(hook(state).err().contains("has a number that no device has"));
        Files.writeString(config, "{}");
        Command.of("chown", "1000", config).run().ok();
        assertTrue(hook(state).err().contains("not owned by root"));
        Files.delete(config);
        Files.createSymbolicLink(config, Path.of("/etc/shadow"));
        assertTrue(hook(state).err().contains("not owned by root"));
        Files.delete(config);
        Command.of("mkfifo", config).run().ok();
        assertTrue(hook(state).err().contains("not owned by root"));
    }

    @Test
    void daemonThatStartsMendsTheFile() throws IOException {
        String good = Files.readString(file());
        Files.writeString(file(), good.replace("nvidia_driver/535.", "nvidia_driver/470."));
        lab.daemon().kill();
        lab.startDaemon();
        Lab.await(() -> good.equals(read()) ? List.of() : List.of("it is as it was: " + read()));
    }

    @Test
    void fileFollowsTheGpusOfTheHost() {
        String good = read();
        String last = "\"name\" : \"3\"";
        assertTrue(good.contains(last), good);
        lab.host().load(0, 1, 2);
        try {
            Lab.await(() -> read().contains(last) ? List.of("it has GPU 3") : List.of());
            assertTrue(read().contains("\"name\" : \"2\""), CdiDevicesTest::read);
        } finally {
            lab.host().load(0, 1, 2, 3);
        }
        Lab.await(() -> good.equals(read()) ? List.of() : List.of("it differs: " + read()));
    }

    private static String read() {
        try {
            return Files.readString(file());
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** What doctor says of a file of NVIDIA's beside ours. */
    @Test
    void deviceThatTwoFilesOfferIsThatOfTheLaterDirectoryOrNone() throws IOException {
        String nvidias =
                "{'cdiVersion':'0.5.0','kind':'nvidia.com/gpu','devices':[{'name':'2',"
                        + "'containerEdits':{'env':['OF=nvidia']}}]}";
        Path beside = directory.resolve("nvidia.json");
        Path later = pods.resolve("nvidia.json");
        try {
            Files.writeString(beside, nvidias.replace('\'', '"'));
            Command.Result refused = start("one", "nvidia.com/gpu=2");
            assertTrue(refused.err().contains("nvidia.com/gpu=2"), refused::toString);
            Files.move(beside, later);
            start("two", "nvidia.com/gpu=2").ok();
            // A hook of ours would have taken a lease by now.
            assertEquals(Map.of(), lab.registry().holders());
        } finally {
            Files.deleteIfExists(beside);
            Files.deleteIfExists(later);
        }
        // It uses the GPU without a lease, by the engine's report, which a command requests.
        lab.docker("rm", "-f", "two").ok();
        lab.jnvdocker("gpu", "ls").ok();
        start("three", "nvidia.com/gpu=2").ok();
        awaitHolders(Map.of(2, "three"));
    }

    /** Podman searches only two directories for devices. */
    @Test
    void podmansContainerHasTheGpuThatItNames() {
        Podman podman =
                new Podman(
                        lab,
                        Client.podman(),
                        directory,
                        "unshare",
                        "-m",
                        "sh",
                        "-c",
                        "mkdir -p /etc/cdi && mount --bind \"$0\" /etc/cdi && exec \"$@\"",
                        directory);
        String device = "--device=jnvdocker/gpu=1";
        try {
            podman.start("one", "--runtime=runc", device).ok();
            Lab.await(() ->
                    lab.registry().holders().keySet().equals(Set.of(1))
                            ? List.of()
                            : List.of(lab.registry().holders().toString()));
            Command.Result second = podman.start("two", "--runtime=runc", device);
            assertTrue(
                    second.exitCode() != 0 && second.err().contains("GPU 1 (GPU-5c1a1003) is held"),
                    second::toString);
        } finally {
            podman.remove("one", "two");
            Command.of("rmdir", "--ignore-fail-on-non-empty", "/etc/cdi").run();
        }
    }
}
