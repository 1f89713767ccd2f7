package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Registry;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/** What users, images and the lab say of containers with our OCI runtime, and what comes of it. */
class RuntimeWordsTest extends RuntimeEngineTest {

    @AfterEach
    void configurationIsAsBefore() {
        lab.configure("");
    }

    /** Docker mounts the other container's files, and the image has to be found all the same. */
    @Test
    void wordsCountInTheNetworkOfAnotherContainer() throws IOException {
        lab.docker("run", "-d", "--name=net", "plain", "sleep", "1000").ok();
        lab.run("train", 1, "--network=container:net");
        awaitHolders(Map.of(1, "train"));
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*HELD +root +train .*"), table);
        start("one", "--network=container:net", "--label=jnvdocker.gpus=device=3").ok();
        awaitHolders(Map.of(1, "train", 3, "one"));
        // Where runc up to 1.1.6 searches a device before it hands its rule to systemd.
        Path numbers = lab.host().directory().resolve("dev/char");
        assertEquals(Path.of("../nvidia3"), Files.readSymbolicLink(numbers.resolve("195:3")));
    }

    /** Then docker's directory is found by the container's root. */
    @Test
    void wordsCountWhenAllOfDockersFilesAreCovered() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "127.0.0.1 localhost\n");
        start(
                        "one",
                        "--label=jnvdocker.gpus=device=3",
                        "--volume=" + file + ":/etc/hosts",
                        "--volume=" + file + ":/etc/hostname",
                        "--volume=" + file + ":/etc/resolv.conf")
                .ok();
        awaitHolders(Map.of(3, "one"));
    }

    /** A client that has reserved a GPU, and whose docker never creates the container. */
    private Process reserve() throws Exception {
        Path slow = Files.createDirectories(directory.resolve("slow")).resolve("docker");
        Files.writeString(slow, "#!/bin/sh\nexec sleep 1000\n");
        Command.of("chmod", "755", slow).run().ok();
        String path = slow.getParent() + ":" + System.getenv("PATH");
        Process client =
                lab.daemon()
                        .jnvdocker("run", "--gpus=device=2", "--name=its", "plain", "true")
                        .with("PATH", path)
                        .start();
        // The lease of another test's container may end a moment after the container.
        Lab.await(() ->
                lab.registry().live().stream()
                                .map(Registry.Lease::reservation)
                                .toList()
                                .equals(List.of(true))
                        ? List.of()
                        : List.of("nothing is reserved"));
        return client;
    }

    /** Reserved by a client whose docker has not created the container yet. */
    @Test
    void imageThatNamesAReservationDoesNotGetIt() throws Exception {
        Process client = reserve();
        try {
            Registry.Lease reserved = lab.registry().live().getFirst();
            lab.engine()
                    .image(
                            "thief",
                            "--small",
                            "--label",
                            "jnvdocker.claim=" + lab.registry().key(reserved.claim()));
            lab.docker(
                            "run",
                            "-d",
                            "--runtime=nvidia",
                            "--gpus=1",
                            "--name=thief",
                            "thief",
                            "sleep",
                            "1000")
                    .ok();
            assertEquals(2, lab.registry().live().size());
            assertTrue(!lab.registry().holders().getOrDefault(2, "").equals("thief"));
            String table = lab.jnvdocker("gpu", "ls").ok().out();
            assertTrue(table.matches("(?s).*HELD +somebody +thief .*"), table);
        } finally {
            client.destroyForcibly().waitFor();
        }
    }

    /** Every user sees the id of a reservation. */
    @Test
    void labelWithoutTheSecretOfAReservationIsRefused() throws Exception {
        Process client = reserve();
        try {
            String id = lab.registry().live().getFirst().claim();
            for (String label : List.of(id, id + "-" + "0".repeat(32))) {
                Command.Result refused =
                        lab.docker(
                                "run",
                                "--rm",
                                "--runtime=nvidia",
                                "--label=jnvdocker.claim=" + label,
                                "plain",
                                "true");
                assertEquals(125, refused.exitCode(), refused::toString);
                Lab.assertMatches(
                        "(?s).*names the claim " + id + ", which is not its own.*", refused.err());
            }
            assertTrue(lab.registry().live().getFirst().reservation());
        } finally {
            client.destroyForcibly().waitFor();
        }
    }

    @Test
    void variableSelectsWhereTheLabLetsIt() {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name=train",
                        "-e",
                        "NVIDIA_VISIBLE_DEVICES=2",
                        "--stop-signal=KILL",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
        awaitHolders(Map.of(2, "train"));
        lab.configure("env_selects = false\n");
        String why = "a variable does not select GPUs here (env_selects)";
        assertRefused(
                lab.jnvdocker("run", "--rm", "-e", "NVIDIA_VISIBLE_DEVICES=1", "plain", "true"),
                why);
        assertRefused(start("one", "-e", "NVIDIA_VISIBLE_DEVICES=1"), why);
        assertEquals(Set.of(2), lab.registry().holders().keySet());
    }

    @Test
    void ownerIsGuessedByLabelsAndTheUnknownHaveALimitTogether() throws IOException {
        lab.configure("max_gpus_unknown = 2\n");
        start("one", "--gpus=device=0", "--label=jnvdocker.owner=alice").ok();
        start("two", "--gpus=device=1", "--label=devcontainer.local_folder=" + directory).ok();
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*HELD +alice\\? +one .*"), table);
        assertTrue(table.matches("(?s).*HELD +root\\? +two .*"), table);
        assertRefused(start("three", "--gpus=1"), "max_gpus_unknown");
        lab.run("known", 3);
    }

    @Test
    void ownerIsKnownByTheEvidenceThatTheLabTrusts() throws IOException {
        String limits = "max_gpus_unknown = 1\n[limits]\nnobody = { gpus = 1 }\n";
        lab.configure(limits + "[runtime]\ntrust_owner = ['label']\n");
        start("one", "--gpus=device=0", "--label=jnvdocker.owner=nobody").ok();
        assertRefused(
                start("two", "--gpus=1", "--label=jnvdocker.owner=nobody"),
                "nobody has 1 of the 1 GPU that nobody may have");
        start("three", "--gpus=device=1", "--label=devcontainer.local_folder=" + directory).ok();
        assertRefused(
                start("four", "--gpus=1", "--label=jnvdocker.owner=no-such-user"),
                "max_gpus_unknown");
        String table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*HELD +nobody +one .*"), table);
        assertTrue(table.matches("(?s).*HELD +root\\? +three .*"), table);
        lab.configure(limits + "[runtime]\ntrust_owner = ['directory']\n");
        start("five", "--gpus=device=2", "--label=devcontainer.local_folder=" + directory).ok();
        table = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(table.matches("(?s).*HELD +root +five .*"), table);
    }

    @Test
    void imageThatTheDriverCannotRunIsRefused() throws IOException {
        lab.engine().image("newer", "--small", "--env", "NVIDIA_REQUIRE_CUDA=cuda>=99.0");
        Command.Result refused =
                lab.docker("run", "--rm", "--runtime=nvidia", "--gpus=1", "newer", "true");
        assertRefused(refused, "99.0");
        assertEquals(Map.of(), lab.registry().holders());
        lab.docker(
                        "run",
                        "--rm",
                        "--runtime=nvidia",
                        "--gpus=1",
                        "-e",
                        "NVIDIA_DISABLE_REQUIRE=1",
                        "newer",
                        "true")
                .ok();
    }

    /** Besides the driver's libraries. The host counts as one that has the module loaded. */
    @Test
    void graphicsComeWithNodeAndFiles() throws IOException {
        Files.createDirectories(lab.host().directory().resolve("sys/module/nvidia_modeset"));
        String out =
                lab.docker(
                                "run",
                                "--rm",
                                "--runtime=nvidia",
                                "--gpus=1",
                                "-e",
                                "NVIDIA_DRIVER_CAPABILITIES=graphics",
                                "plain",
                                "sh",
                                "-c",
                                "tryopen /dev/nvidia-modeset; cd /usr/share;"
                                        + " ls glvnd/egl_vendor.d/10_nvidia.json"
                                        + " egl/egl_external_platform.d/10_nvidia_wayland.json"
                                        + " nvidia/nvoptix.bin;"
                                        + " touch nvidia/nvoptix.bin || echo sealed")
                        .ok()
                        .out();
        assertEquals(
                """
                ENXIO
                egl/egl_external_platform.d/10_nvidia_wayland.json
                glvnd/egl_vendor.d/10_nvidia.json
                nvidia/nvoptix.bin
                sealed
                """,
                out);
    }

    /** As docker has them reach a container that its own driver gives GPUs. */
    @Test
    void capabilitiesOfTheRequestReachTheContainer() {
        String request = "device=1,\"capabilities=graphics,utility\"";
        Object[] words = {"sh", "-c", "echo $NVIDIA_DRIVER_CAPABILITIES; ls /usr/share/glvnd"};
        String label = "--label=jnvdocker.gpus=" + request;
        String expected = "graphics,utility\negl_vendor.d\n";
        assertEquals(expected, run(lab::docker, "--runtime=nvidia", label, words));
        assertEquals(expected, run(lab::jnvdocker, "--gpus", request, words));
    }

    private static String run(
            Function<Object[], Command.Result> program,
            String option,
            String value,
            Object... words) {
        List<Object> all = new ArrayList<>(List.of("run", "--rm", option, value, "plain"));
        all.addAll(Arrays.asList(words));
        return program.apply(all.toArray()).ok().out();
    }

    @Test
    void nobodyRunsWithoutARequestedGpuUnseen() {
        lab.configure("[runtime]\nimage_need = \"none\"\n");
        lab.engine()
                .image(
                        "requests",
                        "--small",
                        "--env",
                        "PATH=/bin",
                        "--env",
                        "NVIDIA_VISIBLE_DEVICES=all");
        String[] start = {"run", "-d", "--runtime=nvidia", "--stop-signal=KILL"};
        lab.docker(with(start, "--name=one", "requests", "sleep", "1000")).ok();
        assertEquals(Map.of(), lab.registry().holders());
        String why = "one runs without a GPU: this container has no GPU: its image's" + " request";
        String explained = lab.jnvdocker("gpu", "why", "one").ok().out();
        assertTrue(explained.contains(why), explained);
        String found = lab.jnvdocker("gpu", "doctor").out();
        assertTrue(found.contains("container one runs without a GPU since "), found);
        String log = lab.docker("logs", "one").err();
        assertTrue(log.contains("jnvdocker: this container has no GPU: "), log);
        lab.docker("rm", "-f", "one").ok();
        assertTrue(!lab.jnvdocker("gpu", "doctor").out().contains("runs without a GPU"));

        String all = "NVIDIA_VISIBLE_DEVICES=all";
        lab.docker(with(start, "--name=two", "-e", all, "requests", "sleep", "1000")).ok();
        awaitHolders(Map.of(0, "two", 1, "two", 2, "two", 3, "two"));
    }

    private static Object[] with(String[] start, String... more) {
        return Stream.concat(Arrays.stream(start), Arrays.stream(more)).toArray();
    }

    /** As NVIDIA's toolkit reads them. */
    @Test
    void wordsOfNvidiasToolkitCount() {
        lab.engine().image("first", "--small", "--env", "CUDA_VERSION=99.0.176");
        Command.Result refused = lab.docker("run", "--rm", "--runtime=nvidia", "first", "true");
        assertRefused(refused, "unsupported CUDA version");
        refused = lab.jnvdocker("run", "--rm", "--gpus=1", "first", "true");
        assertRefused(refused, "unsupported CUDA version");
        lab.engine().image("second", "--small", "--env", "CUDA_VERSION=9.0.176");
        Object[] second = {"run", "-d", "--runtime=nvidia", "--name=all", "second", "sleep", "99"};
        lab.docker(second).ok();
        awaitHolders(Map.of(0, "all", 1, "all", 2, "all", 3, "all"));
        lab.docker("rm", "-f", "all").ok();
        awaitHolders(Map.of());
        start("named", "-e", "NVIDIA_VISIBLE_DEVICES=runtime.nvidia.com/gpu=1,2").ok();
        awaitHolders(Map.of(1, "named", 2, "named"));
        String mount = "--volume=/dev/null:/var/run/nvidia-container-devices/";
        lab.docker(
                        "run",
                        "-d",
                        "--runtime=nvidia",
                        "--name=mount",
                        mount + "3",
                        "second",
                        "sleep",
                        "99")
                .ok();
        awaitHolders(Map.of(1, "named", 2, "named", 3, "mount"));
        assertRefused(start("taken", mount + "1"), "GPU 1 (GPU-5c1a1003) is held by");
        String mig = "NVIDIA_MIG_CONFIG_DEVICES=all";
        String why = "requests the MIG configuration of GPUs, for which a container must be";
        assertRefused(start("mig", "--gpus=1", "-e", mig), why);
        assertRefused(lab.jnvdocker("run", "--gpus=1", "-e", mig, "plain", "true"), why);
    }

    /** One answer, whichever way they reach us. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0,0 | GPU 0 is named twice",
                "-1 | invalid device: -1",
                "0 1 | NVIDIA_VISIBLE_DEVICES is '0 1', which does not name GPUs",
                "all,0 | invalid device: all",
            })
    void idsAreReadInOneWay(String ids, String why) {
        String variable = "NVIDIA_VISIBLE_DEVICES=" + ids;
        assertRefused(start("one", "-e", variable), why);
        assertRefused(lab.jnvdocker("run", "--rm", "-e", variable, "plain", "true"), why);
    }

    /** The GPU's own graphics nodes, also by their places, and the mask by which EGL sees it. */
    @Test
    void graphicsAreOfTheLeasedGpusAlone() throws IOException {
        for (int gpu = 0; gpu < 4; gpu++) {
            Path pci = drm(gpu);
            for (String node :
                    List.of(
                            "card" + gpu + " 226:" + gpu,
                            "renderD" + (128 + gpu) + " 226:" + (128 + gpu))) {
                Path each = Files.createDirectories(pci.resolve(node.split(" ")[0]));
                Files.writeString(each.resolve("dev"), node.split(" ")[1] + "\n");
            }
        }
        Path socket = lab.host().directory().resolve("run/nvidia-persistenced/socket");
        Files.createDirectories(socket.getParent());
        Files.writeString(socket, "its");
        lab.engine().image("debian", "--tools", "bookworm");
        String out =
                lab.docker(
                                "run",
                                "--rm",
                                "--runtime=nvidia",
                                "--gpus=\"device=1\"",
                                "-e",
                                "NVIDIA_DRIVER_CAPABILITIES=graphics",
                                "debian",
                                "sh",
                                "-c",
                                "find /dev/dri -type c | sort; cat /run/nvidia-persistenced/socket;"
                                        + " cat /etc/nvidia/nvidia-application-profiles-rc.d/*;"
                                        + " readlink /usr/lib/*/gbm/nvidia-drm_gbm.so")
                        .ok()
                        .out();
        String place = drm(1).getParent().getFileName().toString();
        assertTrue(
                out.startsWith(
                        "/dev/dri/by-path/pci-%s-card\n/dev/dri/by-path/pci-%s-render\n/dev/dri/card1\n/dev/dri/renderD129\nits"
                                .formatted(place, place)),
                out);
        assertTrue(out.contains("\"EGLVisibleDGPUDevices\", 0x2]"), out);
        assertTrue(out.endsWith("/usr/local/nvidia/lib64/libnvidia-allocator.so.1\n"), out);
    }

    private static Path drm(int gpu) throws IOException {
        try (var gpus = Files.list(lab.host().directory().resolve("proc/driver/nvidia/gpus"))) {
            String address =
                    gpus.sorted().skip(gpu).findFirst().orElseThrow().getFileName().toString();
            return lab.host().directory().resolve("sys/bus/pci/devices/" + address + "/drm");
        }
    }
}
