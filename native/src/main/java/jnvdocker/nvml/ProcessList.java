package jnvdocker.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

import jnvdocker.nvml.GpuFigures.GpuProcess;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** Reads the processes that have memory of a GPU. */
final class ProcessList {
    /** A GPU with more is broken, or its driver is. */
    private static final int MOST = 1024;

    private static final int USUAL = 32;
    private static final int MOST_SAMPLES = 256;

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
        int of(LibNvml library, Pointer device, int[] count, Pointer found);
    }

    /**
     * Returns an empty list also for a GPU that does not report its processes.
     *
     * @param sinceMicros the beginning of the time in which their utilization counts, since 1970
     */
    List<GpuProcess> read(long sinceMicros) throws NvmlException {
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
        Optional<Map<Long, Integer>> samples =
                found.isEmpty() ? Optional.empty() : samples(sinceMicros);
        return found.values().stream().map(process -> with(samples, process)).toList();
    }

    /** A process that is not among the samples has not used the GPU. */
    private static GpuProcess with(Optional<Map<Long, Integer>> samples, GpuProcess process) {
        return samples.map(it ->
                        new GpuProcess(
                                process.pid(),
                                process.memory(),
                                OptionalInt.of(it.getOrDefault(process.pid(), 0)),
                                process.graphics()))
                .orElse(process);
    }

    /**
     * Returns the latest sample of each process, in percent; empty when the GPU cannot report them.
     */
    private Optional<Map<Long, Integer>> samples(long sinceMicros) throws NvmlException {
        int[] count = new int[] {MOST_SAMPLES};
        try (Memory memory = new Memory((long) MOST_SAMPLES * LibNvml.SAMPLE_SIZE)) {
            int result =
                    nvml.queryUnless(
                            NvmlException.NOT_FOUND,
                            library ->
                                    library.nvmlDeviceGetProcessUtilization(
                                            handle, memory, count, sinceMicros));
            return switch (result) {
                case NvmlException.SUCCESS ->
                        Optional.of(samples(memory, Math.min(count[0], MOST_SAMPLES)));
                case NvmlException.NOT_FOUND -> Optional.of(Map.of());
                default -> Optional.empty();
            };
        }
    }

    private static Map<Long, Integer> samples(Memory memory, int count) {
        Map<Long, Integer> percent = new HashMap<>();
        Map<Long, Long> times = new HashMap<>();
        for (long at = 0; at < (long) count * LibNvml.SAMPLE_SIZE; at += LibNvml.SAMPLE_SIZE) {
            long pid = Integer.toUnsignedLong(memory.getInt(at));
            long time = memory.getLong(at + LibNvml.SAMPLE_TIME);
            if (time >= times.getOrDefault(pid, 0L)) {
                times.put(pid, time);
                percent.put(pid, memory.getInt(at + LibNvml.SAMPLE_UTILIZATION));
            }
        }
        return percent;
    }

    /**
     * @param found where they are added; one that computes and draws is in both lists
     * @param first the first version, with smaller structs
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
            int[] count = new int[] {room};
            try (Memory memory = new Memory((long) room * size)) {
                int result = nvml.query(library -> entry.of(library, handle, count, memory));
                if (result == NvmlException.SUCCESS) {
                    processes(memory, Math.min(count[0], room), size, graphics)
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
                            OptionalInt.empty(),
                            graphics));
        }
        return processes;
    }
}
