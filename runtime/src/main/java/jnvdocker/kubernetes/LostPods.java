package jnvdocker.kubernetes;

import jnvdocker.grant.LeaseParts;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Origin;
import jnvdocker.process.AllowedDevices;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Pods that run although the registry that knew of them is lost: with cgroups of version 1 their
 * GPUs are known from their devices cgroups, also those of a pod that its kubelet has forgotten.
 * The kubelet tells of the others, and of the names.
 */
final class LostPods {
    private final LeaseRegistry registry;
    private final LeaseParts.World world;

    LostPods(LeaseRegistry registry, LeaseParts.World world) {
        this.registry = registry;
        this.world = world;
    }

    /** Gives each of them leases of those of its GPUs that nobody else uses. */
    void restore() throws IOException {
        if (!registry.claims().isNew()) {
            return;
        }
        for (AllowedDevices allowed : world.processes().allowed(DeviceNodes.GPU_MAJOR)) {
            for (Path folder = Path.of(allowed.folder());
                    folder != null;
                    folder = folder.getParent()) {
                Optional<String> uid = PodKind.uid(folder);
                if (uid.isPresent()) {
                    restore(new Origin.Pod(uid.get(), "", ""), folder, allowed);
                    break;
                }
            }
        }
    }

    private void restore(Origin.Pod pod, Path folder, AllowedDevices allowed) throws IOException {
        for (Gpu gpu : world.gpus()) {
            if (gpu.isKnown() && allowed.minors().contains(gpu.minor())) {
                PodReport.give(
                        registry,
                        gpu,
                        pod,
                        allowed.process(),
                        folder.toString(),
                        LeaseWriter::recover);
            }
        }
    }
}
