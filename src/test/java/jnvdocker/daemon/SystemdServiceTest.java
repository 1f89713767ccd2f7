package jnvdocker.daemon;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class SystemdServiceTest {
    @Test
    void serviceIsKnownByItsCgroup() {
        assertTrue(SystemdService.isOurs("0::/system.slice/jnvdocker.service\n"));
        assertTrue(
                SystemdService.isOurs(
                        "9:devices:/\n1:name=systemd:/system.slice/jnvdocker.service\n0::/\n"));
    }

    @Test
    void daemonThatAClientStartedIsNoService() {
        assertFalse(SystemdService.isOurs("0::/user.slice/user-0.slice/session-2.scope\n"));
        assertFalse(SystemdService.isOurs("0::/system.slice/other-jnvdocker.service\n"));
        assertFalse(SystemdService.isOurs("0::/\n"));
    }
}
