package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;

/**
 * The dynamic loader's cache, {@code /etc/ld.so.cache}: which file the loader takes for a name.
 * Where a name is listed twice for one architecture, the loader takes the first.
 *
 * <p>Format {@code glibc-ld.so.cache1.1} (glibc's {@code sysdeps/generic/dl-cache.h}), alone or
 * after the older {@code ld.so-1.7.0} cache that glibc wrote before it until 2.31.
 */
record LdCache(List<Entry> entries) {
    static final String PATH = "/etc/ld.so.cache";

    private static final byte[] OLD_MAGIC = ascii("ld.so-1.7.0");
    private static final int OLD_HEADER = 16;
    private static final int OLD_ENTRY = 12;
    private static final byte[] MAGIC = ascii("glibc-ld.so.cache1.1");
    private static final int HEADER = 48;
    private static final int ENTRY = 24;
    private static final int ENDIAN_LITTLE = 2;
    private static final int MAX_SIZE = 64 << 20;
    private static final int MAX_ENTRIES = 1 << 16;
    private static final int MAX_STRING = 4096;

    /** Entries may share strings, so the size of the file does not bound their sum. */
    private static final int MAX_TEXT = 32 << 20;

    /**
     * @param name the name that programs ask for: {@code libcuda.so.1}
     * @param path the file that answers, as the host spells it; often a symbolic link
     * @param flags glibc's: kind of library in the low byte, architecture in the next
     */
    record Entry(String name, String path, int flags) {}

    LdCache {
        entries = List.copyOf(entries);
    }

    /**
     * @throws NoSuchFileException when the host has none; its loader then knows its default
     *     directories only
     * @throws DriverVolumeException when it is damaged or cannot be read
     */
    static LdCache read(Host host) throws IOException {
        Path file = host.resolveParent(PATH);
        try {
            file = host.resolve(PATH);
            // Opening a pipe would block.
            var facts = Files.readAttributes(file, BasicFileAttributes.class);
            if (!facts.isRegularFile()) {
                throw new IOException("not a regular file");
            }
            if (facts.size() > MAX_SIZE) {
                throw new MalformedFileException("larger than 64 MiB");
            }
            return parse(ByteBuffer.wrap(Files.readAllBytes(file)));
        } catch (NoSuchFileException e) {
            throw e;
        } catch (MalformedFileException e) {
            throw new DriverVolumeException(
                    "the loader cache " + file + " is damaged: " + e.getMessage(),
                    "run ldconfig to write it again");
        } catch (IOException e) {
            throw new DriverVolumeException(
                    "cannot read the loader cache " + file + ": " + FileErrors.reason(e),
                    "remove it and run ldconfig to write it again");
        }
    }

    static LdCache parse(ByteBuffer file) throws MalformedFileException {
        ByteBuffer bytes = file.slice().order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer cache = afterOldCache(bytes).order(ByteOrder.LITTLE_ENDIAN);
        if (!startsWith(cache, MAGIC) || cache.limit() < HEADER) {
            throw new MalformedFileException("no glibc-ld.so.cache1.1 in it");
        }
        int endian = cache.get(28) & 3;
        if (endian != 0 && endian != ENDIAN_LITTLE) {
            throw new MalformedFileException("written for a big-endian machine");
        }
        long count = Integer.toUnsignedLong(cache.getInt(20));
        if (HEADER + count * ENTRY > cache.limit()) {
            throw new MalformedFileException(count + " entries announced, the file is too short");
        }
        if (count > MAX_ENTRIES) {
            throw new MalformedFileException(count + " entries");
        }
        return new LdCache(entries(cache, (int) count));
    }

    private static List<Entry> entries(ByteBuffer cache, int count) throws MalformedFileException {
        List<Entry> entries = new ArrayList<>();
        long text = 0;
        for (int i = 0; i < count; i++) {
            Entry entry = entry(cache, HEADER + i * ENTRY);
            text += entry.name().length() + entry.path().length();
            if (text > MAX_TEXT) {
                throw new MalformedFileException("more than 32 MiB of text");
            }
            entries.add(entry);
        }
        return entries;
    }

    private static Entry entry(ByteBuffer cache, int at) throws MalformedFileException {
        String name = string(cache, cache.getInt(at + 4));
        String path = string(cache, cache.getInt(at + 8));
        return new Entry(name, path, cache.getInt(at));
    }

    /** Positions of the strings count from the start of the newer cache, wherever that is. */
    private static ByteBuffer afterOldCache(ByteBuffer bytes) throws MalformedFileException {
        if (!startsWith(bytes, OLD_MAGIC)) {
            return bytes;
        }
        if (bytes.limit() < OLD_HEADER) {
            throw new MalformedFileException("it ends in its header");
        }
        long count = Integer.toUnsignedLong(bytes.getInt(12));
        long end = OLD_HEADER + count * OLD_ENTRY;
        long start = (end + 7) & ~7L;
        if (start > bytes.limit()) {
            throw new MalformedFileException(count + " entries announced, the file is too short");
        }
        return bytes.slice((int) start, bytes.limit() - (int) start);
    }

    private static String string(ByteBuffer cache, int offset) throws MalformedFileException {
        if (offset < 0 || offset >= cache.limit()) {
            throw new MalformedFileException(
                    "a string at " + Integer.toUnsignedLong(offset) + ", behind its end");
        }
        int limit = Math.min(cache.limit(), offset + MAX_STRING + 1);
        for (int end = offset; end < limit; end++) {
            if (cache.get(end) == 0) {
                byte[] text = new byte[end - offset];
                cache.get(offset, text);
                return new String(text, StandardCharsets.UTF_8);
            }
        }
        throw new MalformedFileException("a string without end at " + offset);
    }

    private static boolean startsWith(ByteBuffer bytes, byte[] magic) {
        return bytes.limit() >= magic.length
                && bytes.slice(0, magic.length).equals(ByteBuffer.wrap(magic));
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
