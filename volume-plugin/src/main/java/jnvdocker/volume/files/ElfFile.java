package jnvdocker.volume.files;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;

/**
 * The facts in a shared library or a program about itself, read by way of its program headers as
 * the loader does: section headers may be stripped. Only the few bytes that matter are read,
 * whatever the size of the file.
 */
final class ElfFile {
    /** {@code e_machine}, from elf.h. */
    static final int I386 = 3;

    static final int PPC64 = 21;
    static final int ARM = 40;
    static final int X86_64 = 62;
    static final int AARCH64 = 183;
    static final int RISCV = 243;

    private final int bits;
    private final ByteOrder order;
    private final int machine;
    private final String soname;
    private final List<String> needed;
    private final String abi;

    ElfFile(
            int bits,
            ByteOrder order,
            int machine,
            String soname,
            List<String> needed,
            String abi) {
        this.bits = bits;
        this.order = order;
        this.machine = machine;
        this.soname = soname;
        this.needed = List.copyOf(needed);
        this.abi = abi;
    }

    /**
     * @throws MalformedFileException when it is no ELF file, or a damaged one
     */
    static ElfFile read(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            return new ElfReader(channel.size(), (into, at) -> fill(channel, into, at)).read();
        }
    }

    /** 32 or 64. */
    int bits() {
        return bits;
    }

    ByteOrder order() {
        return order;
    }

    /** {@code e_machine}: {@link #X86_64} and so on. */
    int machine() {
        return machine;
    }

    /** The name that is requested by programs that link to it; a program has none. */
    Optional<String> soname() {
        return Optional.ofNullable(soname);
    }

    /** The names of the libraries it needs, in its order. */
    List<String> needed() {
        return needed;
    }

    /** The oldest kernel it runs on, such as {@code 2.3.99}, when it has a note that says so. */
    Optional<String> abi() {
        return Optional.ofNullable(abi);
    }

    private static void fill(FileChannel channel, ByteBuffer into, long at) throws IOException {
        long position = at;
        while (into.hasRemaining()) {
            int count = channel.read(into, position);
            if (count < 0) {
                throw new MalformedFileException("it became shorter while it was read");
            }
            position += count;
        }
    }
}
