package jnvdocker.rest;

import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.host.NumaNode;
import jnvdocker.labels.CudaVersion;
import jnvdocker.labels.DriverVersion;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuFacts;
import jnvdocker.nvml.GpuFacts.Clocks;
import jnvdocker.nvml.GpuFigures;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.LongFunction;

/**
 * Puts together what nvidia-docker 1.0 reported about a host's GPUs: what is known without NVML
 * comes from the kernel module, the rest from NVML's last answers.
 */
public final class DeviceReport {
    private final GpuView view;
    private final Host host;
    private final CudaVersions cuda;
    private final LongFunction<Optional<String>> programs;

    /**
     * @param programs returns a process's program; empty when the process has gone
     */
    public DeviceReport(GpuView view, CudaVersions cuda, LongFunction<Optional<String>> programs) {
        this.view = view;
        this.host = view.host();
        this.cuda = cuda;
        this.programs = programs;
    }

    /**
     * What is known at a moment.
     *
     * @param gpus of the loaded driver, in order of index; none without a driver
     */
    record Seen(List<Gpu> gpus, Map<String, Reading> readings, Map<GpuPair, Topology> topologies) {
        Optional<Reading> reading(Gpu gpu) {
            return Optional.ofNullable(readings.get(gpu.pciAddress())).map(it -> it.of(gpu));
        }

        Optional<Topology> between(Gpu gpu, Gpu other) {
            return Optional.ofNullable(
                    topologies.get(new GpuPair(gpu.pciAddress(), other.pciAddress())));
        }
    }

    Seen see() throws IOException {
        try {
            return new Seen(
                    HostDriver.read(host).gpus(), view.readings().get(), view.topologies().get());
        } catch (NoDriverException e) {
            return new Seen(List.of(), Map.of(), Map.of());
        }
    }

    DeviceInfo.Document info(Seen seen) throws IOException {
        return new DeviceInfo.Document(
                version(), seen.gpus().stream().map(gpu -> info(gpu, seen)).toList());
    }

    private DeviceInfo.Version version() throws IOException {
        try {
            DriverVersion driver = HostDriver.readVersion(host);
            return new DeviceInfo.Version(
                    driver.text(), cuda.of(driver).map(CudaVersion::toString).orElse(null));
        } catch (NoDriverException e) {
            return new DeviceInfo.Version(null, null);
        }
    }

    private DeviceInfo info(Gpu gpu, Seen seen) {
        Optional<Reading> reading = seen.reading(gpu);
        Optional<GpuFacts> facts = reading.flatMap(Reading::facts);
        return new DeviceInfo(
                gpu.isIdentified() ? facts.map(GpuFacts::uuid).orElse(gpu.uuid()) : null,
                gpu.isIdentified() ? DeviceNodes.nameOf(gpu) : null,
                gpu.isIdentified() ? facts.map(GpuFacts::model).orElse(gpu.model()) : null,
                facts.map(it -> Units.thousands(it.powerLimit())).orElse(null),
                NumaNode.of(host, gpu.pciAddress()).orElse(0), // as nvidia-docker 1.0
                new DeviceInfo.Pci(
                        Units.busId(gpu.pciAddress()),
                        facts.map(it -> Units.mebibytes(it.bar1())).orElse(null),
                        facts.map(it -> Units.bandwidth(it.maxLink())).orElse(null)),
                clocks(facts.map(GpuFacts::maxClocks)),
                links(gpu, seen),
                facts.flatMap(GpuFacts::architecture).map(Object::toString).orElse(null),
                facts.flatMap(GpuFacts::computeCapability).map(Object::toString).orElse(null),
                facts.map(it -> Units.number(it.chip().cores())).orElse(null),
                new DeviceInfo.Memory(
                        reading.flatMap(Reading::figures)
                                .flatMap(it -> it.errors().ecc())
                                .orElse(null),
                        facts.map(it -> Units.mebibytes(it.memory())).orElse(null),
                        null,
                        null,
                        null,
                        facts.map(it ->
                                        Units.bandwidth(
                                                it.maxClocks().memory(), it.chip().memoryBus()))
                                .orElse(null)));
    }

    private static DeviceInfo.Clocks clocks(Optional<Clocks> clocks) {
        return new DeviceInfo.Clocks(
                clocks.map(it -> Units.number(it.sm())).orElse(null),
                clocks.map(it -> Units.number(it.memory())).orElse(null));
    }

    /** Null if it can reach the memory of no other. */
    private static List<DeviceInfo.Link> links(Gpu gpu, Seen seen) {
        List<DeviceInfo.Link> links =
                seen.gpus().stream()
                        .filter(other -> !other.equals(gpu))
                        .flatMap(other ->
                                seen.between(gpu, other).stream()
                                        .filter(DeviceReport::reach)
                                        .map(topology ->
                                                new DeviceInfo.Link(
                                                        Units.busId(other.pciAddress()),
                                                        link(topology.ancestor()))))
                        .toList();
        return links.isEmpty() ? null : links;
    }

    /** The number of nvidia-docker 1.0. */
    private static int link(Topology.Ancestor ancestor) {
        return switch (ancestor) {
            case UNKNOWN -> 0;
            case SYSTEM -> 1;
            case NUMA_NODE -> 2;
            case HOST_BRIDGE -> 3;
            case SEVERAL_SWITCHES -> 4;
            case ONE_SWITCH -> 5;
            case BOARD -> 6;
        };
    }

    /**
     * Whether a GPU can reach the memory of another; nvidia-docker 1.0 queried CUDA, which needs a
     * context.
     */
    private static boolean reach(Topology topology) {
        return switch (topology.ancestor()) {
            case BOARD, ONE_SWITCH, SEVERAL_SWITCHES, HOST_BRIDGE, NUMA_NODE -> true;
            case SYSTEM, UNKNOWN -> topology.links() > 0;
        };
    }

    DeviceStatus.Document status(Seen seen) {
        return new DeviceStatus.Document(
                seen.gpus().stream()
                        .map(gpu ->
                                seen.reading(gpu)
                                        .flatMap(Reading::figures)
                                        .map(this::status)
                                        .orElse(DeviceStatus.UNKNOWN))
                        .toList());
    }

    private DeviceStatus status(GpuFigures figures) {
        GpuFigures.Utilization utilization = figures.utilization();
        GpuFigures.Places errors = figures.errors().uncorrectedIn();
        return new DeviceStatus(
                Units.thousands(figures.power()),
                Units.number(figures.temperature()),
                new DeviceStatus.Utilization(
                        Units.number(utilization.gpu()),
                        Units.number(utilization.memory()),
                        Units.number(utilization.encoder()),
                        Units.number(utilization.decoder())),
                new DeviceStatus.Memory(
                        used(figures.memory()),
                        new DeviceStatus.EccErrors(
                                Units.number(errors.l1Cache()),
                                Units.number(errors.l2Cache()),
                                Units.number(errors.deviceMemory()))),
                clocks(Optional.of(figures.clocks())),
                new DeviceStatus.Pci(
                        used(figures.bar1()),
                        new DeviceStatus.Throughput(
                                Units.thousands(figures.throughput().received()),
                                Units.thousands(figures.throughput().sent()))),
                processes(figures.processes()));
    }

    private static Long used(Optional<GpuFigures.Memory> memory) {
        return memory.map(it -> Units.mebibytes(OptionalLong.of(it.used()))).orElse(null);
    }

    /** Null if none computes. */
    private List<DeviceStatus.Process> processes(List<GpuFigures.GpuProcess> processes) {
        List<DeviceStatus.Process> computing =
                processes.stream()
                        .filter(process -> !process.graphics())
                        .map(process ->
                                new DeviceStatus.Process(
                                        process.pid(),
                                        programs.apply(process.pid()).orElse(null),
                                        Units.mebibytes(process.memory())))
                        .toList();
        return computing.isEmpty() ? null : computing;
    }

    /** Returns the path of a process's program on this machine. */
    static Optional<String> program(long pid) {
        return ProcessHandle.of(pid).flatMap(process -> process.info().command());
    }
}
