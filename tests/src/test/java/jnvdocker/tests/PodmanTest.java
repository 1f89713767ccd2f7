package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Client;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Podman;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Podman's containers with our OCI runtime. With {@code PODMAN=PODMAN_SID} it is Debian sid's, and
 * so is runc.
 */
@Tag("docker")
@Tag("root")
@Attack(
        by = "podman in Docker's place",
        what =
                "answers at its own Docker socket or at the daemon's, which is a link to it, or"
                        + " is the program `docker`",
        result =
                "refused before anything is planned, with the command that works; a container"
                        + " without GPUs starts")
@Attack(
        by = "a user of podman",
        what = "names a container like a pod's own, or is in a pod that has devices",
        result = "no GPU for the pod's own container, and a lease for each member")
class PodmanTest {
    private static final Client CLIENT = Client.podman();
    private static final String RUNTIME = "--runtime=nvidia";
    private static final String TWO = "--annotation=jnvdocker.gpus=2";

    private static Lab lab;
    private static Path directory;
    private static Podman podman;

    @BeforeAll
    static void open() {
        lab = new Lab(TestEngine.Release.wanted());
        directory = Directories.make("pm");
        podman = new Podman(lab, CLIENT, directory);
        podman.installRuntime(lab);
    }

    @AfterAll
    static void close() {
        lab.jnvdocker("runtime", "uninstall", "--engine=podman").ok();
        lab.close();
        Directories.remove(directory);
    }

    @AfterEach
    void nothingIsLeft() {
        podman.remove("one", "two", "three");
        awaitHeld(Set.of());
    }

    private static void awaitHeld(Set<Integer> gpus) {
        Lab.await(() -> {
            Set<Integer> now = held();
            return now.equals(gpus) ? List.of() : List.of("should be " + gpus + ": " + now);
        });
    }

    private static Set<Integer> held() {
        return lab.registry().holders().keySet();
    }

    private static Command.Result assertRefused(Command.Result result, String... parts) {
        assertEquals(126, result.exitCode(), result::toString);
        for (String part : parts) {
            assertTrue(result.err().contains(part), result::toString);
        }
        return result;
    }

    private static String device(int gpu) {
        String node = "/dev/nvidia" + gpu;
        return "--device=" + lab.host().directory().resolve(node.substring(1)) + ":" + node;
    }

    @Test
    void nodeIsLeasedOrRefusedByItsHoldersName() {
        podman.start("one", RUNTIME, device(1)).ok();
        awaitHeld(Set.of(1));
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("To free it: podman stop one"), why);
        String variables = podman.command("exec", "one", "env").run().ok().out();
        assertTrue(variables.contains("LD_LIBRARY_PATH=/usr/local/nvidia/lib:"), variables);
        String stays =
                lab.jnvdocker("runtime", "uninstall", "--engine=podman", "--dry-run").ok().out();
        assertTrue(stays.contains("stays: podman runs these containers with it: one; when"), stays);
        assertRefused(
                podman.start("two", RUNTIME, device(1)),
                "nvidia: jnvdocker: GPU 1 (GPU-5c1a1003) is held by somebody's container one ");
        String mount =
                lab.daemon().state()
                        + "/claims/"
                        + lab.registry().live().getFirst().claim()
                        + "/mount";
        assertRefused(
                podman.start("three", RUNTIME, device(1), "--volume=" + mount + ":/run/jnvdocker"),
                "container one ");
    }

    /** Podman gives it the pod's devices, too; each member has a lease of its own. */
    @Test
    void infraContainerOfAPodHasNoGpu() {
        podman.command(
                        RUNTIME,
                        "pod",
                        "create",
                        "--name=p",
                        "--network=none",
                        device(1),
                        "--infra-image=plain",
                        "--infra-command=sleep 1000")
                .run()
                .ok();
        try {
            member("one").ok();
            awaitHeld(Set.of(1));
            assertRefused(member("two"), "is held by somebody's container one ");
        } finally {
            podman.command("pod", "rm", "-f", "-t", "0", "p").run();
        }
    }

    /** Podman ignores the limit, which a kubelet would respect. */
    @Test
    void manifestGetsTheGpuThatItsVolumeNamesAndNoneByItsLimit() throws IOException {
        Path node = lab.host().directory().resolve("dev/nvidia1");
        String limit = "resources: {limits: {nvidia.com/gpu: 1}}";
        String mount = "volumeMounts: [{name: gpu, mountPath: /dev/nvidia1}]";
        String volume =
                "  volumes: [{name: gpu, hostPath: {path: " + node + ", type: CharDevice}}]\n";
        assertEquals(Set.of(), played(limit, ""));
        assertEquals(Set.of(1), played(mount, volume));
        assertEquals(Set.of(2), played("env: [{name: NVIDIA_VISIBLE_DEVICES, value: '2'}]", ""));
    }

    /** The GPUs that a pod of one container holds, which has this part and that of its pod. */
    private static Set<Integer> played(String part, String ofThePod) throws IOException {
        awaitHeld(Set.of());
        Path manifest = directory.resolve("pod.yaml");
        Files.writeString(
                manifest,
                """
                apiVersion: v1
                kind: Pod
                metadata: {name: p}
                spec:
                  containers:
                  - name: c
                    image: localhost/plain:latest
                    imagePullPolicy: Never
                    command: [sleep, '1000']
                    %s
                %s\
                """
                        .formatted(part, ofThePod));
        try {
            podman.command(RUNTIME, "kube", "play", "--network=none", manifest)
                    .with("CONTAINERS_CONF", configForPods())
                    .run()
                    .ok();
            return held();
        } finally {
            podman.command("pod", "rm", "-f", "-t", "0", "p").run();
        }
    }

    /**
     * The pod's own container would be of an image that podman builds, with a program of Debian's.
     */
    private static Path configForPods() throws IOException {
        podman.command("tag", "plain", "localhost/plain:latest").run().ok();
        podman.command("create", "--name=three", "plain", "sleep", "1000").run().ok();
        podman.command("commit", "-q", "three", "infra").run().ok();
        podman.remove("three");
        String limits = "[\"nofile=1024:1024\", \"nproc=1000:1000\"]";
        return Files.writeString(
                directory.resolve("pods.conf"),
                Files.readString(podman.config())
                        + "[containers]\ndefault_ulimits = "
                        + limits
                        + "\n[engine]\ninfra_image = \"localhost/infra:latest\"\n");
    }

    private static Command.Result member(String name) {
        return podman.command(
                        RUNTIME,
                        "run",
                        "-d",
                        "--pod=p",
                        "--name=" + name,
                        "--ulimit=nofile=1024:1024",
                        "--ulimit=nproc=1000:1000",
                        "plain",
                        "sleep",
                        "1000")
                .run();
    }

    @Test
    void variableOfOursCountsUnlessItIsTheImages() throws IOException {
        podman.start("one", RUNTIME, "--env=JNVDOCKER_GPUS=1").ok();
        awaitHeld(Set.of(0));
        podman.command("commit", "-q", "one", "ours").run().ok();
        ofImage("ours").ok();
        assertEquals(Set.of(0), held());
        String log = Files.readString(lab.daemon().log());
        assertTrue(
                log.contains("its variable JNVDOCKER_GPUS=1 is taken as its image's; request"),
                log);
    }

    /** Nor those of an image that docker has committed. */
    @Test
    void committedImageNamesNoGpusOfItsHost() {
        podman.start("one", RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=2").ok();
        awaitHeld(Set.of(2));
        podman.command("commit", "-q", "one", "named").run().ok();
        podman.remove("one");
        awaitHeld(Set.of());
        // As that of any image that requests GPUs.
        ofImage("named").ok();
        awaitHeld(Set.of(0, 1, 2, 3));
        podman.remove("two");
        awaitHeld(Set.of());
        ofImage("named", "--env=NVIDIA_VISIBLE_DEVICES=1").ok();
        awaitHeld(Set.of(1));
    }

    @Test
    void imageThatDockerHasCommittedNamesNoGpus() {
        lab.run("train", 3);
        Path image = directory.resolve("committed.tar");
        lab.docker("commit", "train", "committed").ok();
        lab.docker("save", "-o", image, "committed").ok();
        lab.docker("rm", "-f", "train").ok();
        lab.docker("rmi", "committed").ok();
        awaitHeld(Set.of());
        podman.command("load", "-q", "-i", image).run().ok();
        ofImage("committed").ok();
        assertFalse(held().equals(Set.of(3)), "the GPU of the container that was committed");
        String made = podman.command("image", "inspect", "committed").run().ok().out();
        assertFalse(made.contains("GPU-"), made);
    }

    /** Starts the container {@code two}. */
    private static Command.Result ofImage(String image, Object... options) {
        List<Object> words = new ArrayList<>();
        words.addAll(List.of("run", "-d", "--name=two", "--network=none", "--stop-signal=KILL"));
        words.addAll(List.of("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000", RUNTIME));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of(image, "sleep", "1000"));
        return podman.command(words.toArray()).run();
    }

    @Test
    void privilegedContainerHasNoGpuAndTheLogSaysSo() throws IOException {
        podman.start("one", RUNTIME, "--privileged", device(1)).ok();
        assertEquals(Set.of(), held());
        String log = Files.readString(lab.daemon().log());
        assertTrue(log.contains("container one is privileged and gets no GPU"), log);
    }

    @Test
    void refusedInstallLaysOutNothing() throws IOException {
        Path open = Files.createDirectory(directory.resolve("open"));
        Command.of("chmod", "777", open).run().ok();
        Path program = directory.resolve("refused");
        Command.Result refused =
                lab.jnvdocker(
                        "runtime",
                        "install",
                        "--engine=podman",
                        "--config",
                        open.resolve("podman.conf"),
                        "--runtime-dir",
                        program);
        assertEquals(125, refused.exitCode(), refused::toString);
        assertFalse(Files.exists(program), refused::toString);
        String status = lab.jnvdocker("runtime", "status").ok().out();
        assertFalse(status.contains(open.toString()), status);
    }

    /** Only its processes are seen: the daemon does not list podman's containers. */
    @Test
    void containerOfThePlainRuntimeThatOpensAHeldGpuIsNoted() {
        Path holdopen = directory.resolve("holdopen");
        CProgram.put("holdopen", holdopen);
        podman.start("one", RUNTIME, device(1)).ok();
        awaitHeld(Set.of(1));
        podman.start("two", "--runtime=runc", device(1), "--volume=" + holdopen + ":/holdopen:ro")
                .ok();
        podman.command("exec", "-d", "two", "/holdopen", "/dev/nvidia1").run().ok();
        Lab.await(() -> {
            JsonNode gpu = lab.jnvdocker("gpu", "ls", "--json").json().path(1);
            return gpu.path("state").asText().equals("held")
                            && gpu.path("note").asText().contains("used by")
                    ? List.of()
                    : List.of(gpu.toString());
        });
    }

    /** It may be the image's: the GPUs are those for such an image. */
    @Test
    void variableForAllAsksForTheGpusOfAnImageThatNeedsThem() {
        podman.start("one", RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=all").ok();
        awaitHeld(Set.of(0, 1, 2, 3));
        assertRefused(
                podman.start("two", RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=all"), "jnvdocker: ");
    }

    @Test
    void variableThatNoImageHasSelects() {
        podman.start("one", RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=1").ok();
        awaitHeld(Set.of(1));
        podman.start("two", RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=none").ok();
        assertEquals(Set.of(1), held());
    }

    /** The daemon knows neither its image nor its user, nor when it is removed. */
    @Test
    void containerThatOnlyLooksHoldsAllGpusOrIsRefusedWithAReason() {
        lab.configure("[runtime]\nobservers = ['plain', 'user:root']\n");
        String[] looking = {
            RUNTIME, "--env=NVIDIA_VISIBLE_DEVICES=all", "--env=NVIDIA_DRIVER_CAPABILITIES=utility"
        };
        podman.start("one", RUNTIME, device(1)).ok();
        assertRefused(
                podman.start("two", (Object[]) looking),
                "container one since ",
                "; if it only observes the GPUs, run it on the host, or in Docker: containers of"
                        + " other engines hold the GPUs that they request");
        podman.remove("one", "two");
        awaitHeld(Set.of());
        podman.start("two", (Object[]) looking).ok();
        awaitHeld(Set.of(0, 1, 2, 3));
        lab.configure("");
    }

    /** An earlier podman does not distinguish it from an image's. */
    @Test
    void annotationOfTheUserGetsFreeOnes() {
        Command.Result first = podman.start("one", RUNTIME, TWO);
        if (CLIENT == Client.PODMAN) {
            assertRefused(first, "may come from its image", "or use podman 5");
            return;
        }
        first.ok();
        podman.start("two", RUNTIME, TWO).ok();
        awaitHeld(Set.of(0, 1, 2, 3));
        assertRefused(
                podman.start("three", RUNTIME, TWO), "jnvdocker: 2 GPUs requested", "one", "two");
    }

    /** Its Docker API ignores volume plugins and runtimes: there is nothing to begin a lease. */
    @Test
    void runThroughItsDockerSocketIsRefusedUnlessItAsksForNoGpu() throws IOException {
        Path socket = directory.resolve("podman.sock");
        Path link = Files.createSymbolicLink(directory.resolve("docker.sock"), socket);
        Process service = podman.serve(socket);
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
                TestDaemon linked = new TestDaemon(host).with("JNVDOCKER_DOCKER_SOCKET", link)) {
            for (TestDaemon daemon : List.of(lab.daemon(), linked)) {
                for (Path requested : List.of(socket, link)) {
                    assertRefusedAsPodmans(throughSocket(daemon, "run", requested, "--gpus=1"));
                    assertRefusedAsPodmans(
                            throughSocket(daemon, "create", requested, "--gpus=all"));
                }
            }
            assertEquals("", podman.command("ps", "-aq").run().ok().out());
            assertEquals("", podman.command("volume", "ls", "-q").run().ok().out());
            String plain = throughSocket(lab.daemon(), "create", socket).ok().out().strip();
            podman.command("rm", plain).run().ok();
        } finally {
            service.destroy();
        }
        assertEquals(Set.of(), held());
    }

    private static Command.Result throughSocket(
            TestDaemon daemon, String verb, Path socket, Object... options) {
        List<Object> words = new ArrayList<>(List.of(verb, "--rm", "--network=none"));
        words.addAll(List.of("--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"));
        words.addAll(Arrays.asList(options));
        words.addAll(List.of("plain", "true"));
        return daemon.jnvdocker(words.toArray()).with("DOCKER_HOST", "unix://" + socket).run();
    }

    /** As of the package podman-docker. */
    @Test
    void podmanByTheNameOfDockerIsRefused() throws IOException {
        Path docker = directory.resolve("docker");
        Files.writeString(docker, "#!/bin/sh\nexec " + CLIENT.program() + " \"$@\"\n");
        Command.of("chmod", "755", docker).run().ok();
        try (DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
                TestDaemon daemon = new TestDaemon(host)) {
            assertRefusedAsPodmans(
                    daemon.jnvdocker("run", "--gpus=1", "plain", "true")
                            .with("NV_DOCKER", docker)
                            .run());
        }
    }

    private static void assertRefusedAsPodmans(Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().contains("podman"), result::toString);
        assertTrue(
                result.err().contains("podman run --runtime nvidia --device /dev/nvidia0"),
                result::toString);
    }

    @Test
    void containerThatIsStartedAgainIsRefusedWhileAnotherHasItsGpu() {
        podman.start("one", RUNTIME, device(2)).ok();
        podman.command("stop", "one").run().ok();
        awaitHeld(Set.of());
        podman.start("two", RUNTIME, device(2)).ok();
        Command.Result again = podman.command("start", "one").run();
        assertTrue(
                again.exitCode() != 0 && again.err().contains("container two "), again::toString);
        podman.remove("two");
        awaitHeld(Set.of());
        podman.command("start", "one").run().ok();
        awaitHeld(Set.of(2));
    }

    @Test
    void containerThatIsStartedAgainGetsAnotherByItsAnnotation() {
        if (CLIENT == Client.PODMAN) {
            return;
        }
        podman.start("one", RUNTIME, "--annotation=jnvdocker.gpus=1").ok();
        int first = held().iterator().next();
        podman.command("stop", "one").run().ok();
        awaitHeld(Set.of());
        podman.start("two", RUNTIME, device(first)).ok();
        podman.command("start", "one").run().ok();
        assertEquals(2, held().size());
        int second = held().stream().filter(gpu -> gpu != first).findFirst().orElseThrow();
        podman.command("exec", "one", "test", "-c", "/dev/nvidia" + second).run().ok();
    }
}
