package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.CgroupControllers;
import jnvdocker.process.Processes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Mesos tasks that run while the registry is lost that knew of them: what their agent's devices
 * cgroups allow them is known all the same. Of an executor's tasks that share one, the GPUs are
 * held until all have ended.
 */
final class LostTasks {
    private static final Logger LOG = LoggerFactory.getLogger(LostTasks.class);

    /** As agents name containers; those of other engines have ids of other forms. */
    private static final Pattern ID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

    private final LeaseRegistry registry;
    private final Processes processes;
    private final ClaimVolumes.Inventory inventory;

    LostTasks(LeaseRegistry registry, Processes processes, ClaimVolumes.Inventory inventory) {
        this.registry = registry;
        this.processes = processes;
        this.inventory = inventory;
    }

    /** Gives each of them a lease of those of its GPUs that nobody else has. */
    void restore() throws IOException {
        if (!registry.isNew()) {
            return;
        }
        for (AllowedDevices allowed : processes.allowed(DeviceRules.MAJOR)) {
            String id = Path.of(allowed.folder()).getFileName().toString();
            if (ID.matcher(id).matches()) {
                restore(id, allowed);
            }
        }
    }

    private void restore(String id, AllowedDevices allowed) throws IOException {
        Optional<String> freezer =
                CgroupControllers.mounted().counterpart(allowed.folder(), "devices", "freezer");
        List<Gpu> gpus =
                inventory.gpus().stream()
                        .filter(gpu -> gpu.isSound() && allowed.minors().contains(gpu.minor()))
                        .toList();
        Claim.ContainerRef container = new Claim.ContainerRef(id, id);
        Optional<Claim> claim =
                registry.reserve(holdings -> {
                    List<ClaimedGpu> free =
                            gpus.stream()
                                    .filter(gpu -> !holdings.held().containsKey(gpu.uuid()))
                                    .map(ClaimedGpu::of)
                                    .toList();
                    return free.isEmpty()
                            ? Optional.empty()
                            : Optional.of(
                                    new LeaseRegistry.Reservation(
                                            new Claim(
                                                    Claim.newId(),
                                                    Claim.MESOS,
                                                    Owner.UNKNOWN,
                                                    free,
                                                    id,
                                                    holdings.now(),
                                                    Optional.of(container)),
                                            allowed.process()));
                });
        if (claim.isPresent()) {
            registry.becomes(
                    claim.get().id(),
                    allowed.process(),
                    container,
                    new Holder.MesosContainer(
                            allowed.process(),
                            "",
                            freezer.orElse(allowed.folder()),
                            allowed.folder()));
            LOG.warn("the lease of Mesos container {} was lost, and is known again", id);
        }
    }
}
