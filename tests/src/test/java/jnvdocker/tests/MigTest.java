package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.tests.world.CProgram;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Containers with MIG instances of GPU 0, and with GPU 1, which is whole. */
@Tag("docker")
@Tag("root")
class MigTest {
    private static final String FIRST = "MIG-22d5a1c4-0d6e-5d27-9b3e-6e5a1c1f0a01";
    private static final String NODES = "cd /dev; ls -d nvidia[0-9]* nvidia-caps/* | tr '\\n' ' '";

    private static Lab lab;
    private static FakeNvml nvml;
    private static RuntimeInstallation runtime;

    @BeforeAll
    static void open() {
        DriverRoot host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 2);
        showInstances(host, 21);
        nvml = FakeNvml.of(host, "mig");
        lab = new Lab(TestEngine.Release.DEBIAN_STABLE, host);
        runtime = RuntimeInstallation.of(lab);
        awaitInstances();
    }

    @AfterAll
    static void close() {
        lab.close();
        runtime.close();
    }

    @AfterEach
    void nothingIsLeft() {
        lab.clear();
    }

    private static void showInstances(DriverRoot host, int access) {
        host.instance(0, 2, 0, access);
        host.instance(0, 3, 0, access + 9);
        host.instance(0, 9, 0, access + 18);
    }

    private static List<String> ls() {
        return lab.jnvdocker("gpu", "ls").ok().out().lines().map(String::strip).toList();
    }

    private static void awaitInstances() {
        Lab.await(() ->
                ls().stream().anyMatch(line -> line.startsWith("0:2 "))
                        ? List.of()
                        : List.of("" + ls()));
    }

    /** Without our runtime, by which a container would have another claim at each start. */
    private static void start(String name, String gpus) {
        start(name, gpus, "runc");
    }

    private static void start(String name, String gpus, String by) {
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--name",
                        name,
                        "--gpus",
                        gpus,
                        "--runtime",
                        by,
                        "--stop-signal",
                        "KILL",
                        "plain",
                        "sleep",
                        "1000")
                .ok();
    }

    private static void assertRefused(String reason, String gpus) {
        Command.Result refused = lab.jnvdocker("run", "--rm", "--gpus", gpus, "plain", "true");
        assertEquals(125, refused.exitCode(), refused::toString);
        assertTrue(refused.err().contains(reason), refused::toString);
    }

    @Test
    void instancesAreListedInThePlaceOfTheirGpu() {
        assertEquals(
                List.of(
                        "GPU UUID MODEL STATE",
                        "0:0 MIG-22d5a1c4 A100-SXM4-40GB MIG 3g.20gb FREE",
                        "0:1 MIG-8b1f3f0a A100-SXM4-40GB MIG 2g.10gb FREE",
                        "0:2 MIG-c0ffee01 A100-SXM4-40GB MIG 1g.5gb FREE",
                        "1 GPU-5c1a1003 A100-SXM4-40GB FREE"),
                ls().stream()
                        .map(line -> line.replaceAll(" +", " ").replaceAll("(STATE|FREE).*", "$1"))
                        .toList());
        assertTrue(ls().get(1).contains("0.0/20 GiB   38 C"), () -> ls().get(1));
        Command.Result json = lab.jnvdocker("gpu", "ls", "--json").ok();
        JsonSchemas.check("gpu-ls", json.out());
        assertEquals(1, json.json().path(1).path("instance").asInt());
        assertEquals(
                "GPU-5c1a0000-1d2c-4e5f-8a9b-012345678900",
                json.json().path(1).path("parent").asText());
    }

    @Test
    void eachContainerHasTheNodesOfItsInstances() {
        start("one", "device=0:0");
        assertEquals(
                "nvidia-caps/nvidia-cap21 nvidia-caps/nvidia-cap22 nvidia0 ",
                lab.docker("exec", "one", "sh", "-c", NODES).ok().out());
        start("two", "\"device=MIG-8b1f,0:2\"");
        assertEquals(
                "nvidia-caps/nvidia-cap30 nvidia-caps/nvidia-cap31 nvidia-caps/nvidia-cap39"
                        + " nvidia-caps/nvidia-cap40 nvidia0 ",
                lab.docker("exec", "two", "sh", "-c", NODES).ok().out());
        start("three", "1");
        assertEquals("nvidia1 ", lab.docker("exec", "three", "sh", "-c", NODES + " 2>&-").out());
        assertRefused("GPU 0:0 (MIG-22d5a1c4) is held by root's container one since", "device=0:0");
        assertRefused("GPU 0 is in MIG mode and not given out whole; name an instance", "device=0");
        assertRefused("1 GPU requested, but none is free: GPU 0:0 ", "1");
        assertEquals(List.of("HELD", "HELD", "HELD", "HELD"), states());
        String why = lab.jnvdocker("gpu", "why", "0:1").ok().out();
        assertTrue(
                why.startsWith(
                        "GPU 0:1 (MIG-8b1f3f0a), NVIDIA A100-SXM4-40GB MIG 2g.10gb, is held by"
                                + " root's container two since "),
                why);
        JsonSchemas.check("gpu-leases", lab.jnvdocker("gpu", "leases", "--json").ok().out());
    }

    /** A GPU of 7 slices has instances of 3, 2 and 1, and a user may have one GPU. */
    @Test
    void limitsCountTheSlices() {
        lab.configure("limits.'*'.gpus = 1");
        try {
            start("one", "\"device=0:0,0:1,0:2\"");
            assertRefused("root has 0.86 of the 1 GPU that each user may have", "device=1");
            String limits = lab.jnvdocker("gpu", "limits").ok().out();
            assertTrue(limits.replaceAll(" +", " ").contains("\ngpus 1 0.86 - "), limits);
        } finally {
            lab.configure("");
        }
    }

    @Test
    void stoppedContainerIsRefusedWhenItsInstanceHasOtherNodes() {
        start("one", "device=0:0");
        lab.docker("stop", "one").ok();
        showInstances(lab.host(), 101);
        String refused = lab.docker("start", "one").err();
        assertTrue(
                refused.contains(
                        "GPU 0:0 (MIG-22d5a1c4) has other nodes in /dev/nvidia-caps than this"
                                + " container was given; remove the container and run it again"
                                + " with --gpus device=MIG-22d5a1c4"),
                refused);
        showInstances(lab.host(), 21);
        lab.docker("start", "one").ok();
    }

    /** The daemon has just started, and NVML takes its time. */
    @Test
    void gpuInMigModeIsNotGivenOutUntilNvmlHasReportedItsInstances() {
        start("one", "device=" + FIRST);
        start("two", "device=0:1", "nvidia");
        lab.docker("stop", "one", "two").ok();
        lab.daemon().stop();
        nvml.add("", "hang nvmlInit_v2");
        try {
            lab.startDaemon();
            String why = "it is in MIG mode, and NVML has not reported its instances yet";
            assertRefused(why, "device=0");
            assertRefused(
                    "MIG-22 is not known, and GPU 0 cannot be given out: " + why, "device=MIG-22");
            assertTrue(lab.docker("start", "one").err().contains(why));
            assertTrue(lab.docker("start", "two").err().contains(why));
            lab.jnvdocker("run", "--rm", "--gpus", "1", "plain", "true").ok();
        } finally {
            nvml.change(text -> text.replace("hang nvmlInit_v2\n", ""));
        }
        awaitInstances();
        lab.docker("start", "one", "two").ok();
    }

    @Test
    void runtimeGivesInstancesByTheNamesThatNvidiasOwnTakes() {
        for (String words : List.of(FIRST, "0:0")) {
            assertEquals(
                    "nvidia-caps/nvidia-cap21 nvidia-caps/nvidia-cap22 nvidia0 ",
                    lab.docker(
                                    "run",
                                    "--rm",
                                    "--runtime",
                                    "nvidia",
                                    "-e",
                                    "NVIDIA_VISIBLE_DEVICES=" + words,
                                    "plain",
                                    "sh",
                                    "-c",
                                    NODES)
                            .ok()
                            .out());
        }
        Command.Result whole =
                lab.docker(
                        "run",
                        "--rm",
                        "--runtime",
                        "nvidia",
                        "-e",
                        "NVIDIA_VISIBLE_DEVICES=0",
                        "plain",
                        "true");
        assertTrue(whole.err().contains("GPU 0 is in MIG mode"), whole::toString);
    }

    @Test
    void openNodesShowWhichInstanceIsUsed() throws IOException {
        Path program = lab.host().directory().resolve("holdopen");
        CProgram.put("holdopen", program);
        // It makes the nodes.
        lab.jnvdocker("run", "--rm", "--gpus", "device=0:0", "plain", "true").ok();
        Path dev = lab.host().directory().resolve("dev");
        Path whole = dev.resolve("nvidia0");
        Process clear = Command.of(program, whole, dev.resolve("nvidia-caps/nvidia-cap22")).start();
        try {
            awaitStates("UNMANAGED", "FREE", "FREE", "FREE");
        } finally {
            clear.destroy();
        }
        awaitStates("FREE", "FREE", "FREE", "FREE");
        Process unclear = Command.of(program, whole).start();
        try {
            awaitStates("UNMANAGED", "UNMANAGED", "UNMANAGED", "FREE");
        } finally {
            unclear.destroy();
        }
        lab.jnvdocker(
                        "run",
                        "-d",
                        "--gpus",
                        "device=0:0",
                        "--runtime",
                        "runc",
                        "--stop-signal",
                        "KILL",
                        "-v",
                        program + ":/holdopen",
                        "plain",
                        "/holdopen",
                        "/dev/nvidia0")
                .ok();
        awaitStates("HELD", "FREE", "FREE", "FREE");
    }

    private static void awaitStates(String... states) {
        List<String> expected = List.of(states);
        Lab.await(() -> expected.equals(states()) ? List.of() : List.of("" + ls()));
    }

    private static List<String> states() {
        return ls().stream()
                .skip(1)
                .map(line -> line.replaceFirst(".* (FREE|HELD|UNMANAGED) .*", "$1"))
                .toList();
    }

    @Test
    void programOfTheHostGetsItsInstance() {
        assertEquals(
                FIRST + "\n",
                lab.jnvdocker(
                                "gpu",
                                "run",
                                "--gpus",
                                "device=0:0",
                                "--",
                                "printenv",
                                "CUDA_VISIBLE_DEVICES")
                        .ok()
                        .out());
    }
}
