package jnvdocker.volume;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.nio.file.Path;

class MountInfoTest {
    private static final String TEXT =
            """
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
            23 22 0:5 / /var rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw
            24 23 0:6 / /var/lib/with\\040blank rw,relatime master:2 - xfs /dev/vdb rw
            25 22 0:7 / /srv rw,noexec - ext4 /dev/vdc rw
            26 22 0:8 / /srv rw - ext4 /dev/vdd rw
            """;

    @Test
    void deepestMountHoldsAPath() throws Exception {
        MountInfo mounts = MountInfo.parse(TEXT);

        assertEquals("/", mounts.of(Path.of("/opt")).point());
        assertEquals("/var", mounts.of(Path.of("/var/lib/jnvdocker")).point());
        assertEquals("/var/lib/with blank", mounts.of(Path.of("/var/lib/with blank/x")).point());
        assertEquals("/", mounts.of(Path.of("/variant")).point());
    }

    @Test
    void noexecIsSeen() throws Exception {
        MountInfo mounts = MountInfo.parse(TEXT);

        assertTrue(mounts.of(Path.of("/var/lib")).forbidsExecution());
        assertFalse(mounts.of(Path.of("/var/lib/with blank")).forbidsExecution());
    }

    @Test
    void laterMountCoversAnEarlierOneAtTheSamePlace() throws Exception {
        assertFalse(MountInfo.parse(TEXT).of(Path.of("/srv/state")).forbidsExecution());
    }

    @Test
    void lineThatIsNoneIsRefused() {
        assertThrows(MalformedFileException.class, () -> MountInfo.parse("22 1 what"));
    }

    @Test
    void thisMachineHasARoot() throws Exception {
        assertEquals("/", MountInfo.read().of(Path.of("/")).point());
    }
}
