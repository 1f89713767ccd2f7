package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.util.List;

/** Images that are refused for their CUDA version, with drivers that give various answers. */
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

    private void awaitLog(String text) {
        Lab.await(() -> log().contains(text) ? List.of() : List.of("not in the log: " + text));
    }

    private String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void driversWordDecides() {
        host.libcuda("*version = 12080; return 0;");
        daemon.jnvdocker("gpu", "ls").run().ok();
        awaitLog("driver 535.261.03 supports CUDA 12.8");
        run("12.8").ok();
        assertRefused("unsupported CUDA version: driver 12.8 < image 99.0; ", "99.0");
    }

    @Test
    void driverThatAnswersZeroCountsAsItsBranch() {
        host.libcuda("*version = 0; return 0;");
        assertRefused("unsupported CUDA version: driver 12.2 < image 12.8; ", "12.8");
        run("12.0").ok();
        awaitLog("it answers 0, which is not a version; taken for 12.2, as its branch does");
    }

    @Test
    void driverThatCrashesHarmsNobody() {
        host.libcuda("abort();");
        assertRefused("unsupported CUDA version: driver 12.2 < image 12.8; ", "12.8");
        run("12.0").ok();
        awaitLog("driver 535.261.03 does not say which CUDA version it supports");
    }

    @Test
    void driverThatHangsHarmsNobody() {
        host.libcuda("for (;;) pause();");
        assertRefused("unsupported CUDA version: driver 12.2 < image 12.8; ", "12.8");
        run("12.0").ok();
        awaitLog("it does not end within 10000 ms");
    }

    @Test
    void driverThatNobodyKnowsIsAsked() {
        host.version("999.10");
        host.libcuda("*version = 12050; return 0;");
        assertRefused("unsupported CUDA version: driver 12.5 < image 12.8; ", "12.8");
    }

    @Test
    void nothingIsRefusedForWhatIsUnknown() {
        host.version("999.10");
        host.libcuda("return 999;");
        run("99.0").ok();
        Command.Result result = run("99.0").ok();
        assertEquals(
                "jnvdocker: cuda>=99.0 (label com.nvidia.cuda.version) was not checked: cuda is"
                        + " unknown\n",
                result.err().replaceAll("(?m)^WARNING: .*\n", "")); // docker's, about the machine
        awaitLog("cuDriverGetVersion returns error 999; its branch is not known either");
    }

    @Test
    void anotherDriverIsAskedWhenItIsLoaded() {
        host.libcuda("*version = 12080; return 0;");
        daemon.jnvdocker("gpu", "ls").run().ok();
        awaitLog("driver 535.261.03 supports CUDA 12.8");
        host.version("999.10");
        host.libcuda("*version = 12010; return 0;");
        assertRefused("unsupported CUDA version: driver 12.1 < image 12.8; ", "12.8");
        awaitLog("driver 999.10 supports CUDA 12.1");
    }
}
