package jnvdocker.volume.files;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Makes the smallest shared library with the properties that a test sets. */
public final class TestingElf {
    private static final int BASE = 0x10000;
    private static final int CODE = 64;

    private boolean wide = true;
    private ByteOrder order = ByteOrder.LITTLE_ENDIAN;
    private int machine = ElfFile.X86_64;
    private String soname;
    private final List<String> needed = new ArrayList<>();
    private int[] abi;

    public static TestingElf library() {
        return new TestingElf();
    }

    static ElfFile parse(byte[] bytes) throws IOException {
        ElfReader.Bytes memory = (into, at) -> into.put(bytes, (int) at, into.remaining());
        return new ElfReader(bytes.length, memory).read();
    }

    /** A 64-bit library of x86-64 that has this SONAME. */
    public static TestingElf library(String soname) {
        return new TestingElf().soname(soname);
    }

    TestingElf bits(int bits) {
        wide = bits == 64;
        return this;
    }

    TestingElf i386() {
        machine = ElfFile.I386;
        return bits(32);
    }

    TestingElf machine(int number) {
        machine = number;
        return this;
    }

    TestingElf bigEndian() {
        order = ByteOrder.BIG_ENDIAN;
        return this;
    }

    TestingElf soname(String name) {
        soname = name;
        return this;
    }

    public TestingElf needs(String... libraries) {
        needed.addAll(List.of(libraries));
        return this;
    }

    TestingElf abi(int major, int minor, int patch) {
        abi = new int[] {major, minor, patch};
        return this;
    }

    void write(Path file) throws IOException {
        Files.createDirectories(file.getParent());
        Files.write(file, bytes());
    }

    /** Header, program headers, dynamic section, strings, note, and code that is none. */
    byte[] bytes() {
        ByteArrayOutputStream strings = new ByteArrayOutputStream();
        strings.write(0);
        List<long[]> dynamic = new ArrayList<>();
        needed.forEach(name -> dynamic.add(new long[] {1, add(strings, name)}));
        if (soname != null) {
            dynamic.add(new long[] {14, add(strings, soname)});
        }
        int segments = abi == null ? 2 : 3;
        int header = wide ? 64 : 52;
        int dynamicAt = header + segments * (wide ? 56 : 32);
        int dynamicSize = (dynamic.size() + 3) * (wide ? 16 : 8);
        int stringsAt = dynamicAt + dynamicSize;
        dynamic.add(new long[] {5, BASE + stringsAt});
        dynamic.add(new long[] {10, strings.size()});
        dynamic.add(new long[] {0, 0});
        int noteAt = (stringsAt + strings.size() + 3) & ~3;
        int end = noteAt + (abi == null ? 0 : 32) + CODE;

        ByteBuffer file = ByteBuffer.allocate(end).order(order);
        header(file, header, segments);
        segment(file, 1, 0, end);
        segment(file, 2, dynamicAt, dynamicSize);
        if (abi != null) {
            segment(file, 4, noteAt, 32);
        }
        for (long[] entry : dynamic) {
            word(file, entry[0]);
            word(file, entry[1]);
        }
        file.put(strings.toByteArray());
        if (abi != null) {
            file.position(noteAt);
            file.putInt(4).putInt(16).putInt(1).put(new byte[] {'G', 'N', 'U', 0});
            file.putInt(0).putInt(abi[0]).putInt(abi[1]).putInt(abi[2]);
        }
        return file.array();
    }

    private void header(ByteBuffer file, int size, int segments) {
        file.put(new byte[] {0x7f, 'E', 'L', 'F'});
        file.put((byte) (wide ? 2 : 1));
        file.put((byte) (order == ByteOrder.LITTLE_ENDIAN ? 1 : 2)).put((byte) 1);
        file.position(16);
        file.putShort((short) 3).putShort((short) machine).putInt(1);
        word(file, 0);
        word(file, size);
        word(file, 0);
        file.putInt(0).putShort((short) size);
        file.putShort((short) (wide ? 56 : 32)).putShort((short) segments);
        file.position(size);
    }

    private void segment(ByteBuffer file, int type, long offset, long size) {
        file.putInt(type);
        if (wide) {
            file.putInt(4).putLong(offset).putLong(BASE + offset).putLong(0);
            file.putLong(size).putLong(size).putLong(4);
        } else {
            file.putInt((int) offset).putInt((int) (BASE + offset)).putInt(0);
            file.putInt((int) size).putInt((int) size).putInt(4).putInt(4);
        }
    }

    private void word(ByteBuffer file, long value) {
        if (wide) {
            file.putLong(value);
        } else {
            file.putInt((int) value);
        }
    }

    private static long add(ByteArrayOutputStream strings, String text) {
        long at = strings.size();
        strings.writeBytes((text + "\0").getBytes(StandardCharsets.UTF_8));
        return at;
    }
}
