package jnvdocker.command.runtime;

import jnvdocker.container.ContainerEdits;
import jnvdocker.container.DriverCapabilities;
import jnvdocker.container.VolumeMount;
import jnvdocker.host.DeviceNode;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.oci.spec.RuntimeSpec;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GraphicsFile;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The files that Vulkan, EGL and OptiX need in a container besides the driver's libraries. */
final class Graphics {
    private final Host host;
    private final DriverVolumeStore volumes;
    private final DeviceNodes nodes;

    Graphics(Host host, DriverVolumeStore volumes, DeviceNodes nodes) {
        this.host = host;
        this.volumes = volumes;
        this.nodes = nodes;
    }

    /**
     * Returns the edits with these files added, for a container that requests graphics.
     *
     * @param folder the directory of the driver volume, as served
     * @param sources the sources of the mounts; those of the files are added
     */
    ContainerEdits with(
            ContainerEdits edits,
            RuntimeSpec spec,
            DriverVersion driver,
            Path folder,
            Map<VolumeMount, Path> sources)
            throws IOException {
        if (!DriverCapabilities.wantsGraphics(spec.environment())) {
            return edits;
        }
        List<DeviceNode> devices = new ArrayList<>(edits.devices());
        nodes.modeset().ifPresent(devices::add);
        List<VolumeMount> mounts = new ArrayList<>(edits.mounts());
        Set<String> taken = spec.mountTargets();
        for (GraphicsFile file : volumes.build(host, driver).graphics()) {
            if (!taken.contains(file.target())) {
                String name = file.inVolume().toString();
                VolumeMount mount = new VolumeMount(name, "", file.target(), Map.of());
                mounts.add(mount);
                sources.put(mount, folder.resolve(file.inVolume()));
            }
        }
        return new ContainerEdits(devices, mounts, edits.environment(), edits.labels());
    }
}
