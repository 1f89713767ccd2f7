package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.MesosAgent;
import jnvdocker.tests.world.MesosTask;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tasks of a Mesos agent get what they ask for, and nothing else. */
@Tag("root")
class MesosHookTest {
    private static DriverRoot host;
    private static TestDaemon daemon;
    private static MesosAgent agent;

    @BeforeAll
    static void startAgent() {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, 4);
        daemon = new TestDaemon(host);
        daemon.jnvdocker("gpu", "ls").run().ok();
        agent = new MesosAgent(daemon.socket());
    }

    @AfterAll
    static void stopAgent() {
        agent.close();
        daemon.close();
        host.close();
    }

    @Test
    void commandTaskHasItsGpu() {
        Command.Result result =
                agent.run(
                        MesosTask.of(
                                        "ls /dev; ls /usr/local/nvidia; env; cat /proc/self/cgroup;"
                                                + " mount | grep nvidia; mknod /tmp/x c 195 2; cat"
                                                + " /tmp/x; cat /dev/nvidia0")
                                .gpus(1)
                                .needsDriver());
        assertEquals(0, result.exitCode(), result::toString);
        assertTrue(result.out().contains("nvidia0"), result::toString);
    }
}
