package jnvdocker.nvml;

import jnvdocker.nvml.GpuFigures.Memory;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * Reads fields that a GPU, its driver or its virtual machine may not have: each fails alone. A GPU
 * that is lost has no fields at all, and says so.
 */
final class Fields {
    private Fields() {}

    /** A call that writes a number. */
    @FunctionalInterface
    interface NumberEntry {
        int of(LibNvml library, int[] value);
    }

    /** A call that writes a number of 64 bits. */
    @FunctionalInterface
    interface LongEntry {
        int of(LibNvml library, long[] value);
    }

    /** A call that writes the total, the free and the used bytes of a memory. */
    @FunctionalInterface
    interface MemoryEntry {
        int of(LibNvml library, long[] totalFreeUsed);
    }

    static Optional<Memory> memory(Nvml nvml, MemoryEntry entry) throws NvmlException {
        long[] memory = new long[3];
        return has(nvml, library -> entry.of(library, memory))
                ? Optional.of(new Memory(memory[0], memory[2]))
                : Optional.empty();
    }

    static boolean has(Nvml nvml, Nvml.Entry... newestFirst) throws NvmlException {
        return nvml.query(newestFirst) == NvmlException.SUCCESS;
    }

    static OptionalInt number(Nvml nvml, NumberEntry entry) throws NvmlException {
        int[] value = new int[1];
        return has(nvml, library -> entry.of(library, value))
                ? OptionalInt.of(value[0])
                : OptionalInt.empty();
    }

    static OptionalLong large(Nvml nvml, LongEntry entry) throws NvmlException {
        long[] value = new long[1];
        return has(nvml, library -> entry.of(library, value))
                ? OptionalLong.of(value[0])
                : OptionalLong.empty();
    }
}
