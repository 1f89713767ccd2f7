package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.host.Host;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

class LdCacheTest {
    private static final List<LdCache.Entry> ENTRIES =
            List.of(
                    new LdCache.Entry("libcuda.so.1", "/usr/lib64/libcuda.so.1", 0x0303),
                    new LdCache.Entry("libcuda.so.1", "/usr/lib/libcuda.so.1", 0x0003),
                    new LdCache.Entry("libc.so.6", "/lib64/libc.so.6", 0x0303));

    @TempDir Path directory;

    @Test
    void entriesAreReadInTheLoadersOrder() throws Exception {
        LdCache cache = parse(TestingLdCache.bytes(ENTRIES));

        assertEquals(ENTRIES, cache.entries());
    }

    @Test
    void oldCacheBeforeTheNewOneIsSkipped() throws Exception {
        for (int oldEntries = 0; oldEntries < 4; oldEntries++) {
            byte[] bytes = TestingLdCache.afterOldCache(TestingLdCache.bytes(ENTRIES), oldEntries);
            assertEquals(ENTRIES, parse(bytes).entries());
        }
    }

    @Test
    void everyTruncationIsSaidToBeDamage() {
        byte[] bytes = TestingLdCache.bytes(ENTRIES);
        for (int length = 0; length < bytes.length; length++) {
            byte[] part = Arrays.copyOf(bytes, length);
            assertThrows(MalformedFileException.class, () -> parse(part), "length " + length);
        }
    }

    @Test
    void anyBytesGiveEntriesOrTheOneException() {
        Random random = new Random(1);
        byte[] good = TestingLdCache.afterOldCache(TestingLdCache.bytes(ENTRIES), 2);
        for (int i = 0; i < 50_000; i++) {
            byte[] bytes = good.clone();
            for (int flips = random.nextInt(1, 6); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                parse(bytes);
            } catch (MalformedFileException e) {
                assertFalse(e.getMessage().isEmpty());
            }
        }
    }

    @Test
    void stringWithoutEndIsDamage() {
        byte[] bytes =
                TestingLdCache.bytes(List.of(TestingLdCache.entry("x".repeat(5000), "/usr/lib/x")));
        assertThrows(MalformedFileException.class, () -> parse(bytes));
    }

    @Test
    void bigEndianIsRefused() {
        byte[] bytes = TestingLdCache.bytes(ENTRIES);
        bytes[28] = 3;
        assertThrows(MalformedFileException.class, () -> parse(bytes));
    }

    @Test
    void damageNamesTheFileAndTheRemedy() throws Exception {
        Host host = TestingHost.empty(directory).cache(new byte[100]).host();

        Exception e = assertThrows(DriverVolumeException.class, () -> LdCache.read(host));
        assertTrue(e.getMessage().contains(directory.toRealPath() + "/etc/ld.so.cache"));
        assertTrue(e.getMessage().contains("run ldconfig"));
    }

    @Test
    void missingCacheIsToldApartFromADamagedOne() throws Exception {
        Host host = TestingHost.empty(directory).host();
        assertThrows(NoSuchFileException.class, () -> LdCache.read(host));
    }

    @Test
    void thisMachinesCacheKnowsLibc() throws Exception {
        assumeTrue(Files.exists(Path.of(LdCache.PATH)), "no loader cache on this machine");
        assertTrue(
                LdCache.read(Host.at(Path.of("/"))).entries().stream()
                        .anyMatch(entry ->
                                entry.name().equals("libc.so.6") && TestingLdCache.is64Bit(entry)));
    }

    private static LdCache parse(byte[] bytes) throws MalformedFileException {
        return LdCache.parse(ByteBuffer.wrap(bytes));
    }
}
