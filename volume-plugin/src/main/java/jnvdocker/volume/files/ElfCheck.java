package jnvdocker.volume.files;

import jnvdocker.posix.FileErrors;

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/** The conditions for any file that containers get to see. */
final class ElfCheck {
    private static final int SET_UID_OR_GID = 06000;

    /** A file fit for a container, or the reason why it is not. */
    sealed interface Result {}

    record Fit(ElfFile elf, Directory directory, long size) implements Result {}

    record Unfit(String reason) implements Result {}

    private ElfCheck() {}

    /**
     * @param file without links
     */
    static Result of(Path file, Machine machine) {
        try {
            if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
                return new Unfit("not a regular file");
            }
            int mode = (int) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            if ((mode & SET_UID_OR_GID) != 0) {
                return new Unfit("set-uid or set-gid: it would give its owner's rights away");
            }
            ElfFile elf = ElfFile.read(file);
            return machine.libraryDirectory(elf)
                    .<Result>map(directory -> fit(elf, directory, file))
                    .orElseGet(() -> new Unfit(foreign(elf)));
        } catch (MalformedFileException e) {
            return new Unfit("not a library or program that could be loaded: " + e.getMessage());
        } catch (IOException e) {
            return new Unfit("it cannot be read: " + FileErrors.reason(e));
        }
    }

    private static Result fit(ElfFile elf, Directory directory, Path file) {
        return new Fit(elf, directory, file.toFile().length());
    }

    private static String foreign(ElfFile elf) {
        return "made for another architecture: "
                + architecture(elf.machine())
                + ", "
                + elf.bits()
                + " bit"
                + (elf.order() == ByteOrder.BIG_ENDIAN ? ", big-endian" : "");
    }

    /** The name of an ELF machine's architecture; its number where we have no name for it. */
    private static String architecture(int machine) {
        return switch (machine) {
            case ElfFile.I386 -> "i386";
            case ElfFile.X86_64 -> "x86-64";
            case ElfFile.AARCH64 -> "aarch64";
            case ElfFile.ARM -> "arm";
            case ElfFile.PPC64 -> "ppc64";
            case ElfFile.RISCV -> "riscv";
            default -> "ELF machine " + machine;
        };
    }
}
