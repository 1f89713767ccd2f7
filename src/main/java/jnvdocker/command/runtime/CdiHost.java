package jnvdocker.command.runtime;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.oci.install.CdiDevices;
import jnvdocker.oci.install.ForeignRuntimes;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.ServedVolumes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

/** The parts of this host that our CDI files offer. */
public record CdiHost(
        Host host,
        GpuInventory inventory,
        DeviceNodes nodes,
        DriverVolumeStore store,
        ServedVolumes served,
        BooleanSupplier wantsNvidias) {

    /**
     * Whether our devices are to have NVIDIA's names as well, and no file of NVIDIA's has these.
     */
    boolean offersNvidias() throws IOException {
        return wantsNvidias.getAsBoolean() && new ForeignRuntimes(host).nvidiasCdiFiles().isEmpty();
    }

    CdiDevices devices() throws IOException {
        HostDriver driver = inventory.read();
        List<CdiDevices.Device> devices = new ArrayList<>();
        for (Gpu gpu : driver.gpus()) {
            // An instance needs several nodes, and no hook could determine a container's instance.
            if (gpu.isIdentified() && gpu.part().isEmpty()) {
                devices.add(new CdiDevices.Device(gpu, nodes.of(gpu)));
            }
        }
        served.prepare(host, driver.version());
        return new CdiDevices(
                devices, nodes.control(), served.known(store.build(host, driver.version())).path());
    }
}
