package jnvdocker.command.runtime;

import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.oci.install.CdiDevices;
import jnvdocker.oci.install.ForeignRuntimes;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** The parts of this host that our CDI files offer. */
public record CdiHost(GpuHost gpuHost, BooleanSupplier wantsNvidias) {

    /**
     * Whether our devices are to have NVIDIA's names as well, and no file of NVIDIA's has these.
     */
    boolean offersNvidias() throws IOException {
        return wantsNvidias.getAsBoolean()
                && new ForeignRuntimes(gpuHost.host()).nvidiasCdiFiles().isEmpty();
    }

    CdiDevices devices() throws IOException {
        HostDriver driver = gpuHost.inventory().read();
        List<CdiDevices.Device> devices = new ArrayList<>();
        for (Gpu gpu : driver.gpus()) {
            // An instance needs several nodes, and no hook could determine a container's instance.
            if (gpu.isIdentified() && gpu.part().isEmpty()) {
                devices.add(new CdiDevices.Device(gpu, gpuHost.nodes().of(gpu)));
            }
        }
        Host host = gpuHost.host();
        ServedVolumes served = gpuHost.served();
        served.prepare(host, driver.version());
        Path files = served.known(gpuHost.store().build(host, driver.version())).path();
        return new CdiDevices(devices, gpuHost.nodes().control(), files);
    }
}
