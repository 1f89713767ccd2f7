package jnvdocker.host;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * The GPUs of a host, each with its UUID as far as the driver can be brought to tell it. It knows a
 * GPU's only from when somebody has opened the GPU for the first time since boot.
 */
public final class GpuInventory {
    private final Host host;
    private final DeviceNodes nodes;

    public GpuInventory(Host host, DeviceNodes nodes) {
        this.host = host;
        this.nodes = nodes;
    }

    /**
     * At once when every UUID is known, else after a second or two for each GPU that shows none.
     *
     * @throws NoDriverException when no driver is loaded
     * @throws IOException when what the driver tells can't be read or understood
     */
    public HostDriver read() throws IOException {
        HostDriver driver = HostDriver.read(host);
        List<Gpu> unknown =
                driver.gpus().stream().filter(gpu -> gpu.isSound() && !gpu.hasUuid()).toList();
        if (unknown.isEmpty()) {
            return driver;
        }
        for (Gpu gpu : unknown) {
            initialize(gpu);
        }
        return HostDriver.read(host);
    }

    /** To open a GPU's node is to have the driver initialize the GPU, as nvidia-smi does. */
    private void initialize(Gpu gpu) {
        try {
            Path node = nodes.of(gpu).hostPath();
            FileChannel.open(node, StandardOpenOption.READ, StandardOpenOption.WRITE).close();
        } catch (IOException e) {
            // It stays without a UUID, and whoever asks for it is told so.
        }
    }
}
