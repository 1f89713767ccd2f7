package jnvdocker.volume.files;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jnvdocker.host.Host;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;

class ElfFileTest {
    @TempDir Path directory;

    @Test
    void libraryOf64BitsSaysWhatItIs() throws Exception {
        ElfFile elf = TestingElf.parse(full().bytes());

        assertEquals(64, elf.bits());
        assertEquals(ElfFile.X86_64, elf.machine());
        assertEquals(ByteOrder.LITTLE_ENDIAN, elf.order());
        assertEquals(Optional.of("libnvidia-tls.so.1"), elf.soname());
        assertEquals(List.of("libc.so.6", "libm.so.6"), elf.needed());
        assertEquals(Optional.of("2.3.99"), elf.abi());
    }

    @Test
    void libraryOf32BitsIsReadAlike() throws Exception {
        ElfFile elf = TestingElf.parse(full().i386().bytes());

        assertEquals(32, elf.bits());
        assertEquals(ElfFile.I386, elf.machine());
        assertEquals(Optional.of("libnvidia-tls.so.1"), elf.soname());
        assertEquals(List.of("libc.so.6", "libm.so.6"), elf.needed());
        assertEquals(Optional.of("2.3.99"), elf.abi());
    }

    @Test
    void bigEndianIsRead() throws Exception {
        ElfFile elf = TestingElf.parse(full().bigEndian().machine(21).bytes());

        assertEquals(ByteOrder.BIG_ENDIAN, elf.order());
        assertEquals(21, elf.machine());
        assertEquals(Optional.of("libnvidia-tls.so.1"), elf.soname());
    }

    @Test
    void withoutSonameOrNoteThereIsNone() throws Exception {
        ElfFile elf = TestingElf.parse(TestingElf.library().bytes());

        assertEquals(Optional.empty(), elf.soname());
        assertEquals(Optional.empty(), elf.abi());
        assertEquals(List.of(), elf.needed());
    }

    @Test
    void textIsNoElfFile() {
        byte[] script = "#!/bin/sh\nexec nvidia-smi.real\n".getBytes();
        Exception e = assertThrows(MalformedFileException.class, () -> TestingElf.parse(script));
        assertEquals("not an ELF file", e.getMessage());
    }

    @Test
    void everyTruncationIsSaidToBeDamage() {
        for (byte[] bytes : List.of(full().bytes(), full().i386().bytes())) {
            for (int length = 0; length < bytes.length; length++) {
                byte[] part = Arrays.copyOf(bytes, length);
                assertThrows(
                        MalformedFileException.class,
                        () -> TestingElf.parse(part),
                        "length " + length);
            }
        }
    }

    @Test
    void anyBytesGiveAValueOrTheOneException() throws Exception {
        Random random = new Random(1);
        for (byte[] good : List.of(full().bytes(), full().i386().bytes())) {
            for (int i = 0; i < 50_000; i++) {
                byte[] bytes = good.clone();
                for (int flips = random.nextInt(1, 6); flips > 0; flips--) {
                    bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
                }
                parseOrRefuse(bytes);
            }
        }
    }

    @Test
    void extremeNumbersInAnyPlaceGiveAValueOrTheOneException() throws Exception {
        byte[] good = full().bytes();
        for (int at = 0; at + 8 <= good.length; at++) {
            for (byte value : new byte[] {0, 0x7f, (byte) 0x80, (byte) 0xff}) {
                byte[] bytes = good.clone();
                Arrays.fill(bytes, at, at + 8, value);
                parseOrRefuse(bytes);
            }
        }
    }

    @Test
    void fileIsReadAsBytesAre() throws Exception {
        Path file = directory.resolve("lib.so");
        full().write(file);
        assertEquals(Optional.of("libnvidia-tls.so.1"), ElfFile.read(file).soname());
    }

    @Test
    void thisMachinesLibcSaysItsName() throws Exception {
        assumeTrue(Files.exists(Path.of(LdCache.PATH)), "no loader cache on this machine");
        Host host = Host.at(Path.of("/"));
        String libc =
                LdCache.read(host).entries().stream()
                        .filter(entry ->
                                entry.name().equals("libc.so.6") && TestingLdCache.is64Bit(entry))
                        .findFirst()
                        .orElseThrow()
                        .path();
        ElfFile elf = ElfFile.read(host.resolve(libc));
        assertEquals(Optional.of("libc.so.6"), elf.soname());
        assertTrue(elf.abi().isPresent());
        assertFalse(elf.needed().isEmpty());
    }

    private static TestingElf full() {
        return TestingElf.library("libnvidia-tls.so.1")
                .needs("libc.so.6", "libm.so.6")
                .abi(2, 3, 99);
    }

    private static void parseOrRefuse(byte[] bytes) throws IOException {
        try {
            TestingElf.parse(bytes);
        } catch (MalformedFileException e) {
            assertFalse(e.getMessage().isEmpty());
        }
    }
}
