package jnvdocker.command.gpu;

import jnvdocker.grant.Leases;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.screen.Json;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The documents that {@code gpu ls}, {@code leases} and {@code queue} print, for others to tell.
 */
public final class GpuDocuments {
    private final Host host;
    private final Leases leases;
    private final Supplier<Map<String, Reading>> readings;

    /**
     * @param readings what NVML last told of each GPU, by PCI address
     */
    public GpuDocuments(Host host, Leases leases, Supplier<Map<String, Reading>> readings) {
        this.host = host;
        this.leases = leases;
        this.readings = readings;
    }

    /** Returns the document of {@code gpu ls}. */
    public String gpus() throws IOException {
        return Json.text(gpus(leases.status(all())));
    }

    /** Returns the document of {@code gpu leases}. */
    public String leases() throws IOException {
        return Json.text(live());
    }

    /** Returns the document of {@code gpu queue}. */
    public String queue() {
        return Json.text(GpuQueue.entries(leases.waiting()));
    }

    /** All three at a moment, without line breaks. */
    public record Snapshot(List<GpuLine> gpus, String leases, String queue) {
        public Snapshot {
            gpus = List.copyOf(gpus);
        }

        /** Returns the document of the three. */
        public String text() {
            return "{\"gpus\":["
                    + String.join(",", gpus.stream().map(GpuLine::document).toList())
                    + "],\"leases\":"
                    + leases
                    + ",\"queue\":"
                    + queue
                    + "}";
        }
    }

    /**
     * A GPU.
     *
     * @param name its UUID, or its address where it has none
     * @param standing its state and who has it; what else the document says changes all the time
     * @param document its part of the document of {@code gpu ls}
     */
    public record GpuLine(String name, String standing, String document) {}

    private record Standing(String state, Long lease, HolderJson holder) {}

    /** Returns what they are now; a host without a driver has no GPUs. */
    public Snapshot snapshot() throws IOException {
        List<GpuStatus> gpus = leases.status(allOrNone());
        List<GpuJson> documents = gpus(gpus);
        List<GpuLine> lines = new ArrayList<>();
        for (int i = 0; i < documents.size(); i++) {
            lines.add(line(gpus.get(i).gpu(), documents.get(i)));
        }
        return new Snapshot(
                lines, Json.line(live()), Json.line(GpuQueue.entries(leases.waiting())));
    }

    private static GpuLine line(Gpu gpu, GpuJson json) {
        return new GpuLine(
                gpu.isSound() ? gpu.uuid() : gpu.pciAddress(),
                Json.line(new Standing(json.state(), json.lease(), json.holder())),
                Json.line(json));
    }

    private List<Gpu> all() throws IOException {
        return HostDriver.read(host).gpus();
    }

    private List<Gpu> allOrNone() throws IOException {
        try {
            return all();
        } catch (NoDriverException e) {
            return List.of();
        }
    }

    private List<GpuJson> gpus(List<GpuStatus> gpus) {
        Map<String, Reading> read = readings.get();
        return gpus.stream()
                .map(gpu -> GpuJson.of(gpu, Optional.ofNullable(read.get(gpu.gpu().pciAddress()))))
                .toList();
    }

    private List<LeaseJson> live() throws IOException {
        return leases.live().reversed().stream().map(this::live).toList();
    }

    private LeaseJson live(Lease lease) {
        return LeaseJson.live(lease, leases.state(lease));
    }
}
