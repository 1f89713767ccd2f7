package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.TestEngine;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/**
 * A lab of the engine that {@code ENGINE} names, by default the newest, for all tests of a class;
 * each test leaves nothing behind in it.
 */
@Tag("docker")
@Tag("root")
abstract class WantedEngineTest {
    static final TestEngine.Release RELEASE = TestEngine.Release.wanted();
    static final String SINCE = " since \\d\\d:\\d\\d";

    static Lab lab;

    @BeforeAll
    static void open() {
        lab = new Lab(RELEASE);
    }

    @AfterAll
    static void close() {
        lab.close();
    }

    @AfterEach
    void nothingIsLeftOfContainersThatAreGone() {
        lab.clear();
    }

    static Command.Result docker(Object... arguments) {
        return lab.docker(arguments);
    }

    /** Requests the GPU, which makes the daemon check its holder, and must be refused. */
    static void assertRefused(int gpu, String holder) {
        Command.Result result = lab.gpuContainer("run", "nobody", gpu).run();
        assertEquals(125, result.exitCode(), result::toString);
        Lab.assertMatches(
                "jnvdocker: GPU "
                        + gpu
                        + " \\(GPU-5c1a\\w{4}\\) is held by \\S+'s container "
                        + holder
                        + SINCE
                        + "; wait with --gpu-wait.*\n",
                result.err());
    }
}
