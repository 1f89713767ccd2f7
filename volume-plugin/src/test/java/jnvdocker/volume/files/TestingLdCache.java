package jnvdocker.volume.files;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Writes a loader cache as ldconfig does. */
final class TestingLdCache {
    private TestingLdCache() {}

    static LdCache.Entry entry(String name, String path) {
        return new LdCache.Entry(name, path, 0x0303);
    }

    static byte[] bytes(List<LdCache.Entry> entries) {
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        int stringsAt = 48 + 24 * entries.size();
        ByteBuffer head = ByteBuffer.allocate(stringsAt).order(ByteOrder.LITTLE_ENDIAN);
        head.put("glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII));
        head.putInt(entries.size()).putInt(0).put((byte) 2);
        head.position(48);
        for (LdCache.Entry entry : entries) {
            head.putInt(entry.flags());
            head.putInt(stringsAt + add(strings, entry.name()));
            head.putInt(stringsAt + add(strings, entry.path()));
            head.putInt(0).putLong(0);
        }
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        file.writeBytes(head.array());
        file.writeBytes(strings.toByteArray());
        return file.toByteArray();
    }

    /**
     * The format of glibc until 2.31: an old cache, whose entries nothing reads, before the new
     * one.
     */
    static byte[] afterOldCache(byte[] cache, int oldEntries) {
        int size = (16 + 12 * oldEntries + 7) & ~7;
        ByteBuffer file = ByteBuffer.allocate(size + cache.length).order(ByteOrder.LITTLE_ENDIAN);
        file.put("ld.so-1.7.0\0".getBytes(StandardCharsets.US_ASCII)).putInt(oldEntries);
        return file.position(size).put(cache).array();
    }

    private static int add(ByteArrayOutputStream strings, String text) {
        int at = strings.size();
        strings.writeBytes((text + "\0").getBytes(StandardCharsets.UTF_8));
        return at;
    }

    /** By glibc's architecture, x86-64 or aarch64, in the second byte of the flags. */
    static boolean is64Bit(LdCache.Entry entry) {
        int architecture = entry.flags() & 0xff00;
        return architecture == 0x0300 || architecture == 0x0a00;
    }
}
