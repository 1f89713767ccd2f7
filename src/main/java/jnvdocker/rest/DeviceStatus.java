package jnvdocker.rest;

import com.fasterxml.jackson.annotation.JsonProperty;

import java.util.List;

/**
 * What a GPU does, as {@code /gpu/status/json} shows it: every key is there, and what is not known
 * is null. The keys, their order and their units are those of nvidia-docker 1.0.
 *
 * @param power watts
 * @param temperature degrees Celsius
 * @param processes those that compute; null if there is none
 */
record DeviceStatus(
        @JsonProperty("Power") Integer power,
        @JsonProperty("Temperature") Integer temperature,
        @JsonProperty("Utilization") Utilization utilization,
        @JsonProperty("Memory") Memory memory,
        @JsonProperty("Clocks") DeviceInfo.Clocks clocks,
        @JsonProperty("PCI") Pci pci,
        @JsonProperty("Processes") List<Process> processes) {

    /** The status of a GPU that reports nothing. */
    static final DeviceStatus UNKNOWN =
            new DeviceStatus(
                    null,
                    null,
                    new Utilization(null, null, null, null),
                    new Memory(null, new EccErrors(null, null, null)),
                    new DeviceInfo.Clocks(null, null),
                    new Pci(null, new Throughput(null, null)),
                    null);

    /** In percent. */
    record Utilization(
            @JsonProperty("GPU") Integer gpu,
            @JsonProperty("Memory") Integer memory,
            @JsonProperty("Encoder") Integer encoder,
            @JsonProperty("Decoder") Integer decoder) {}

    /**
     * @param globalUsed mebibytes
     */
    record Memory(
            @JsonProperty("GlobalUsed") Long globalUsed,
            @JsonProperty("ECCErrors") EccErrors eccErrors) {}

    /** Errors that were not corrected, since the driver was loaded. */
    record EccErrors(
            @JsonProperty("L1Cache") Long l1Cache,
            @JsonProperty("L2Cache") Long l2Cache,
            @JsonProperty("Global") Long global) {}

    /**
     * @param bar1Used mebibytes
     */
    record Pci(
            @JsonProperty("BAR1Used") Long bar1Used,
            @JsonProperty("Throughput") Throughput throughput) {}

    /** In megabytes per second. */
    record Throughput(@JsonProperty("RX") Integer rx, @JsonProperty("TX") Integer tx) {}

    /**
     * @param name the program's path
     * @param memoryUsed mebibytes
     */
    record Process(
            @JsonProperty("PID") long pid,
            @JsonProperty("Name") String name,
            @JsonProperty("MemoryUsed") Long memoryUsed) {}

    /** The whole answer. */
    record Document(@JsonProperty("Devices") List<DeviceStatus> devices) {
        /** A copy for clients that may not see what runs here. */
        Document withoutProcesses() {
            return new Document(
                    devices.stream()
                            .map(it ->
                                    new DeviceStatus(
                                            it.power,
                                            it.temperature,
                                            it.utilization,
                                            it.memory,
                                            it.clocks,
                                            it.pci,
                                            null))
                            .toList());
        }
    }
}
