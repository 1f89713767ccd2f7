package jnvdocker.volume.files;

import java.nio.ByteOrder;
import java.util.Locale;
import java.util.Optional;

/** The architectures there are drivers for, and which files each can run. */
public enum Machine {
    X86_64,
    AARCH64;

    /**
     * @throws DriverVolumeException when there is no driver for this machine's architecture
     */
    public static Machine ofThisMachine() throws DriverVolumeException {
        String name = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return switch (name) {
            case "amd64", "x86_64" -> X86_64;
            case "aarch64", "arm64" -> AARCH64;
            default ->
                    throw new DriverVolumeException(
                            "no driver volume on a machine of architecture " + name,
                            "x86-64 and aarch64 are supported");
        };
    }

    /** The directory for a library of that kind, or empty when this machine cannot load it. */
    Optional<Directory> libraryDirectory(ElfFile file) {
        if (file.order() != ByteOrder.LITTLE_ENDIAN) {
            return Optional.empty();
        }
        return switch (this) {
            case X86_64 -> {
                if (file.machine() == ElfFile.I386 && file.bits() == 32) {
                    yield Optional.of(Directory.LIB);
                }
                yield wide(file, ElfFile.X86_64);
            }
            case AARCH64 -> wide(file, ElfFile.AARCH64);
        };
    }

    private static Optional<Directory> wide(ElfFile file, int machine) {
        return file.machine() == machine && file.bits() == 64
                ? Optional.of(Directory.LIB64)
                : Optional.empty();
    }

    /** How Linux distributions call the directory of this architecture's libraries. */
    public String triplet() {
        return switch (this) {
            case X86_64 -> "x86_64-linux-gnu";
            case AARCH64 -> "aarch64-linux-gnu";
        };
    }

    /** glibc's loader, without which an image runs no program that the driver is made for. */
    public String loader() {
        return switch (this) {
            case X86_64 -> "/lib64/ld-linux-x86-64.so.2";
            case AARCH64 -> "/lib/ld-linux-aarch64.so.1";
        };
    }

    /** The loader of musl, another C library, as Alpine has it. */
    public String muslLoader() {
        return switch (this) {
            case X86_64 -> "/lib/ld-musl-x86_64.so.1";
            case AARCH64 -> "/lib/ld-musl-aarch64.so.1";
        };
    }
}
