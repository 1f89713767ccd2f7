package jnvdocker.nvml;

import com.sun.jna.Pointer;

import jnvdocker.nvml.GpuFacts.Architecture;
import jnvdocker.nvml.GpuFacts.Brand;
import jnvdocker.nvml.GpuFacts.Chip;
import jnvdocker.nvml.GpuFacts.Clocks;
import jnvdocker.nvml.GpuFacts.ComputeCapability;
import jnvdocker.nvml.GpuFacts.PcieLink;
import jnvdocker.nvml.GpuFigures.ComputeMode;
import jnvdocker.nvml.GpuFigures.Errors;
import jnvdocker.nvml.GpuFigures.Throughput;
import jnvdocker.nvml.GpuFigures.Utilization;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * One GPU in a session. Every field that cannot be read is empty; only a GPU of which nothing can
 * be read is an exception.
 */
public final class NvmlGpu {
    private static final int TEXT = 96;

    /** {@code NVML_NVLINK_MAX_LINKS}. */
    private static final int MOST_LINKS = 18;

    private static final long SAMPLED_MILLIS = 2000;

    private static final int GRAPHICS = 0;
    private static final int SM = 1;
    private static final int MEMORY = 2;
    private static final int TEMPERATURE_OF_THE_GPU = 0;
    private static final int SENT = 0;
    private static final int RECEIVED = 1;
    private static final int CORRECTED = 0;
    private static final int UNCORRECTED = 1;
    private static final int VOLATILE = 0;
    private static final int L1_CACHE = 0;
    private static final int L2_CACHE = 1;
    private static final int DEVICE_MEMORY = 2;
    private static final int SINGLE_BIT_ERRORS = 0;
    private static final int DOUBLE_BIT_ERROR = 1;

    private final Nvml nvml;
    private final Pointer handle;

    NvmlGpu(Nvml nvml, Pointer handle) {
        this.nvml = nvml;
        this.handle = handle;
    }

    /**
     * @throws NvmlException when the GPU is lost, or does not report its UUID or its model
     */
    public GpuFacts facts() throws NvmlException {
        String uuid =
                nvml.text(
                        TEXT,
                        (library, bytes) -> library.nvmlDeviceGetUUID(handle, bytes, bytes.length));
        String model =
                nvml.text(
                        TEXT,
                        (library, bytes) -> library.nvmlDeviceGetName(handle, bytes, bytes.length));
        return new GpuFacts(
                uuid,
                model,
                present(number((library, it) -> library.nvmlDeviceGetBrand(handle, it)))
                        .map(Brand::of),
                present(number((library, it) -> library.nvmlDeviceGetArchitecture(handle, it)))
                        .flatMap(Architecture::of),
                computeCapability(),
                number((library, it) -> library.nvmlDeviceGetMinorNumber(handle, it)),
                total(Fields.memory(nvml, handle)),
                total(bar1()),
                number((library, it) -> library.nvmlDeviceGetEnforcedPowerLimit(handle, it)),
                new Clocks(maxClock(GRAPHICS), maxClock(SM), maxClock(MEMORY)),
                new PcieLink(
                        number((library, it) ->
                                library.nvmlDeviceGetMaxPcieLinkGeneration(handle, it)),
                        number((library, it) -> library.nvmlDeviceGetMaxPcieLinkWidth(handle, it))),
                new Chip(
                        number((library, it) -> library.nvmlDeviceGetNumGpuCores(handle, it)),
                        number((library, it) -> library.nvmlDeviceGetMemoryBusWidth(handle, it))));
    }

    /**
     * @throws NvmlException when the GPU is lost
     */
    public GpuFigures figures() throws NvmlException {
        return new GpuFigures(
                utilization(),
                Fields.memory(nvml, handle),
                bar1(),
                number((library, it) -> library.nvmlDeviceGetPowerUsage(handle, it)),
                number((library, it) ->
                        library.nvmlDeviceGetTemperature(handle, TEMPERATURE_OF_THE_GPU, it)),
                number((library, it) -> library.nvmlDeviceGetFanSpeed(handle, it)),
                new Clocks(clock(GRAPHICS), clock(SM), clock(MEMORY)),
                new PcieLink(
                        number((library, it) ->
                                library.nvmlDeviceGetCurrPcieLinkGeneration(handle, it)),
                        number((library, it) ->
                                library.nvmlDeviceGetCurrPcieLinkWidth(handle, it))),
                new Throughput(throughput(SENT), throughput(RECEIVED)),
                Fields.large(
                        nvml,
                        (library, it) ->
                                library.nvmlDeviceGetCurrentClocksThrottleReasons(handle, it)),
                errors(),
                new ProcessList(nvml, handle).read(recently()),
                present(number((library, it) -> library.nvmlDeviceGetComputeMode(handle, it)))
                        .flatMap(ComputeMode::of),
                flag((library, it) -> library.nvmlDeviceGetPersistenceMode(handle, it)),
                new MigInstances(nvml, handle).read());
    }

    /** The driver takes a sample of what each process does every second or more often. */
    private static long recently() {
        return (System.currentTimeMillis() - SAMPLED_MILLIS) * 1000;
    }

    /**
     * Listens for the GPU's errors from now on.
     *
     * @throws NvmlException also when the GPU does not report errors
     */
    public GpuEvents events() throws NvmlException {
        return GpuEvents.of(nvml, handle);
    }

    /** The nearest part of the host that this GPU and another one of the session share. */
    Topology.Ancestor ancestor(NvmlGpu other) throws NvmlException {
        return Topology.Ancestor.of(
                number((library, it) ->
                        library.nvmlDeviceGetTopologyCommonAncestor(handle, other.handle, it)));
    }

    /**
     * Returns the number of NVLinks to each PCI address, of a GPU or of a switch, as far as the
     * driver reports the addresses.
     */
    Map<String, Integer> linkEnds() throws NvmlException {
        Map<String, Integer> ends = new TreeMap<>();
        for (int link = 0; link < MOST_LINKS; link++) {
            if (isLinked(link)) {
                remoteAddress(link).ifPresent(end -> ends.merge(end, 1, Integer::sum));
            }
        }
        return ends;
    }

    private boolean isLinked(int link) throws NvmlException {
        return flag((library, it) -> library.nvmlDeviceGetNvLinkState(handle, link, it))
                .orElse(false);
    }

    private Optional<String> remoteAddress(int link) throws NvmlException {
        byte[] info = new byte[LibNvml.PCI_INFO_SIZE];
        boolean known =
                Fields.has(
                        nvml,
                        library -> library.nvmlDeviceGetNvLinkRemotePciInfo_v2(handle, link, info),
                        library -> library.nvmlDeviceGetNvLinkRemotePciInfo(handle, link, info));
        return known ? Optional.of(address(info)) : Optional.empty();
    }

    /** NVML writes the domain with eight digits, the kernel with at least four. */
    private static String address(byte[] info) {
        String text =
                Nvml.text(
                        info,
                        LibNvml.PCI_INFO_BUS_ID,
                        LibNvml.PCI_INFO_SIZE - LibNvml.PCI_INFO_BUS_ID);
        return text.replaceFirst("^0000(?=....:)", "").toLowerCase(Locale.ROOT);
    }

    private OptionalInt number(Fields.NumberEntry entry) throws NvmlException {
        return Fields.number(nvml, entry);
    }

    /** The driver counts for 20 ms, and the call lasts as long. */
    private OptionalInt throughput(int direction) throws NvmlException {
        return number((library, it) -> library.nvmlDeviceGetPcieThroughput(handle, direction, it));
    }

    private Optional<Boolean> flag(Fields.NumberEntry entry) throws NvmlException {
        return present(number(entry)).map(value -> value != 0);
    }

    private static Optional<Integer> present(OptionalInt number) {
        return number.isPresent() ? Optional.of(number.getAsInt()) : Optional.empty();
    }

    private Optional<ComputeCapability> computeCapability() throws NvmlException {
        int[] major = new int[1];
        int[] minor = new int[1];
        return Fields.has(
                        nvml,
                        library -> library.nvmlDeviceGetCudaComputeCapability(handle, major, minor))
                ? Optional.of(new ComputeCapability(major[0], minor[0]))
                : Optional.empty();
    }

    private Utilization utilization() throws NvmlException {
        int[] rates = new int[2];
        boolean known =
                Fields.has(nvml, library -> library.nvmlDeviceGetUtilizationRates(handle, rates));
        int[] period = new int[1];
        return new Utilization(
                known ? OptionalInt.of(rates[0]) : OptionalInt.empty(),
                known ? OptionalInt.of(rates[1]) : OptionalInt.empty(),
                number((library, it) ->
                        library.nvmlDeviceGetEncoderUtilization(handle, it, period)),
                number((library, it) ->
                        library.nvmlDeviceGetDecoderUtilization(handle, it, period)));
    }

    private Optional<GpuFigures.Memory> bar1() throws NvmlException {
        long[] totalFreeUsed = new long[3];
        return Fields.has(
                        nvml, library -> library.nvmlDeviceGetBAR1MemoryInfo(handle, totalFreeUsed))
                ? Optional.of(new GpuFigures.Memory(totalFreeUsed[0], totalFreeUsed[2]))
                : Optional.empty();
    }

    private static OptionalLong total(Optional<GpuFigures.Memory> memory) {
        return memory.isPresent() ? OptionalLong.of(memory.get().total()) : OptionalLong.empty();
    }

    private OptionalInt clock(int clock) throws NvmlException {
        return number((library, it) -> library.nvmlDeviceGetClockInfo(handle, clock, it));
    }

    private OptionalInt maxClock(int clock) throws NvmlException {
        return number((library, it) -> library.nvmlDeviceGetMaxClockInfo(handle, clock, it));
    }

    private Errors errors() throws NvmlException {
        int[] pendingMode = new int[1];
        int[] corrected = new int[1];
        int[] uncorrected = new int[1];
        int[] pending = new int[1];
        int[] failed = new int[1];
        boolean remaps =
                Fields.has(
                        nvml,
                        library ->
                                library.nvmlDeviceGetRemappedRows(
                                        handle, corrected, uncorrected, pending, failed));
        return new Errors(
                flag((library, it) -> library.nvmlDeviceGetEccMode(handle, it, pendingMode)),
                errors(CORRECTED),
                errors(UNCORRECTED),
                retiredPages(),
                pending[0] != 0
                        || flag((library, it) ->
                                        library.nvmlDeviceGetRetiredPagesPendingStatus(handle, it))
                                .orElse(false),
                remaps ? OptionalInt.of(corrected[0] + uncorrected[0]) : OptionalInt.empty(),
                failed[0] != 0,
                new GpuFigures.Places(
                        uncorrectedIn(L1_CACHE),
                        uncorrectedIn(L2_CACHE),
                        uncorrectedIn(DEVICE_MEMORY)));
    }

    private OptionalLong uncorrectedIn(int place) throws NvmlException {
        return Fields.large(
                nvml,
                (library, it) ->
                        library.nvmlDeviceGetMemoryErrorCounter(
                                handle, UNCORRECTED, VOLATILE, place, it));
    }

    private OptionalLong errors(int kind) throws NvmlException {
        return Fields.large(
                nvml,
                (library, it) -> library.nvmlDeviceGetTotalEccErrors(handle, kind, VOLATILE, it));
    }

    private OptionalInt retiredPages() throws NvmlException {
        OptionalInt one = retiredPages(SINGLE_BIT_ERRORS);
        OptionalInt other = retiredPages(DOUBLE_BIT_ERROR);
        return one.isPresent() && other.isPresent()
                ? OptionalInt.of(one.getAsInt() + other.getAsInt())
                : OptionalInt.empty();
    }

    /** Returns the number alone: the buffer has room for no page. */
    private OptionalInt retiredPages(int cause) throws NvmlException {
        int[] count = new int[1];
        int result =
                nvml.query(
                        library -> library.nvmlDeviceGetRetiredPages(handle, cause, count, null));
        return result == NvmlException.SUCCESS || result == NvmlException.INSUFFICIENT_SIZE
                ? OptionalInt.of(count[0])
                : OptionalInt.empty();
    }
}
