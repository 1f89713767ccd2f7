package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Host;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverBranches;
import jnvdocker.labels.DriverVersion;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.FakeNvml;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Images that are refused for their CUDA version, by the driver's word and by its branch. */
@Tag("docker")
@Tag("root")
class CudaRequirementTest {
    private static TestEngine engine;

    private DriverRoot host;
    private TestDaemon daemon;

    @BeforeAll
    static void startEngine() {
        engine = new TestEngine();
        engine.image("plain", "--small");
        for (String version : List.of("12.0", "12.8", "99.0")) {
            engine.image(
                    "cuda:" + version,
                    "--small",
                    "--label",
                    "com.nvidia.volumes.needed=nvidia_driver",
                    "--label",
                    "com.nvidia.cuda.version=" + version);
        }
    }

    @AfterAll
    static void stopEngine() {
        engine.close();
    }

    @BeforeEach
    void makeHost() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535);
        daemon = new TestDaemon(engine, host);
    }

    @AfterEach
    void close() {
        engine.removeContainers();
        daemon.close();
        host.close();
    }

    private Command.Result run(String version) {
        return daemon.jnvdocker("run", "--rm", "cuda:" + version, "true").run();
    }

    /** Checks the message of a second run, which differs from that of the daemon's start. */
    private void assertRefused(String start, String version) {
        run(version);
        Command.Result result = run(version);
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: " + start), result::toString);
    }

    /** As drivers do where no GPU is awake, or where NVML is not installed. */
    @Test
    void branchOfTheDriverDecidesWhereNvmlIsSilent() {
        assertRefused("unsupported CUDA version: driver 12.2 < image 12.8; ", "12.8");
        run("12.0").ok();
    }

    @Test
    void driversWordDecides() {
        FakeNvml.of(host, "a100x8").change(text -> text.replace("cuda 12020", "cuda 12080"));
        awaitVersion("12.8");
        run("12.8").ok();
        assertRefused("unsupported CUDA version: driver 12.8 < image 99.0; ", "99.0");
    }

    private void awaitVersion(String version) {
        String expected = "driver " + host.version() + ", CUDA version " + version + ",";
        Lab.await(() -> {
            String said = daemon.jnvdocker("gpu", "needs", "cuda:12.0").run().out();
            return said.contains(expected) ? List.of() : List.of(said);
        });
    }

    @Test
    void nothingIsRefusedForWhatIsUnknown() {
        host.version("999.10");
        host.libcuda();
        run("99.0").ok();
        Command.Result result = run("99.0").ok();
        assertEquals(
                "jnvdocker: cuda>=99.0 (label com.nvidia.cuda.version) was not checked: cuda is"
                        + " unknown\n",
                result.err().replaceAll("(?m)^WARNING: .*\n", "")); // docker's, about the machine
    }

    /** The version that NVML reports is its own driver's. */
    @Test
    void wordOfTheDriverBeforeIsForgotten() {
        FakeNvml.of(host, "a100x8").change(text -> text.replace("cuda 12020", "cuda 12080"));
        awaitVersion("12.8");
        host.version("550.999");
        host.libcuda();
        assertRefused("unsupported CUDA version: driver 12.4 < image 12.8; ", "12.8");
    }

    @ParameterizedTest
    @EnumSource(DriverRoot.Release.class)
    void tableAgreesWithTheDriver(DriverRoot.Release release) throws IOException {
        try (DriverRoot root = DriverRoot.make(release, 0)) {
            Path program = root.directory().resolve("cudaversion");
            Command.of("gcc", "-o", program, Project.world("cudaversion.c"), "-ldl").run().ok();
            String number =
                    Command.of(
                                    program,
                                    Host.at(root.directory())
                                            .resolve("/usr/lib/x86_64-linux-gnu/libcuda.so.1"))
                            .run()
                            .ok()
                            .out()
                            .strip();
            CudaVersion table =
                    DriverBranches.cudaOf(DriverVersion.parse(root.version())).orElseThrow();
            assertEquals(Integer.parseInt(number), table.major() * 1000 + table.minor() * 10);
        }
    }
}
