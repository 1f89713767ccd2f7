package jnvdocker.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;

import jnvdocker.nvml.GpuFigures.GpuProcess;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** Reads the processes that have memory of a GPU. */
final class ProcessList {
    /** A GPU with more is broken, or its driver is. */
    private static final int MOST = 1024;

    private static final int USUAL = 32;

    /** {@code NVML_VALUE_NOT_AVAILABLE}. */
    private static final long NOT_AVAILABLE = -1;

    private final Nvml nvml;
    private final Pointer handle;

    ProcessList(Nvml nvml, Pointer handle) {
        this.nvml = nvml;
        this.handle = handle;
    }

    /** An entry point for processes that compute, or that draw. */
    @FunctionalInterface
    private interface ListEntry {
        int of(LibNvml library, Pointer device, IntByReference count, Pointer found);
    }

    /** Empty also for a GPU that does not tell. */
    List<GpuProcess> read() throws NvmlException {
        Map<Long, GpuProcess> found = new LinkedHashMap<>();
        read(
                false,
                found,
                LibNvml::nvmlDeviceGetComputeRunningProcesses,
                LibNvml::nvmlDeviceGetComputeRunningProcesses_v3,
                LibNvml::nvmlDeviceGetComputeRunningProcesses_v2);
        read(
                true,
                found,
                LibNvml::nvmlDeviceGetGraphicsRunningProcesses,
                LibNvml::nvmlDeviceGetGraphicsRunningProcesses_v3,
                LibNvml::nvmlDeviceGetGraphicsRunningProcesses_v2);
        return List.copyOf(found.values());
    }

    /**
     * @param found where they are added; one that computes and draws is in both lists
     * @param first the first version, whose structs are smaller
     */
    private void read(
            boolean graphics, Map<Long, GpuProcess> found, ListEntry first, ListEntry... newer)
            throws NvmlException {
        for (ListEntry entry : newer) {
            if (read(graphics, found, entry, LibNvml.PROCESS_V2_SIZE)) {
                return;
            }
        }
        read(graphics, found, first, LibNvml.PROCESS_V1_SIZE);
    }

    /** Returns whether the library has this entry point. */
    private boolean read(boolean graphics, Map<Long, GpuProcess> found, ListEntry entry, int size)
            throws NvmlException {
        int room = USUAL;
        while (true) {
            IntByReference count = new IntByReference(room);
            try (Memory memory = new Memory((long) room * size)) {
                int result = nvml.ask(library -> entry.of(library, handle, count, memory));
                if (result == NvmlException.SUCCESS) {
                    processes(memory, Math.min(count.getValue(), room), size, graphics)
                            .forEach(process -> found.putIfAbsent(process.pid(), process));
                }
                if (result != NvmlException.INSUFFICIENT_SIZE || room == MOST) {
                    return result != NvmlException.FUNCTION_NOT_FOUND;
                }
            }
            // The number that it names may be that of a moment ago.
            room = MOST;
        }
    }

    private static List<GpuProcess> processes(
            Memory memory, int count, int size, boolean graphics) {
        List<GpuProcess> processes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long used = memory.getLong((long) i * size + Long.BYTES);
            processes.add(
                    new GpuProcess(
                            Integer.toUnsignedLong(memory.getInt((long) i * size)),
                            used == NOT_AVAILABLE ? OptionalLong.empty() : OptionalLong.of(used),
                            graphics));
        }
        return processes;
    }
}
