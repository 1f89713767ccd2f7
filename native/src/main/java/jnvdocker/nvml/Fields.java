package jnvdocker.nvml;

import com.sun.jna.Pointer;

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

    /**
     * Reads the memory of a GPU or of a MIG instance, as nvidia-smi shows it. Only version 2 of the
     * call (driver 510) separates the memory that programs use from the driver's own.
     */
    static Optional<Memory> memory(Nvml nvml, Pointer device) throws NvmlException {
        long[] memory = new long[LibNvml.MEMORY_V2_LONGS];
        memory[0] = LibNvml.MEMORY_V2;
        long[] earlier = new long[3];
        boolean known =
                has(
                        nvml,
                        library -> library.nvmlDeviceGetMemoryInfo_v2(device, memory),
                        library -> library.nvmlDeviceGetMemoryInfo(device, earlier));
        if (!known) {
            return Optional.empty();
        }
        return Optional.of(
                earlier[0] > 0
                        ? new Memory(earlier[0], earlier[2])
                        : new Memory(memory[1], memory[4]));
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
