package jnvdocker.grant;

import jnvdocker.host.DeviceMajors;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Origin;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Pods that run although the registry that knew of them is lost: with cgroups of version 1 their
 * GPUs are known from their devices cgroups, also those of a pod that its kubelet has forgotten.
 * The kubelet tells of the others, and of the names.
 */
final class LostPods {
    private final LeaseRegistry registry;
    private final Processes processes;
    private final ClaimVolumes.Inventory inventory;

    LostPods(LeaseRegistry registry, Processes processes, ClaimVolumes.Inventory inventory) {
        this.registry = registry;
        this.processes = processes;
        this.inventory = inventory;
    }

    /** Gives each of them leases of those of its GPUs that nobody else uses. */
    void restore() throws IOException {
        if (!registry.claims().isNew()) {
            return;
        }
        for (AllowedDevices allowed : processes.allowed(DeviceMajors.NVIDIA)) {
            for (Path folder = Path.of(allowed.folder());
                    folder != null;
                    folder = folder.getParent()) {
                Optional<String> uid = PodKind.uid(folder);
                if (uid.isPresent()) {
                    restore(uid.get(), folder, allowed);
                    break;
                }
            }
        }
    }

    private void restore(String uid, Path folder, AllowedDevices allowed) throws IOException {
        Holdings holdings = registry.holdings();
        List<Gpu> gpus =
                inventory.gpus().stream()
                        .filter(gpu -> gpu.isKnown() && allowed.minors().contains(gpu.minor()))
                        .toList();
        for (Gpu gpu : gpus) {
            PodReport.give(
                    registry,
                    PodReport.claim(gpu, new Origin.Pod(uid, "", ""), holdings),
                    PodKind.holder(allowed.process(), Optional.of(folder.toString()), List.of()),
                    LeaseWriter::recover);
        }
    }
}
