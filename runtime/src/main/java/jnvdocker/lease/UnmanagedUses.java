package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.use.GpuUse;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * GPUs that are used without a lease.
 *
 * @param users by UUID
 * @param allowed whether a request by name may take such a GPU all the same
 */
public record UnmanagedUses(Map<String, List<GpuUse>> users, boolean allowed) {
    public static final UnmanagedUses NONE = new UnmanagedUses(Map.of(), false);

    public UnmanagedUses {
        users = Map.copyOf(users);
    }

    public List<GpuUse> of(Gpu gpu) {
        return users.getOrDefault(gpu.uuid(), List.of());
    }

    /** Whether not even a request by name may take a GPU. */
    public boolean bars(String uuid) {
        return users.getOrDefault(uuid, List.of()).stream()
                .anyMatch(use -> !allowed || use.kind() == GpuUse.Kind.CLAIM);
    }

    /** The one to name, when one is enough. */
    public Optional<GpuUse> first(String uuid) {
        return users.getOrDefault(uuid, List.of()).stream().findFirst();
    }
}
