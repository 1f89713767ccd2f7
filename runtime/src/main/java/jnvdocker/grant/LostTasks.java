package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.CgroupControllers;
import jnvdocker.process.Processes;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Mesos tasks that run although the registry that knew of them is lost: their GPUs are known from
 * the devices cgroups of their agent. If an executor's tasks share one, its GPUs are held until all
 * of them have ended.
 */
final class LostTasks {

    /** As agents name containers; those of other engines have ids of other forms. */
    private static final Pattern ID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

    private final LeaseRegistry registry;
    private final Processes processes;
    private final ClaimVolumes.Inventory inventory;

    private final Evidence evidence;

    LostTasks(
            LeaseRegistry registry,
            Processes processes,
            ClaimVolumes.Inventory inventory,
            Evidence evidence) {
        this.registry = registry;
        this.processes = processes;
        this.inventory = inventory;
        this.evidence = evidence;
    }

    /** Gives each of them a lease of those of its GPUs that nobody else uses. */
    void restore() throws IOException {
        if (!registry.claims().isNew()) {
            return;
        }
        for (AllowedDevices allowed : processes.allowed(MesosKind.MAJOR)) {
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
                        .filter(gpu -> gpu.isKnown() && allowed.minors().contains(gpu.minor()))
                        .toList();
        Claim.ContainerRef container = new Claim.ContainerRef(id, id);
        endLeasesOfThePast(gpus, id);
        Holder holder =
                MesosKind.holder(
                        allowed.process(), "", freezer.orElse(allowed.folder()), allowed.folder());
        registry.decide(leases -> {
            List<ClaimedGpu> free =
                    gpus.stream()
                            .filter(gpu -> leases.holdings().of(gpu).isEmpty())
                            .map(ClaimedGpu::of)
                            .toList();
            if (!free.isEmpty()) {
                Claim claim =
                        new Claim(
                                Claim.newId(),
                                new Origin.MesosTask(id),
                                Owner.UNKNOWN,
                                free,
                                leases.holdings().now(),
                                Optional.of(container));
                leases.add(claim, Optional.empty());
                leases.recover(claim, holder);
            }
            return null;
        });
    }

    /** A registry that was restored from a copy may give them to others that no longer run. */
    private void endLeasesOfThePast(List<Gpu> gpus, String id) throws IOException {
        for (Lease lease : registry.live()) {
            boolean concerned = gpus.stream().map(ClaimedGpu::of).anyMatch(lease::excludes);
            if (concerned && !(evidence.of(lease) instanceof Life.Running)) {
                registry.end(lease, "Mesos container " + id + " runs with its GPU");
            }
        }
    }
}
