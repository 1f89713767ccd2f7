package jnvdocker.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

class MountTableTest {
    private static final MountTable TABLE =
            MountTable.parse(
                    """
                    22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
                    23 22 0:5 / /var rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw
                    24 23 0:6 / /var/lib/with\\040blank rw,relatime master:2 - xfs /dev/vdb rw
                    25 22 0:7 / /srv rw,noexec - ext4 /dev/vdc rw
                    26 22 0:8 / /srv rw - ext4 /dev/vdd rw
                    27 22 0:9 /\\134r\\011t /mnt/é\\040\\012 rw - 9p share rw,trans=fd name
                    """);

    @Test
    void deepestMountHoldsAPath() {
        assertPoint("/", "/opt");
        assertPoint("/var", "/var/lib/jnvdocker");
        assertPoint("/var/lib/with blank", "/var/lib/with blank/x");
        assertPoint("/", "/variant");
    }

    @Test
    void noexecIsSeen() {
        assertTrue(holding("/var/lib").forbidsExecution());
        assertFalse(holding("/var/lib/with blank").forbidsExecution());
    }

    @Test
    void laterMountCoversAnEarlierOneAtTheSamePlace() {
        assertFalse(holding("/srv/state").forbidsExecution());
    }

    @Test
    void bytesAreEscapedOrAsTheyAre() {
        // Not found by its path, which Java cannot spell in every locale.
        Mount mount = TABLE.mounts().getLast();
        assertEquals("/mnt/é \n", mount.point());
        assertEquals("/\\r\tt", mount.root());
    }

    @Test
    void optionsOfTheMountAndOfItsFileSystemAreDistinguished() {
        Mount root = holding("/");
        assertEquals(List.of("rw", "relatime"), root.options());
        assertEquals(List.of("rw", "discard"), root.fileSystemOptions());
        assertEquals(List.of("rw", "trans=fd name"), TABLE.mounts().getLast().fileSystemOptions());
    }

    @Test
    void lineThatIsNoneIsLeftOut() {
        assertEquals(List.of(), MountTable.parse("22 1 what\n").mounts());
        assertEquals(Optional.empty(), MountTable.parse("").holding(Path.of("/")));
    }

    @Test
    void thisProcessHasARoot() throws IOException {
        assertEquals("/", MountTable.ofThisProcess().holding(Path.of("/")).orElseThrow().point());
    }

    private static Mount holding(String path) {
        return TABLE.holding(Path.of(path)).orElseThrow();
    }

    private static void assertPoint(String point, String path) {
        assertEquals(point, holding(path).point());
    }
}
