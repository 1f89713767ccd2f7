package jnvdocker.rest;

import com.fasterxml.jackson.annotation.JsonProperty;

import java.util.List;

/**
 * A GPU as {@code /gpu/info/json} shows it: every key is there, and what is not known is null. The
 * keys, their order and their units are those of nvidia-docker 1.0.
 *
 * @param power the limit, in watts
 * @param cpuAffinity the NUMA node
 * @param topology the GPUs whose memory this one can reach; null if there is none
 * @param family the architecture, {@code Ampere}
 * @param arch the compute capability, {@code 8.0}
 * @param cores how many calculate
 */
record DeviceInfo(
        @JsonProperty("UUID") String uuid,
        @JsonProperty("Path") String path,
        @JsonProperty("Model") String model,
        @JsonProperty("Power") Integer power,
        @JsonProperty("CPUAffinity") Integer cpuAffinity,
        @JsonProperty("PCI") Pci pci,
        @JsonProperty("Clocks") Clocks clocks,
        @JsonProperty("Topology") List<Link> topology,
        @JsonProperty("Family") String family,
        @JsonProperty("Arch") String arch,
        @JsonProperty("Cores") Integer cores,
        @JsonProperty("Memory") Memory memory) {

    /**
     * @param busId as NVML writes it, {@code 00000000:07:00.0}
     * @param bar1 mebibytes
     * @param bandwidth megabytes per second, of all lanes together
     */
    record Pci(
            @JsonProperty("BusID") String busId,
            @JsonProperty("BAR1") Long bar1,
            @JsonProperty("Bandwidth") Integer bandwidth) {}

    /** In megahertz. */
    record Clocks(@JsonProperty("Cores") Integer cores, @JsonProperty("Memory") Integer memory) {}

    /**
     * @param link 1 across CPUs, 2 at one CPU, 3 at one host bridge, 4 by several switches, 5 by
     *     one, 6 on one board; 0 if unknown
     */
    record Link(@JsonProperty("BusID") String busId, @JsonProperty("Link") int link) {}

    /**
     * @param global mebibytes
     * @param shared null, as are the next two: only CUDA knows them
     * @param bandwidth megabytes per second
     */
    record Memory(
            @JsonProperty("ECC") Boolean ecc,
            @JsonProperty("Global") Long global,
            @JsonProperty("Shared") Integer shared,
            @JsonProperty("Constant") Integer constant,
            @JsonProperty("L2Cache") Integer l2Cache,
            @JsonProperty("Bandwidth") Integer bandwidth) {}

    /** The whole answer. */
    record Document(
            @JsonProperty("Version") Version version,
            @JsonProperty("Devices") List<DeviceInfo> devices) {}

    /** Null without a driver, or if it does not say. */
    record Version(@JsonProperty("Driver") String driver, @JsonProperty("CUDA") String cuda) {}
}
