package jnvdocker.volume.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads one ELF file. Every position and length in it is checked before it is used, and no table is
 * read that is larger than the bounds here, many times those of real libraries.
 */
final class ElfReader {
    private static final int MAX_SEGMENTS = 512;
    private static final int MAX_DYNAMIC = 1 << 18;
    private static final int MAX_NOTES = 1 << 16;
    private static final int MAX_NEEDED = 1024;
    private static final int MAX_STRING = 4096;

    private static final int PT_LOAD = 1;
    private static final int PT_DYNAMIC = 2;
    private static final int PT_NOTE = 4;
    private static final long DT_NULL = 0;
    private static final long DT_NEEDED = 1;
    private static final long DT_STRTAB = 5;
    private static final long DT_STRSZ = 10;
    private static final long DT_SONAME = 14;
    private static final int NT_GNU_ABI_TAG = 1;
    private static final byte[] GNU = {'G', 'N', 'U', 0};

    /** The source of bytes. Called only with positions and lengths inside the file. */
    interface Bytes {
        void read(ByteBuffer into, long at) throws IOException;
    }

    private record Segment(int type, long offset, long address, long size, long align) {}

    private record Dynamic(List<Long> needed, long soname, long strings, long stringsSize) {}

    private final long size;
    private final Bytes file;
    private ByteOrder order = ByteOrder.LITTLE_ENDIAN;
    private boolean wide;

    ElfReader(long size, Bytes file) {
        this.size = size;
        this.file = file;
    }

    ElfFile read() throws IOException {
        ByteBuffer ident = slice(0, 16, 16);
        if (ident.getInt(0) != 0x464c457f) {
            throw new MalformedFileException("not an ELF file");
        }
        wide = oneOrTwo(ident.get(4), "class") == 2;
        order = oneOrTwo(ident.get(5), "byte order") == 1 ? order : ByteOrder.BIG_ENDIAN;
        ByteBuffer header = slice(0, wide ? 64 : 52, 64);
        int machine = Short.toUnsignedInt(header.getShort(18));
        List<Segment> segments = segments(header);

        List<String> needed = new ArrayList<>();
        String soname = null;
        Dynamic dynamic = dynamic(segments);
        if (dynamic != null) {
            long strings = offsetOf(segments, dynamic.strings());
            for (long name : dynamic.needed()) {
                needed.add(string(strings, dynamic.stringsSize(), name));
            }
            if (dynamic.soname() >= 0) {
                soname = string(strings, dynamic.stringsSize(), dynamic.soname());
            }
        }
        return new ElfFile(wide ? 64 : 32, order, machine, soname, needed, abi(segments));
    }

    private Dynamic dynamic(List<Segment> segments) throws IOException {
        Dynamic dynamic = null;
        for (Segment segment : segments) {
            if (segment.type() == PT_DYNAMIC) {
                if (dynamic != null) {
                    throw new MalformedFileException("two dynamic sections");
                }
                dynamic = dynamic(segment);
            }
        }
        return dynamic;
    }

    private List<Segment> segments(ByteBuffer header) throws IOException {
        long at = word(header, wide ? 32 : 28);
        int entry = Short.toUnsignedInt(header.getShort(wide ? 54 : 42));
        int count = Short.toUnsignedInt(header.getShort(wide ? 56 : 44));
        if (count == 0) {
            return List.of();
        }
        if (entry != (wide ? 56 : 32) || count > MAX_SEGMENTS) {
            throw new MalformedFileException(count + " program headers of " + entry + " bytes");
        }
        ByteBuffer table = slice(at, (long) count * entry, MAX_SEGMENTS * 56L);
        List<Segment> segments = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            segments.add(segment(table, i * entry));
        }
        for (Segment segment : segments) {
            if (segment.type() == PT_LOAD) {
                checkInside(segment.offset(), segment.size());
            }
        }
        return segments;
    }

    private Segment segment(ByteBuffer table, int at) {
        return wide
                ? new Segment(
                        table.getInt(at),
                        table.getLong(at + 8),
                        table.getLong(at + 16),
                        table.getLong(at + 32),
                        table.getLong(at + 48))
                : new Segment(
                        table.getInt(at),
                        word(table, at + 4),
                        word(table, at + 8),
                        word(table, at + 16),
                        word(table, at + 28));
    }

    private Dynamic dynamic(Segment segment) throws IOException {
        ByteBuffer table = slice(segment.offset(), segment.size(), MAX_DYNAMIC);
        int half = wide ? 8 : 4;
        List<Long> needed = new ArrayList<>();
        long soname = -1;
        long strings = 0;
        long stringsSize = 0;
        for (int at = 0; at + 2 * half <= table.limit(); at += 2 * half) {
            long tag = word(table, at);
            long value = word(table, at + half);
            if (tag == DT_NULL) {
                break;
            } else if (tag == DT_NEEDED) {
                needed.add(value);
            } else if (tag == DT_SONAME) {
                soname = value & Long.MAX_VALUE;
            } else if (tag == DT_STRTAB) {
                strings = value;
            } else if (tag == DT_STRSZ) {
                stringsSize = value;
            }
        }
        if (needed.size() > MAX_NEEDED) {
            throw new MalformedFileException("it needs " + needed.size() + " libraries");
        }
        return new Dynamic(needed, soname, strings, stringsSize);
    }

    /** The position in the file of the byte that the loader maps at an address. */
    private static long offsetOf(List<Segment> segments, long address)
            throws MalformedFileException {
        for (Segment segment : segments) {
            long into = address - segment.address();
            if (segment.type() == PT_LOAD && into >= 0 && into < segment.size()) {
                return segment.offset() + into;
            }
        }
        throw new MalformedFileException("its string table is in no loaded segment");
    }

    private String string(long table, long tableSize, long at) throws IOException {
        if (at < 0 || at >= tableSize || table < 0 || table > size || at >= size - table) {
            throw new MalformedFileException("a name outside its string table");
        }
        long most = Math.min(tableSize - at, size - table - at);
        ByteBuffer bytes = slice(table + at, Math.min(most, MAX_STRING + 1L), MAX_STRING + 1L);
        for (int end = 0; end < bytes.limit(); end++) {
            if (bytes.get(end) == 0) {
                return StandardCharsets.UTF_8.decode(bytes.slice(0, end)).toString();
            }
        }
        throw new MalformedFileException("a name without end in its string table");
    }

    private String abi(List<Segment> segments) throws IOException {
        for (Segment segment : segments) {
            if (segment.type() == PT_NOTE) {
                ByteBuffer notes = slice(segment.offset(), segment.size(), MAX_NOTES);
                String abi = abi(notes, segment.align() == 8 ? 8 : 4);
                if (abi != null) {
                    return abi;
                }
            }
        }
        return null;
    }

    private static String abi(ByteBuffer notes, int align) throws MalformedFileException {
        long at = 0;
        while (at + 12 <= notes.limit()) {
            int start = (int) at;
            long name = Integer.toUnsignedLong(notes.getInt(start));
            long text = Integer.toUnsignedLong(notes.getInt(start + 4));
            long textAt = (at + 12 + name + align - 1) & -align;
            if (textAt + text > notes.limit()) {
                throw new MalformedFileException("a note longer than its segment");
            }
            if (notes.getInt(start + 8) == NT_GNU_ABI_TAG
                    && text >= 16
                    && name == GNU.length
                    && notes.slice(start + 12, GNU.length).equals(ByteBuffer.wrap(GNU))) {
                return version(notes, (int) textAt + 4);
            }
            at = (textAt + text + align - 1) & -align;
        }
        return null;
    }

    private static String version(ByteBuffer notes, int at) {
        return Integer.toUnsignedString(notes.getInt(at))
                + "."
                + Integer.toUnsignedString(notes.getInt(at + 4))
                + "."
                + Integer.toUnsignedString(notes.getInt(at + 8));
    }

    private ByteBuffer slice(long at, long length, long most) throws IOException {
        checkInside(at, length);
        if (length > most) {
            throw new MalformedFileException("a table of " + length + " bytes at " + at);
        }
        ByteBuffer bytes = ByteBuffer.allocate((int) length);
        file.read(bytes, at);
        return bytes.flip().order(order);
    }

    private void checkInside(long at, long length) throws MalformedFileException {
        if (at < 0 || length < 0 || at > size || length > size - at) {
            throw new MalformedFileException(
                    "it ends before byte " + Long.toUnsignedString(at + length));
        }
    }

    private long word(ByteBuffer bytes, int at) {
        return wide ? bytes.getLong(at) : Integer.toUnsignedLong(bytes.getInt(at));
    }

    private static byte oneOrTwo(byte value, String what) throws MalformedFileException {
        if (value != 1 && value != 2) {
            throw new MalformedFileException("unknown " + what + " " + value);
        }
        return value;
    }
}
