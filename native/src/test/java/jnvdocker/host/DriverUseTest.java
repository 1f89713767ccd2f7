package jnvdocker.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jna.Library;
import com.sun.jna.Native;

import jnvdocker.attack.Attack;
import jnvdocker.posix.Posix;
import jnvdocker.process.Credentials;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.Set;

@Attack(
        by = "any user",
        what =
                "has more files open than one scan reads, and a GPU's node open by an access"
                        + " list or a capability",
        result = "counts as a user of the GPU until all have been read")
class DriverUseTest {
    private static final Gpu GPU = new Gpu(0, "GPU-1", 3, "0000:00:00.0", "A100");

    @TempDir Path root;
    private DriverUse driver;

    @BeforeEach
    void open() throws IOException {
        driver = new DriverUse(Host.at(root));
    }

    private void module(String uses, String... holders) throws IOException {
        Path module = Files.createDirectories(root.resolve("sys/module/nvidia"));
        Files.writeString(module.resolve("refcnt"), uses + "\n");
        for (String holder : holders) {
            Files.createDirectories(module.resolve("holders").resolve(holder));
        }
    }

    @Test
    void driverThatOnlyItsModulesUseIsUnused() throws IOException {
        Files.createDirectories(root.resolve("sys/module/nvidia/holders"));
        module("0");
        assertTrue(driver.isUnused());
        module("2", "nvidia_uvm", "nvidia_modeset");
        assertTrue(driver.isUnused());
    }

    @Test
    void openGraphicsNodeIsAUse() throws IOException {
        Path graphics = root.resolve("sys/module/nvidia_drm");
        Files.createDirectories(graphics.resolve("holders"));
        module("1", "nvidia_drm");
        Files.writeString(graphics.resolve("refcnt"), "0\n");
        assertTrue(driver.isUnused());
        Files.writeString(graphics.resolve("refcnt"), "1\n");
        assertFalse(driver.isUnused());
    }

    @Test
    void anyOtherUseMayBeSomebodys() throws IOException {
        module("3", "nvidia_uvm", "nvidia_modeset");
        assertFalse(driver.isUnused());
        module("-1", "nvidia_uvm");
        assertFalse(driver.isUnused());
    }

    @Test
    void missingKernelFiguresDoNotCountAsUnused() throws IOException {
        assertFalse(driver.isUnused());
        Files.createDirectories(root.resolve("sys/module/nvidia"));
        Files.writeString(root.resolve("sys/module/nvidia/version"), "535.261.03\n");
        assertFalse(driver.isUnused());
        Files.writeString(root.resolve("sys/module/nvidia/refcnt"), "0\n");
        assertFalse(driver.isUnused(), "no directory of holders");
    }

    @ParameterizedTest
    @CsvSource({
        "0666, 1000, 1000, true",
        "0660, 1000, 1000, false",
        "0660, 1000, OWN, true",
        "0660, 0, 1000, true",
        "0600, OWN, 1000, true",
        "0600, 1000, OWN, false",
    })
    void nodeSaysWhoMayOpenIt(String mode, String uid, String gid, boolean may) throws IOException {
        Path node = root.resolve("dev/nvidia3");
        Files.createDirectories(node.getParent());
        Files.createFile(node);
        Posix.chmod(node, Integer.parseInt(mode, 8));
        int user = uid.equals("OWN") ? (int) Files.getAttribute(node, "unix:uid") : number(uid);
        int group = gid.equals("OWN") ? (int) Files.getAttribute(node, "unix:gid") : number(gid);
        assertEquals(may, driver.mayOpen(GPU, new Credentials(user, Set.of(4, group))));
    }

    /** Then the node's bits are those of the list's mask. */
    @Test
    void accessListOfTheNodeCounts() throws IOException {
        Path node = Files.createDirectories(root.resolve("dev")).resolve("nvidia3");
        Posix.chmod(Files.createFile(node), 0600);
        Credentials user = new Credentials(1000, Set.of(1));
        Credentials member = new Credentials(1001, Set.of(1, 44));
        assertFalse(driver.mayOpen(GPU, user));
        assertEquals(
                0,
                Attributes.LIBC.setxattr(
                        node.toString(), "system.posix_acl_access", LIST, LIST.length, 0));
        assertTrue(driver.mayOpen(GPU, user));
        assertTrue(driver.mayOpen(GPU, member));
        assertFalse(driver.mayOpen(GPU, new Credentials(1001, Set.of(1))));
    }

    @Test
    void processWithACapabilityMayOpenEveryNode() throws IOException {
        Path node = Files.createDirectories(root.resolve("dev")).resolve("nvidia3");
        Posix.chmod(Files.createFile(node), 0600);
        assertTrue(driver.mayOpen(GPU, new Credentials(1000, Set.of(), true)));
    }

    private interface Attributes extends Library {
        Attributes LIBC = Native.load("c", Attributes.class);

        int setxattr(String path, String name, byte[] value, long size, int flags);
    }

    /** For the user 1000 and the group 44, too. */
    private static final byte[] LIST =
            HexFormat.of()
                    .parseHex(
                            "02000000"
                                    + "01000600ffffffff"
                                    + "02000600e8030000"
                                    + "04000000ffffffff"
                                    + "080004002c000000"
                                    + "10000600ffffffff"
                                    + "20000000ffffffff");

    private static int number(String id) {
        return Integer.parseInt(id);
    }
}
