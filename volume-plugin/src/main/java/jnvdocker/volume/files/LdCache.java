package jnvdocker.volume.files;

import jnvdocker.host.Host;
import jnvdocker.posix.FileErrors;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * The dynamic loader's cache, {@code /etc/ld.so.cache}: which file the loader takes for a name.
 * Where a name is listed twice for one architecture, the loader takes the first. It searches the
 * entries by halves, so they are in descending order of their names, as {@link #compare} has it.
 *
 * <p>Format {@code glibc-ld.so.cache1.1} (glibc's {@code sysdeps/generic/dl-cache.h}), alone or
 * after the older {@code ld.so-1.7.0} cache that glibc wrote before it until 2.31.
 */
public record LdCache(List<Entry> entries, List<String> processors) {
    public static final String PATH = "/etc/ld.so.cache";

    private static final Comparator<Entry> BY_NAME =
            (one, other) -> compare(other.name(), one.name());

    private static final byte[] OLD_MAGIC = ascii("ld.so-1.7.0");
    private static final int OLD_HEADER = 16;
    private static final int OLD_ENTRY = 12;
    private static final byte[] MAGIC = ascii("glibc-ld.so.cache1.1");
    private static final int HEADER = 48;
    private static final int ENTRY = 24;
    private static final int ENDIAN_LITTLE = 2;
    private static final int ELF_LIBC6 = 3;
    private static final int MAX_SIZE = 64 << 20;
    private static final int MAX_ENTRIES = 1 << 16;
    private static final int MAX_STRING = 4096;

    /** Entries may share strings, so the size of the file does not bound their sum. */
    private static final int MAX_TEXT = 32 << 20;

    /** Behind the strings of newer caches: the names of the processors that hwcap counts. */
    private static final int EXTENSION_MAGIC = 0xeaa42174;

    private static final int EXTENSION_AT = 32;
    private static final int EXTENSION_HEADER = 8;
    private static final int SECTION = 16;
    private static final int SECTION_OF_PROCESSORS = 1;
    private static final int MAX_SECTIONS = 64;
    private static final int MAX_PROCESSORS = 1 << 10;

    /**
     * @param name the name that programs request: {@code libcuda.so.1}
     * @param path the file that answers, as the host spells it; often a symbolic link
     * @param flags glibc's: kind of library in the low byte, architecture in the next
     * @param system the oldest kernel that it is for, as older caches say it
     * @param hwcap the processors that it is for
     */
    public record Entry(String name, String path, int flags, int system, long hwcap) {
        /** An entry for every processor. */
        public Entry(String name, String path, int flags) {
            this(name, path, flags, 0, 0);
        }
    }

    public LdCache {
        entries = List.copyOf(entries);
        processors = List.copyOf(processors);
    }

    /** An empty one. */
    public static LdCache empty() {
        return new LdCache(List.of(), List.of());
    }

    /**
     * Returns the flags of entries for this machine's libraries.
     *
     * @param wide whether for those of 64 bits
     */
    public static int flags(boolean wide) throws DriverVolumeException {
        return ELF_LIBC6
                | switch (Machine.ofThisMachine()) {
                    case X86_64 -> wide ? 0x0300 : 0;
                    case AARCH64 -> wide ? 0x0a00 : 0x0900;
                };
    }

    /**
     * Returns this cache with other entries before those of the same names.
     *
     * @param without selects by their paths its own entries that are left out
     */
    public LdCache with(List<Entry> others, Predicate<String> without) {
        List<Entry> all = new ArrayList<>();
        Deque<Entry> left = new ArrayDeque<>(others.stream().sorted(BY_NAME).toList());
        // Keeps the order of the given entries: the cache need not be sorted.
        for (Entry entry : entries) {
            while (!left.isEmpty() && BY_NAME.compare(left.getFirst(), entry) <= 0) {
                all.add(left.removeFirst());
            }
            if (!without.test(entry.path())) {
                all.add(entry);
            }
        }
        all.addAll(left);
        return new LdCache(all, processors);
    }

    /** Returns the order of names, as glibc's {@code _dl_cache_libcmp}: numbers by their value. */
    static int compare(String one, String other) {
        int i = 0;
        int j = 0;
        while (i < one.length()) {
            char mine = one.charAt(i);
            char its = j < other.length() ? other.charAt(j) : 0;
            if (isDigit(mine) && isDigit(its)) {
                int value = 0;
                while (i < one.length() && isDigit(one.charAt(i))) {
                    value = 10 * value + one.charAt(i++) - '0';
                }
                int itsValue = 0;
                while (j < other.length() && isDigit(other.charAt(j))) {
                    itsValue = 10 * itsValue + other.charAt(j++) - '0';
                }
                if (value != itsValue) {
                    return Integer.compare(value, itsValue);
                }
            } else if (isDigit(mine) || isDigit(its)) {
                return isDigit(mine) ? 1 : -1;
            } else if (mine != its) {
                return mine - its;
            } else {
                i++;
                j++;
            }
        }
        return j < other.length() ? -1 : 0;
    }

    private static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
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
        return parse(file, StandardCharsets.UTF_8);
    }

    /** Reads the cache of an image, in which paths may be of any bytes, one character each. */
    public static LdCache parse(byte[] file) throws MalformedFileException {
        return parse(ByteBuffer.wrap(file), StandardCharsets.ISO_8859_1);
    }

    private static LdCache parse(ByteBuffer file, Charset charset) throws MalformedFileException {
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
        return new LdCache(entries(cache, (int) count, charset), processors(bytes, cache));
    }

    private static List<Entry> entries(ByteBuffer cache, int count, Charset charset)
            throws MalformedFileException {
        List<Entry> entries = new ArrayList<>();
        long text = 0;
        for (int i = 0; i < count; i++) {
            Entry entry = entry(cache, HEADER + i * ENTRY, charset);
            text += entry.name().length() + entry.path().length();
            if (text > MAX_TEXT) {
                throw new MalformedFileException("more than 32 MiB of text");
            }
            entries.add(entry);
        }
        return entries;
    }

    private static Entry entry(ByteBuffer cache, int at, Charset charset)
            throws MalformedFileException {
        String name = string(cache, cache.getInt(at + 4), charset);
        String path = string(cache, cache.getInt(at + 8), charset);
        return new Entry(
                name, path, cache.getInt(at), cache.getInt(at + 12), cache.getLong(at + 16));
    }

    /**
     * Positions of the extension count from the start of the file, its strings' from the cache's.
     */
    private static List<String> processors(ByteBuffer file, ByteBuffer cache)
            throws MalformedFileException {
        int at = cache.getInt(EXTENSION_AT);
        if (at == 0) {
            return List.of();
        }
        int count = checked(file, at, EXTENSION_HEADER, 4);
        if (file.getInt(at) != EXTENSION_MAGIC || count < 0 || count > MAX_SECTIONS) {
            throw new MalformedFileException("an extension of another kind at " + at);
        }
        for (int i = 0; i < count; i++) {
            int section = at + EXTENSION_HEADER + i * SECTION;
            int from = checked(file, section, SECTION, 8);
            int size = file.getInt(section + 12);
            if (file.getInt(section) == SECTION_OF_PROCESSORS) {
                if (size < 0 || size > MAX_PROCESSORS * Integer.BYTES) {
                    throw new MalformedFileException("names of processors in " + size + " bytes");
                }
                List<String> processors = new ArrayList<>();
                for (int each = 0; each + Integer.BYTES <= size; each += Integer.BYTES) {
                    int string = checked(file, from + each, Integer.BYTES, 0);
                    processors.add(string(cache, string, StandardCharsets.ISO_8859_1));
                }
                return processors;
            }
        }
        return List.of();
    }

    /** Returns a number of a record, all of which must be in the file. */
    private static int checked(ByteBuffer file, int record, int size, int at)
            throws MalformedFileException {
        if (record < 0 || record > file.limit() - size) {
            throw new MalformedFileException("an extension at " + record + ", behind its end");
        }
        return file.getInt(record + at);
    }

    /** Returns the file, as ldconfig writes it since glibc 2.32; every glibc since 2.2 reads it. */
    public byte[] bytes() {
        int stringsAt = HEADER + ENTRY * entries.size();
        Map<String, Integer> places = new HashMap<>();
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        ByteBuffer head = ByteBuffer.allocate(stringsAt).order(ByteOrder.LITTLE_ENDIAN);
        head.position(HEADER);
        for (Entry entry : entries) {
            head.putInt(entry.flags());
            head.putInt(stringsAt + place(entry.name(), places, strings));
            head.putInt(stringsAt + place(entry.path(), places, strings));
            head.putInt(entry.system()).putLong(entry.hwcap());
        }
        List<Integer> names =
                processors.stream().map(name -> stringsAt + place(name, places, strings)).toList();
        int extensionAt = (stringsAt + strings.size() + 3) & ~3;
        head.put(0, MAGIC).putInt(20, entries.size()).putInt(24, strings.size());
        head.put(28, (byte) ENDIAN_LITTLE);
        head.putInt(EXTENSION_AT, names.isEmpty() ? 0 : extensionAt);
        int size = names.isEmpty() ? 0 : EXTENSION_HEADER + SECTION + Integer.BYTES * names.size();
        ByteBuffer file = ByteBuffer.allocate(extensionAt + size).order(ByteOrder.LITTLE_ENDIAN);
        file.put(head.array()).put(strings.toByteArray()).position(extensionAt);
        if (!names.isEmpty()) {
            file.putInt(EXTENSION_MAGIC).putInt(1);
            file.putInt(SECTION_OF_PROCESSORS).putInt(0);
            file.putInt(extensionAt + EXTENSION_HEADER + SECTION);
            file.putInt(Integer.BYTES * names.size());
            names.forEach(file::putInt);
        }
        return file.array();
    }

    private static int place(
            String text, Map<String, Integer> places, ByteArrayOutputStream strings) {
        return places.computeIfAbsent(
                text,
                _ -> {
                    int at = strings.size();
                    strings.writeBytes((text + "\0").getBytes(StandardCharsets.ISO_8859_1));
                    return at;
                });
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

    private static String string(ByteBuffer cache, int offset, Charset charset)
            throws MalformedFileException {
        if (offset < 0 || offset >= cache.limit()) {
            throw new MalformedFileException(
                    "a string at " + Integer.toUnsignedLong(offset) + ", behind its end");
        }
        int limit = Math.min(cache.limit(), offset + MAX_STRING + 1);
        for (int end = offset; end < limit; end++) {
            if (cache.get(end) == 0) {
                byte[] text = new byte[end - offset];
                cache.get(offset, text);
                return new String(text, charset);
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
