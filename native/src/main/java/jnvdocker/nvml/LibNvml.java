package jnvdocker.nvml;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;

/**
 * The entry points of libnvidia-ml that are called; the C names stop here. The signatures are those
 * of NVIDIA's {@code nvml.h} of NVML 12; a driver has those of its own time only, and a call of
 * another throws {@link UnsatisfiedLinkError}. Each returns an {@code nvmlReturn_t}, unless it says
 * otherwise. A GPU's handle is a {@link Pointer}; arrays stand for structs of equal fields, and for
 * numbers that are written: references of JNA's would be so much garbage, each second, that the
 * heap would grow to its limit.
 */
interface LibNvml extends Library {
    /** Bytes of {@code nvmlPciInfo_t}, and where its {@code busId} is, of 32 bytes. */
    int PCI_INFO_SIZE = 68;

    int PCI_INFO_BUS_ID = 36;

    /** Bytes of {@code nvmlProcessInfo_v1_t}, a pid and the memory in use. */
    int PROCESS_V1_SIZE = 16;

    /** Bytes of {@code nvmlProcessInfo_v2_t}, those of the first version and two instance ids. */
    int PROCESS_V2_SIZE = 24;

    /** Bytes of {@code nvmlProcessUtilizationSample_t}, which begins with the pid. */
    int SAMPLE_SIZE = 32;

    /** Where its {@code timeStamp} is, of 8 bytes. */
    int SAMPLE_TIME = 8;

    /** Where its {@code smUtil} is. */
    int SAMPLE_UTILIZATION = 16;

    /** Bytes of {@code nvmlEventData_t}; its second and third 8 bytes are the type and the data. */
    int EVENT_DATA_SIZE = 32;

    /** An {@code nvmlMemory_v2_t}, whose first member is a version in 4 bytes and 4 of padding. */
    int MEMORY_V2_LONGS = 5;

    /** The size of that struct, and version 2 in the highest byte. */
    long MEMORY_V2 = 40 | 2 << 24;

    /**
     * {@code nvmlDeviceAttributes_t} in words of 32 bits: eight counts, and the memory in two
     * words.
     */
    int ATTRIBUTES_INTS = 10;

    /** The place in it of the slices that compute for a MIG instance. */
    int COMPUTE_SLICES = 7;

    /**
     * @throws UnsatisfiedLinkError with the loader's reason when the library cannot be loaded
     */
    static LibNvml load(String file) {
        return Native.load(file, LibNvml.class);
    }

    int nvmlInit_v2();

    int nvmlShutdown();

    /** Returns the text for an {@code nvmlReturn_t}. */
    String nvmlErrorString(int result);

    int nvmlSystemGetDriverVersion(byte[] version, int length);

    int nvmlSystemGetCudaDriverVersion(int[] version);

    int nvmlDeviceGetHandleByPciBusId_v2(String address, PointerByReference device);

    int nvmlDeviceGetUUID(Pointer device, byte[] uuid, int length);

    int nvmlDeviceGetName(Pointer device, byte[] name, int length);

    int nvmlDeviceGetBrand(Pointer device, int[] brand);

    int nvmlDeviceGetArchitecture(Pointer device, int[] architecture);

    int nvmlDeviceGetCudaComputeCapability(Pointer device, int[] major, int[] minor);

    int nvmlDeviceGetNumGpuCores(Pointer device, int[] count);

    int nvmlDeviceGetMemoryBusWidth(Pointer device, int[] bits);

    int nvmlDeviceGetMinorNumber(Pointer device, int[] minor);

    /**
     * Version 2 of the struct and its size, total, reserved, free and used bytes. The used ones are
     * those of programs. Drivers before 510 do not have this call.
     */
    int nvmlDeviceGetMemoryInfo_v2(Pointer device, long[] memory);

    /** Total, free and used bytes; the used ones include those that the driver has reserved. */
    int nvmlDeviceGetMemoryInfo(Pointer device, long[] memory);

    /** Total, free and used bytes. */
    int nvmlDeviceGetBAR1MemoryInfo(Pointer device, long[] memory);

    /** Percent of the last sample period in which a kernel ran, and memory was used. */
    int nvmlDeviceGetUtilizationRates(Pointer device, int[] percents);

    int nvmlDeviceGetEncoderUtilization(Pointer device, int[] percent, int[] periodMicros);

    int nvmlDeviceGetDecoderUtilization(Pointer device, int[] percent, int[] periodMicros);

    int nvmlDeviceGetPowerUsage(Pointer device, int[] milliwatts);

    int nvmlDeviceGetEnforcedPowerLimit(Pointer device, int[] milliwatts);

    int nvmlDeviceGetTemperature(Pointer device, int sensor, int[] celsius);

    int nvmlDeviceGetFanSpeed(Pointer device, int[] percent);

    int nvmlDeviceGetClockInfo(Pointer device, int clock, int[] megahertz);

    int nvmlDeviceGetMaxClockInfo(Pointer device, int clock, int[] megahertz);

    int nvmlDeviceGetCurrentClocksThrottleReasons(Pointer device, long[] reasons);

    int nvmlDeviceGetCurrPcieLinkGeneration(Pointer device, int[] generation);

    int nvmlDeviceGetCurrPcieLinkWidth(Pointer device, int[] lanes);

    int nvmlDeviceGetMaxPcieLinkGeneration(Pointer device, int[] generation);

    int nvmlDeviceGetMaxPcieLinkWidth(Pointer device, int[] lanes);

    /** Measures for 20 ms. */
    int nvmlDeviceGetPcieThroughput(Pointer device, int counter, int[] kilobytesPerSecond);

    int nvmlDeviceGetEccMode(Pointer device, int[] current, int[] pending);

    int nvmlDeviceGetTotalEccErrors(Pointer device, int errorType, int counterType, long[] count);

    int nvmlDeviceGetMemoryErrorCounter(
            Pointer device, int errorType, int counterType, int location, long[] count);

    int nvmlDeviceGetRetiredPages(Pointer device, int cause, int[] count, long[] pages);

    int nvmlDeviceGetRetiredPagesPendingStatus(Pointer device, int[] pending);

    int nvmlDeviceGetRemappedRows(
            Pointer device, int[] corrected, int[] uncorrected, int[] pending, int[] failed);

    int nvmlDeviceGetComputeRunningProcesses(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetComputeRunningProcesses_v2(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetComputeRunningProcesses_v3(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses_v2(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses_v3(Pointer device, int[] count, Pointer found);

    int nvmlDeviceGetProcessUtilization(
            Pointer device, Pointer samples, int[] count, long sinceMicros);

    int nvmlDeviceGetComputeMode(Pointer device, int[] mode);

    int nvmlDeviceGetPersistenceMode(Pointer device, int[] mode);

    int nvmlDeviceGetTopologyCommonAncestor(Pointer one, Pointer other, int[] level);

    int nvmlDeviceGetNvLinkState(Pointer device, int link, int[] active);

    int nvmlDeviceGetNvLinkRemotePciInfo(Pointer device, int link, byte[] info);

    int nvmlDeviceGetNvLinkRemotePciInfo_v2(Pointer device, int link, byte[] info);

    int nvmlDeviceGetMigMode(Pointer device, int[] current, int[] pending);

    int nvmlDeviceGetMaxMigDeviceCount(Pointer device, int[] count);

    int nvmlDeviceGetMigDeviceHandleByIndex(Pointer device, int index, PointerByReference instance);

    int nvmlDeviceGetGpuInstanceId(Pointer instance, int[] id);

    int nvmlDeviceGetComputeInstanceId(Pointer instance, int[] id);

    int nvmlDeviceGetAttributes_v2(Pointer instance, int[] attributes);

    int nvmlEventSetCreate(PointerByReference set);

    int nvmlDeviceGetSupportedEventTypes(Pointer device, long[] types);

    int nvmlDeviceRegisterEvents(Pointer device, long types, Pointer set);

    int nvmlEventSetWait(Pointer set, Pointer data, int milliseconds);

    int nvmlEventSetWait_v2(Pointer set, Pointer data, int milliseconds);

    int nvmlEventSetFree(Pointer set);
}
