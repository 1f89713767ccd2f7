package jnvdocker.host;

import java.io.IOException;
import java.util.List;

/**
 * The GPUs of a host, each with its UUID as far as the driver can be made to report it. The driver
 * knows the UUID of a GPU only once a process has opened the GPU since boot.
 */
public final class GpuInventory {
    private final Host host;
    private final DeviceNodes nodes;
    private final GpuWaker waker;

    public GpuInventory(Host host, DeviceNodes nodes) {
        this(host, nodes, new GpuWaker(nodes));
    }

    GpuInventory(Host host, DeviceNodes nodes, GpuWaker waker) {
        this.host = host;
        this.nodes = nodes;
        this.waker = waker;
    }

    /**
     * Returns at once when every UUID is known or will stay unknown; otherwise takes a second or
     * two to wake the GPUs that show none.
     *
     * @throws NoDriverException when no driver is loaded
     * @throws IOException when the driver's files cannot be read or understood
     */
    public HostDriver read() throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Gpu> silent =
                driver.gpus().stream().filter(gpu -> gpu.isIdentified() && !gpu.hasUuid()).toList();
        return waker.wake(silent) ? HostDriver.read(host) : driver;
    }

    /** Returns those faults and the faults of GPUs' nodes. */
    public GpuTroubles troubles(GpuTroubles others) {
        return new NodeTroubles(nodes, others);
    }
}
