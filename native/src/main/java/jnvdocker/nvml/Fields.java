package jnvdocker.nvml;

import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;

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
        int of(LibNvml library, IntByReference value);
    }

    /** A call that writes a number of 64 bits. */
    @FunctionalInterface
    interface LongEntry {
        int of(LibNvml library, LongByReference value);
    }

    static boolean has(Nvml nvml, Nvml.Entry... newestFirst) throws NvmlException {
        return nvml.ask(newestFirst) == NvmlException.SUCCESS;
    }

    static OptionalInt number(Nvml nvml, NumberEntry entry) throws NvmlException {
        IntByReference value = new IntByReference();
        return has(nvml, library -> entry.of(library, value))
                ? OptionalInt.of(value.getValue())
                : OptionalInt.empty();
    }

    static OptionalLong large(Nvml nvml, LongEntry entry) throws NvmlException {
        LongByReference value = new LongByReference();
        return has(nvml, library -> entry.of(library, value))
                ? OptionalLong.of(value.getValue())
                : OptionalLong.empty();
    }
}
