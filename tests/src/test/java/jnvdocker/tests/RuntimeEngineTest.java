package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.RuntimeInstallation;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A lab for all tests of a class, whose engine has our OCI runtime. */
abstract class RuntimeEngineTest extends WantedEngineTest {
    static RuntimeInstallation runtime;
    static Path directory;

    @BeforeAll
    static void install() {
        runtime = RuntimeInstallation.of(lab);
        directory = Directories.make("r");
    }

    @AfterAll
    static void uninstall() {
        runtime.close();
        Directories.remove(directory);
    }

    /** Starts a container of the image {@code plain} with our runtime. */
    static Command.Result start(String name, Object... options) {
        List<Object> all =
                new ArrayList<>(
                        List.of(
                                "run",
                                "-d",
                                "--runtime=nvidia",
                                "--name=" + name,
                                "--stop-signal=KILL"));
        all.addAll(Arrays.asList(options));
        all.addAll(List.of("plain", "sleep", "1000"));
        return lab.docker(all.toArray());
    }

    /**
     * Waits until these containers, and no others, hold GPUs, by the indices of these. Unlike that
     * of {@link Lab}, it compares no volumes of Docker's, which they do not have.
     */
    static void awaitHolders(Map<Integer, String> holders) {
        Lab.await(() -> {
            Map<Integer, String> now = lab.registry().holders();
            return now.equals(holders) ? List.of() : List.of("should be " + holders + ": " + now);
        });
    }

    static void assertRefused(Command.Result result, String why) {
        assertEquals(125, result.exitCode(), result::toString);
        assertTrue(result.err().contains(why), result::toString);
    }
}
