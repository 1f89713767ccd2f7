package jnvdocker.nvml;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/**
 * The entry points of libnvidia-ml that are called; the C names stop here. The signatures are those
 * of NVIDIA's {@code nvml.h} of NVML 12; a driver has those of its own time only, and a call of
 * another throws {@link UnsatisfiedLinkError}. Each returns an {@code nvmlReturn_t}, unless it says
 * otherwise. A GPU's handle is a {@link Pointer}; arrays stand for structs of equal fields.
 */
interface LibNvml extends Library {
    /** Bytes of {@code nvmlPciInfo_t}, and where its {@code busId} is, of 32 bytes. */
    int PCI_INFO_SIZE = 68;

    int PCI_INFO_BUS_ID = 36;

    /** Bytes of {@code nvmlProcessInfo_v1_t}, a pid and the memory in use. */
    int PROCESS_V1_SIZE = 16;

    /** Bytes of {@code nvmlProcessInfo_v2_t}, those of the first version and two instance ids. */
    int PROCESS_V2_SIZE = 24;

    /** Bytes of {@code nvmlProcessUtilizationSample_t}, whose pid is first. */
    int SAMPLE_SIZE = 32;

    /** Where its {@code timeStamp} is, of 8 bytes. */
    int SAMPLE_TIME = 8;

    /** Where its {@code smUtil} is. */
    int SAMPLE_UTILIZATION = 16;

    /** Bytes of {@code nvmlEventData_t}, whose type and data are its second and third 8 bytes. */
    int EVENT_DATA_SIZE = 32;

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

    int nvmlSystemGetCudaDriverVersion(IntByReference version);

    int nvmlDeviceGetHandleByPciBusId_v2(String address, PointerByReference device);

    int nvmlDeviceGetUUID(Pointer device, byte[] uuid, int length);

    int nvmlDeviceGetName(Pointer device, byte[] name, int length);

    int nvmlDeviceGetBrand(Pointer device, IntByReference brand);

    int nvmlDeviceGetArchitecture(Pointer device, IntByReference architecture);

    int nvmlDeviceGetCudaComputeCapability(
            Pointer device, IntByReference major, IntByReference minor);

    int nvmlDeviceGetNumGpuCores(Pointer device, IntByReference count);

    int nvmlDeviceGetMemoryBusWidth(Pointer device, IntByReference bits);

    int nvmlDeviceGetMinorNumber(Pointer device, IntByReference minor);

    /** Total, free and used bytes; the used ones include those that the driver has reserved. */
    int nvmlDeviceGetMemoryInfo(Pointer device, long[] memory);

    /** Total, free and used bytes. */
    int nvmlDeviceGetBAR1MemoryInfo(Pointer device, long[] memory);

    /** Percent of the last sample period in which a kernel ran, and memory was used. */
    int nvmlDeviceGetUtilizationRates(Pointer device, int[] percents);

    int nvmlDeviceGetEncoderUtilization(
            Pointer device, IntByReference percent, IntByReference periodMicros);

    int nvmlDeviceGetDecoderUtilization(
            Pointer device, IntByReference percent, IntByReference periodMicros);

    int nvmlDeviceGetPowerUsage(Pointer device, IntByReference milliwatts);

    int nvmlDeviceGetEnforcedPowerLimit(Pointer device, IntByReference milliwatts);

    int nvmlDeviceGetTemperature(Pointer device, int sensor, IntByReference celsius);

    int nvmlDeviceGetFanSpeed(Pointer device, IntByReference percent);

    int nvmlDeviceGetClockInfo(Pointer device, int clock, IntByReference megahertz);

    int nvmlDeviceGetMaxClockInfo(Pointer device, int clock, IntByReference megahertz);

    int nvmlDeviceGetCurrentClocksThrottleReasons(Pointer device, LongByReference reasons);

    int nvmlDeviceGetCurrPcieLinkGeneration(Pointer device, IntByReference generation);

    int nvmlDeviceGetCurrPcieLinkWidth(Pointer device, IntByReference lanes);

    int nvmlDeviceGetMaxPcieLinkGeneration(Pointer device, IntByReference generation);

    int nvmlDeviceGetMaxPcieLinkWidth(Pointer device, IntByReference lanes);

    /** Measures for 20 ms. */
    int nvmlDeviceGetPcieThroughput(Pointer device, int counter, IntByReference kilobytesPerSecond);

    int nvmlDeviceGetEccMode(Pointer device, IntByReference current, IntByReference pending);

    int nvmlDeviceGetTotalEccErrors(
            Pointer device, int errorType, int counterType, LongByReference count);

    int nvmlDeviceGetMemoryErrorCounter(
            Pointer device, int errorType, int counterType, int location, LongByReference count);

    int nvmlDeviceGetRetiredPages(Pointer device, int cause, IntByReference count, long[] pages);

    int nvmlDeviceGetRetiredPagesPendingStatus(Pointer device, IntByReference pending);

    int nvmlDeviceGetRemappedRows(
            Pointer device,
            IntByReference corrected,
            IntByReference uncorrected,
            IntByReference pending,
            IntByReference failed);

    int nvmlDeviceGetComputeRunningProcesses(Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetComputeRunningProcesses_v2(
            Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetComputeRunningProcesses_v3(
            Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses(Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses_v2(
            Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetGraphicsRunningProcesses_v3(
            Pointer device, IntByReference count, Pointer found);

    int nvmlDeviceGetProcessUtilization(
            Pointer device, Pointer samples, IntByReference count, long sinceMicros);

    int nvmlDeviceGetComputeMode(Pointer device, IntByReference mode);

    int nvmlDeviceGetPersistenceMode(Pointer device, IntByReference mode);

    int nvmlDeviceGetTopologyCommonAncestor(Pointer one, Pointer other, IntByReference level);

    int nvmlDeviceGetNvLinkState(Pointer device, int link, IntByReference active);

    int nvmlDeviceGetNvLinkRemotePciInfo(Pointer device, int link, byte[] info);

    int nvmlDeviceGetNvLinkRemotePciInfo_v2(Pointer device, int link, byte[] info);

    int nvmlDeviceGetMigMode(Pointer device, IntByReference current, IntByReference pending);

    int nvmlDeviceGetMaxMigDeviceCount(Pointer device, IntByReference count);

    int nvmlDeviceGetMigDeviceHandleByIndex(Pointer device, int index, PointerByReference instance);

    int nvmlDeviceGetGpuInstanceId(Pointer instance, IntByReference id);

    int nvmlDeviceGetComputeInstanceId(Pointer instance, IntByReference id);

    int nvmlEventSetCreate(PointerByReference set);

    int nvmlDeviceGetSupportedEventTypes(Pointer device, LongByReference types);

    int nvmlDeviceRegisterEvents(Pointer device, long types, Pointer set);

    int nvmlEventSetWait(Pointer set, Pointer data, int milliseconds);

    int nvmlEventSetWait_v2(Pointer set, Pointer data, int milliseconds);

    int nvmlEventSetFree(Pointer set);
}
