package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Project;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;

/**
 * A container of LXC's or systemd's as a host: root may make no device nodes there, and some GPUs
 * that the driver shows have none.
 */
class PartlyPassedThroughTest extends OneHostTest {
    @Test
    void gpusWithANodeAreGivenAndTheOthersAreNot() throws Exception {
        for (int gpu : new int[] {1, 3}) {
            Files.deleteIfExists(host.directory().resolve("dev/nvidia" + gpu));
        }
        try (TestDaemon daemon = new TestDaemon(host)) {
            Process process = start(daemon);
            try {
                String listed = daemon.jnvdocker("gpu", "ls").run().ok().out();
                assertEquals(2, listed.lines().filter(it -> it.contains("SICK")).count(), listed);
                String why = daemon.jnvdocker("gpu", "why", "1").run().out();
                assertTrue(why.contains("dev/nvidia1 is missing, and jnvdocker may not make"), why);
                assertEquals("2\n", given(daemon, "all"));
                assertEquals("2\n", given(daemon, "2"));
                Command.Result named =
                        daemon.jnvdocker("gpu", "run", "--gpus", "device=1", "true").run();
                assertEquals(125, named.exitCode(), named::toString);
                assertTrue(named.err().contains("pass it through to this container"), named::err);
            } finally {
                process.destroy();
                process.waitFor();
            }
        }
    }

    private static String given(TestDaemon daemon, String gpus) {
        String count = "echo $CUDA_VISIBLE_DEVICES | tr , '\\n' | wc -l";
        return daemon.jnvdocker("gpu", "run", "--gpus", gpus, "sh", "-c", count).run().ok().out();
    }

    private static Process start(TestDaemon daemon) throws IOException {
        Files.createDirectories(daemon.log().getParent());
        String drop = "exec setpriv --bounding-set=-mknod --inh-caps=-mknod \"$0\"";
        Process process =
                Command.of("sh", "-c", drop, Project.tree().resolve("bin/jnvdockerd"))
                        .with(daemon.environment())
                        .log(daemon.log())
                        .start();
        daemon.awaitAnswer(process);
        return process;
    }
}
