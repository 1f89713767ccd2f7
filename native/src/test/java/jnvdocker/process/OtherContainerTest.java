package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.attack.Attack;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.Optional;

/** Containers of other engines, by the cgroups that these have been seen to make. */
@Attack(
        by = "a user",
        what = "gives a cgroup of their own the name of another's container",
        result = "no command that would stop the other's is shown")
class OtherContainerTest {
    private static final String ID = "0d1f".repeat(16);

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "9:devices:/libpod_parent/libpod-ID | podman's container 0d1f0d1f0d1f"
                        + " | podman stop 0d1f0d1f0d1f",
                "0::/machine.slice/libpod-ID.scope/container | podman's container 0d1f0d1f0d1f"
                        + " | podman stop 0d1f0d1f0d1f",
                "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/c"
                        + " | podman's container 0d1f0d1f0d1f"
                        + " | sudo -u '#1000' podman stop 0d1f0d1f0d1f",
                "9:devices:/default/train | containerd's container train"
                        + " | ctr -n default task kill -s KILL train",
                "0::/k8s.io/ID | containerd's container 0d1f0d1f0d1f | ctr -n k8s.io task kill -s"
                        + " KILL ID",
                "0::/lxc.payload.web/init.scope | LXC's web | lxc-stop web",
                "0::/machine.slice/machine-a\\x2db.scope/payload | systemd's machine a-b"
                        + " | machinectl stop a-b",
            })
    void engineIsKnownByItsNames(String cgroup, String title, String stop) {
        assertEquals(
                Optional.of(new OtherContainer(title, stop.replace("ID", ID))),
                OtherContainer.in(cgroup.replace("ID", ID) + "\n"));
    }

    /** The directory of a container's cgroup leads to the command of its engine. */
    @ParameterizedTest
    @CsvSource({
        "/sys/fs/cgroup/devices/libpod_parent/libpod-ID, podman stop one",
        "/sys/fs/cgroup/devices/default/one, ctr -n default task kill -s KILL one",
        "/sys/fs/cgroup/default/one, ctr -n default task kill -s KILL one",
        "/sys/fs/cgroup/user.slice/default/one, docker stop one",
        "/sys/fs/cgroup/docker/ID, docker stop one",
    })
    void engineOfACgroupStopsTheContainer(String cgroup, String stop) {
        assertEquals(stop, OtherContainer.toStop(Optional.of(cgroup.replace("ID", ID)), "one"));
    }

    /** A user may name a cgroup of their own so, that root stops another's container. */
    @ParameterizedTest
    @CsvSource({
        "0::/user.slice/user-1000.slice/user@1000.service/lxc.payload.web",
        "0::/user.slice/user-1000.slice/user@1000.service/machine.slice/machine-web.scope",
        "0::/user.slice/user-1000.slice/user@1000.service/default/web",
        "0::/system.slice/ssh.service",
    })
    void othersNamesDoNotCount(String cgroup) {
        assertEquals(Optional.empty(), OtherContainer.in(cgroup + "\n"));
    }
}
