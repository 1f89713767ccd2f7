package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/**
 * Each fault is answered by a message that names it and its remedy, with exit code 125, and leaves
 * nothing behind. Once it is fixed, everything works as before.
 */
class BadInputTest extends OneEngineTest {
    private static final String CACHE = "etc/ld.so.cache";

    @BeforeAll
    static void makeImages() {
        lab.engine().image("cuda", "--small", "--label", "com.nvidia.volumes.needed=nvidia_driver");
        lab.engine().image("rotten", "--small", "--env", "NVIDIA_REQUIRE_CUDA=cuda>>=12");
        lab.engine().image("odd", "--small", "--label", "com.nvidia.volumes.needed=cuda_files");
    }

    @AfterEach
    void nothingIsLeftBehind() {
        assertEquals("", lab.docker("ps", "-aq").ok().out());
        lab.awaitHolders(Map.of());
    }

    private static Command.Result run(Object... words) {
        Object[] all = new Object[words.length + 2];
        all[0] = "run";
        all[1] = "--rm";
        System.arraycopy(words, 0, all, 2, words.length);
        return lab.jnvdocker(all);
    }

    private static void assertRefused(String message, Command.Result result) {
        assertEquals("", result.out(), result::toString);
        assertEquals("jnvdocker: " + message + "\n", result.err());
        assertEquals(125, result.exitCode());
    }

    private static void assertRefusedWith(List<String> parts, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: "), result::toString);
        assertEquals(1, result.err().lines().count(), result::toString);
        for (String part : parts) {
            assertTrue(result.err().contains(part), () -> part + " in\n" + result);
        }
    }

    private static void assertWorks() {
        assertEquals(
                "/dev/nvidia1\n",
                run("--gpus", "device=1", "cuda", "sh", "-c", "ls /dev/nvidia[0-9]*").ok().out());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            textBlock =
                    """
                    device=7 | invalid device: 7; this host has 0-3 ('jnvdocker gpu ls' shows their UUIDs)
                    device=GPU-ffff | invalid device: GPU-ffff; this host has 0-3 ('jnvdocker gpu ls' shows their UUIDs)
                    device=99:00.0 | invalid device: 99:00.0; this host has 0-3 ('jnvdocker gpu ls' shows their UUIDs)
                    device=../nvidia0 | --gpus: '../nvidia0' is not a GPU's index, UUID or PCI address, as in --gpus '"device=0,1"'
                    "device=2,2" | GPU 2 is named twice; name each GPU once
                    "device=0,GPU-5c1a0000" | GPU 0 is named twice, as 0 and as GPU-5c1a0000; name each GPU once
                    5 | 5 GPUs requested, but this host has 4; request fewer ('jnvdocker gpu ls' shows them)
                    0,1 | --gpus: '0,1' is more than one number of GPUs: write --gpus '"device=0,1"' to name GPUs
                    some | --gpus: 'some' is not a number of GPUs: write a number, 'all', 'none' or device=<ids>
                    count=1,driver=amd | --gpus: driver='amd' cannot be given with a lease: write driver=nvidia or leave it out
                    1,capabilities=gpu,utility | --gpus: '1,capabilities=gpu,utility' is more than one number of GPUs: write
                    """)
    void wrongGpusAreRefusedByName(String gpus, String message) {
        assertRefusedWith(List.of(message), run("--gpus", gpus, "cuda", "true"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    9 | invalid device: 9; this host has 0-3 ('jnvdocker gpu ls' shows their UUIDs)
                    0,0 | GPU 0 is named twice; name each GPU once
                    0 07:00.0 | GPU 0 is named twice, as 0 and as 07:00.0; name each GPU once
                    all,0 | NV_GPU: 'all' cannot be combined with ids: write it alone, or ids as in NV_GPU=0,1
                    --privileged | invalid device: --privileged; this host has 0-3 ('jnvdocker gpu ls' shows their UUIDs)
                    $(id) | NV_GPU: '$(id)' is not a GPU's index, UUID or PCI address, as in NV_GPU=0,1
                    """)
    void wrongVariableIsRefusedByName(String gpus, String message) {
        assertRefused(
                message,
                lab.daemon().jnvdocker("run", "--rm", "cuda", "true").with("NV_GPU", gpus).run());
    }

    @Test
    void otherHostIsRefusedForAContainerThatGetsGpus() {
        assertRefused(
                "NV_HOST=http://gpu7:3476 names another host, whose GPUs cannot be given out from"
                        + " here; run jnvdocker on that host, as by ssh, or unset NV_HOST to use"
                        + " this host's",
                withOtherHost("cuda").run());
        withOtherHost("plain").run().ok();
    }

    private Command withOtherHost(String image) {
        return lab.daemon()
                .jnvdocker("run", "--rm", image, "true")
                .with("NV_HOST", "http://gpu7:3476");
    }

    @Test
    void imageThatAsksInWordsNobodyKnowsIsRefused() {
        assertRefused(
                "invalid expression 'cuda>>=12': known are = != < <= > and >= (NVIDIA_REQUIRE_CUDA"
                        + " of the image); set NVIDIA_DISABLE_REQUIRE=1",
                run("--gpus", "1", "rotten", "true"));
        assertRefused(
                "unsupported volume: cuda_files (label com.nvidia.volumes.needed); jnvdocker knows"
                        + " nvidia_driver",
                run("odd", "true"));
    }

    @Test
    void labelOfAMebibyteIsRefused() {
        lab.docker("create", "--name", "base", "plain").ok();
        lab.engine()
                .post(
                        "commit?container=base&repo=huge",
                        "{\"Labels\": {\"com.nvidia.cuda.version\": \""
                                + "1".repeat(1 << 20)
                                + "\"}}")
                .run()
                .ok();
        lab.docker("rm", "base").ok();
        assertRefusedWith(
                List.of(
                        "com.nvidia.cuda.version",
                        " 1048576 characters, at most ",
                        " are read; shorten it"),
                run("--gpus", "1", "huge", "true"));
        lab.docker("rmi", "huge").ok();
    }

    @Test
    void dockerThatIsNotInstalledIsNamed() {
        assertRefused(
                "cannot find 'docker' in PATH (/nowhere) other than jnvdocker itself; install"
                        + " docker, or name it in NV_DOCKER",
                lab.daemon()
                        .jnvdocker("run", "--rm", "cuda", "true")
                        .with("PATH", "/nowhere")
                        .run());
    }

    @Test
    void engineThatDoesNotRunIsNamed() {
        lab.engine().stop();
        try {
            assertRefusedWith(
                    List.of(
                            "the Docker engine at " + lab.engine().socket() + " ",
                            "; start it: systemctl start docker"),
                    run("cuda", "true"));
        } finally {
            lab.engine().start();
        }
        assertWorks();
    }

    @Test
    void hostWithoutADriverIsSaidToHaveNone() throws IOException {
        Path proc = lab.host().directory().resolve("proc/driver/nvidia");
        Path sys = lab.host().directory().resolve("sys/module/nvidia");
        Path away = Directories.make("away");
        Files.move(proc, away.resolve("proc"));
        Files.move(sys, away.resolve("sys"));
        try {
            assertRefusedWith(
                    List.of("no NVIDIA driver is loaded", "; install the driver"),
                    run("cuda", "true"));
            run("plain", "true").ok();
        } finally {
            Files.move(away.resolve("proc"), proc);
            Files.move(away.resolve("sys"), sys);
            Directories.remove(away);
        }
        assertWorks();
    }

    @Test
    void gpuThatTheDriverCannotTalkToIsShownAndLeftOut() {
        String file = "proc/driver/nvidia/gpus/0000:0f:00.0/information";
        String information = lab.host().read(file);
        lab.host().write(file, "");
        try {
            String trouble = "the driver shows no UUID for it (found '')";
            Command.Result shown = lab.jnvdocker("gpu", "ls").ok();
            assertTrue(
                    shown.out().matches("(?s).*\n1 +\\? +\\? +SICK .*" + "shows no UUID.*"),
                    shown::toString);
            assertEquals(
                    "GPU 1 at 0000:0f:00.0 cannot be given out: "
                            + trouble
                            + ".\nWhat to do: check the kernel log (dmesg | grep -i nvrm).\n",
                    lab.jnvdocker("gpu", "why", "1").ok().out());
            assertRefused(
                    "GPU 1 at 0000:0f:00.0 cannot be given out: "
                            + trouble
                            + "; check the kernel log (dmesg | grep -i nvrm)",
                    run("--gpus", "device=1", "cuda", "true"));
            assertEquals(
                    "/dev/nvidia0\n/dev/nvidia2\n/dev/nvidia3\n",
                    run("cuda", "sh", "-c", "ls /dev/nvidia[0-9]*").ok().out());
        } finally {
            lab.host().write(file, information);
        }
        assertWorks();
    }

    @Test
    void damagedLoaderCacheIsNamed() throws IOException {
        damaged(
                CACHE,
                new byte[] {1, 2, 3},
                "the loader cache " + lab.host().directory().resolve(CACHE) + " is damaged: ",
                "; run ldconfig to write it again");
    }

    /** Replaces a file of the host whose change requires the volume to be built again. */
    private static void damaged(String file, byte[] bytes, String... parts) throws IOException {
        Path path = lab.host().directory().resolve(file);
        Path away = path.resolveSibling("away");
        Files.move(path, away);
        Files.write(path, bytes);
        Path volumes = lab.daemon().state().resolve("volumes");
        Directories.remove(volumes);
        try {
            assertRefusedWith(List.of(parts), run("cuda", "true"));
            try (var left = Files.walk(volumes)) {
                assertEquals(
                        List.of(),
                        left.filter(each -> each.toString().contains(lab.host().version()))
                                .toList());
            }
        } finally {
            Files.move(away, path, StandardCopyOption.REPLACE_EXISTING);
        }
        assertWorks();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    ro | Read-only file system
                    full | disk is full
                    """)
    void stateDirectoryThatCannotBeWrittenIsNamed(String how, String reason) throws IOException {
        onFileSystem(
                "size=256k",
                state -> {
                    if (how.equals("ro")) {
                        Command.of("mount", "-o", "remount,ro", state).run().ok();
                    } else {
                        Directories.fill(state);
                    }
                    assertRefusedWith(
                            List.of(state.toString(), reason, "; "),
                            lab.daemon().jnvdockerd().run());
                });
    }

    /** The refusal comes before any of it is copied there. */
    @Test
    void stateDirectoryWithoutRoomForTheDriverIsNamed() throws IOException {
        onFileSystem(
                "size=4m",
                state -> {
                    lab.startDaemon();
                    assertRefusedWith(
                            List.of("a driver volume in " + state, "; free some space there"),
                            run("--gpus", "1", "cuda", "true"));
                });
    }

    @Test
    void stateDirectoryWithoutExecIsNamedWithItsMount() throws IOException {
        onFileSystem(
                "noexec",
                state -> {
                    lab.startDaemon();
                    assertRefusedWith(
                            List.of(
                                    "no library can be loaded from " + state,
                                    state
                                            + " is mounted noexec; run mount -o remount,exec "
                                            + state),
                            run("--gpus", "1", "cuda", "true"));
                });
    }

    private interface OnState {
        void run(Path state) throws IOException;
    }

    /** Runs a test on a state directory with other mount options, then restores the old one. */
    private static void onFileSystem(String options, OnState test) throws IOException {
        Path state = lab.daemon().state();
        lab.daemon().stop();
        Command.of("mount", "-t", "tmpfs", "-o", "mode=755," + options, "tmpfs", state).run().ok();
        try {
            test.run(state);
        } finally {
            lab.daemon().stop();
            Command.of("umount", state).run().ok();
        }
        lab.startDaemon();
        assertWorks();
    }
}
