package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.TestDaemon;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;

/** Findings of doctor about users and daemons that share a host. */
class SharedHostTest extends OneHostTest {
    private TestDaemon daemon;

    @BeforeEach
    void makeDaemon() {
        daemon = new TestDaemon(host);
    }

    @AfterEach
    void stopDaemon() {
        daemon.close();
    }

    private void run(int user) {
        String login = "{ echo $SUDO_UID > /proc/self/loginuid; } 2> /dev/null; exec \"$@\"";
        Command command = daemon.jnvdocker("gpu", "run", "true").with("SUDO_UID", user);
        command.after("bash", "-c", login, "bash").run().ok();
    }

    private List<String> found() {
        return DoctorTest.findings(
                DoctorTest.report(daemon.jnvdocker("gpu", "doctor", "--json").run()), "sharing");
    }

    @Test
    void severalUsersAreAdvisedToSetADefault() {
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(List.of("ok: nobody has had GPUs in the last 30 days"), found());
        run(61001);
        assertEquals(List.of("ok: one user has had GPUs in the last 30 days"), found());
        run(61002);
        assertEquals(
                List.of(
                        "hint: 2 users have had GPUs in the last 30 days, and without --gpus an"
                                + " image gets all of them; set default_gpus = \"1\" in the"
                                + " configuration, then run 'jnvdocker gpu reload'",
                        "hint: every local user may open "
                                + host.directory().resolve("dev/nvidia0")
                                + ", and so use that GPU without a lease; if that is not wanted,"
                                + " load the driver with NVreg_DeviceFileGID=<gid>"
                                + " NVreg_DeviceFileMode=0660: see the manual's page about limits"),
                found());
        Command.of("sh", "-c", "chmod 660 " + host.directory() + "/dev/nvidia?").run().ok();
        daemon.config("default_gpus = '1'\n");
        daemon.stop();
        daemon.jnvdocker("gpu", "ls").run().ok();
        assertEquals(List.of("ok: 2 users have had GPUs in the last 30 days"), found());
    }
}
