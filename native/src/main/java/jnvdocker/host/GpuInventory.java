package jnvdocker.host;

import java.io.IOException;
import java.util.List;

/**
 * The GPUs of a host, each with its UUID as far as the driver can be brought to tell it. It knows a
 * GPU's only from when somebody has opened the GPU for the first time since boot.
 */
public final class GpuInventory {
    private final Host host;
    private final GpuWaker waker;

    public GpuInventory(Host host, DeviceNodes nodes) {
        this(host, new GpuWaker(nodes));
    }

    GpuInventory(Host host, GpuWaker waker) {
        this.host = host;
        this.waker = waker;
    }

    /**
     * At once when every UUID is known, or will not be known; else after a second or two, in which
     * the GPUs are woken that show none.
     *
     * @throws NoDriverException when no driver is loaded
     * @throws IOException when what the driver tells cannot be read or understood
     */
    public HostDriver read() throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Gpu> silent =
                driver.gpus().stream().filter(gpu -> gpu.isSound() && !gpu.hasUuid()).toList();
        return waker.wake(silent) ? HostDriver.read(host) : driver;
    }
}
