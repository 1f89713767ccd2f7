package jnvdocker.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

import java.time.Duration;
import java.util.OptionalInt;

/**
 * The errors of a GPU that its driver reports as they happen; earlier ones are not reported again.
 */
public final class GpuEvents implements AutoCloseable {
    private static final long DOUBLE_BIT_ERROR = 0x2;
    private static final long XID = 0x8;

    /** What the driver writes into the kernel's log with a double-bit error. */
    private static final int XID_OF_DOUBLE_BIT_ERROR = 48;

    private static final int TYPE = 8;
    private static final int DATA = 16;

    private final Nvml nvml;
    private final Pointer set;

    private GpuEvents(Nvml nvml, Pointer set) {
        this.nvml = nvml;
        this.set = set;
    }

    static GpuEvents of(Nvml nvml, Pointer gpu) throws NvmlException {
        long[] types = new long[1];
        nvml.call(library -> library.nvmlDeviceGetSupportedEventTypes(gpu, types));
        long wanted = types[0] & (XID | DOUBLE_BIT_ERROR);
        if (wanted == 0) {
            throw new NvmlException(NvmlException.NOT_SUPPORTED, "no events of errors");
        }
        PointerByReference set = new PointerByReference();
        nvml.call(library -> library.nvmlEventSetCreate(set));
        GpuEvents events = new GpuEvents(nvml, set.getValue());
        try {
            nvml.call(library -> library.nvmlDeviceRegisterEvents(gpu, wanted, events.set));
            return events;
        } catch (NvmlException e) {
            events.close();
            throw e;
        }
    }

    /**
     * Waits for the next error.
     *
     * @return its Xid; empty when there was none within the limit
     * @throws NvmlException when the GPU is lost, or the driver is gone
     */
    public OptionalInt await(Duration limit) throws NvmlException {
        int millis = Math.toIntExact(limit.toMillis());
        try (Memory event = new Memory(LibNvml.EVENT_DATA_SIZE)) {
            int code =
                    nvml.callUnless(
                            NvmlException.TIMEOUT,
                            library -> library.nvmlEventSetWait_v2(set, event, millis),
                            library -> library.nvmlEventSetWait(set, event, millis));
            return code == NvmlException.TIMEOUT ? OptionalInt.empty() : xid(event);
        }
    }

    private static OptionalInt xid(Memory event) {
        long type = event.getLong(TYPE);
        if (type == DOUBLE_BIT_ERROR) {
            return OptionalInt.of(XID_OF_DOUBLE_BIT_ERROR);
        }
        return type == XID ? OptionalInt.of((int) event.getLong(DATA)) : OptionalInt.empty();
    }

    @Override
    public void close() {
        try {
            nvml.call(library -> library.nvmlEventSetFree(set));
        } catch (NvmlException e) {
            // The sets of a driver end with it.
        }
    }
}
