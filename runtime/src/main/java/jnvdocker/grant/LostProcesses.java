package jnvdocker.grant;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Programs of {@code gpu run} that a registry has lost: each has a cgroup that is named after its
 * claim, and the claim a file.
 */
final class LostProcesses {
    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Adoption adoption;

    LostProcesses(LeaseRegistry registry, ClaimFiles files, Evidence evidence, Adoption adoption) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.adoption = adoption;
    }

    /** Gives them their leases again, and deletes the files of those that have ended. */
    void restore() throws IOException {
        Map<String, Lease> live = new HashMap<>();
        registry.live().forEach(lease -> live.put(lease.claim().id(), lease));
        Map<String, Holder.Process> running =
                registry.claims().isNew() ? evidence.groups() : Map.<String, Holder.Process>of();
        for (Map.Entry<String, Holder.Process> group : running.entrySet()) {
            restore(group.getKey(), group.getValue(), live);
        }
        for (String id : files.ids()) {
            Optional<Claim> claim = files.read(id);
            if (claim.filter(LostProcesses::isOfProcess).isPresent()
                    && registry.liveOf(id).isEmpty()) {
                files.delete(id);
            }
        }
    }

    private void restore(String id, Holder.Process holder, Map<String, Lease> live)
            throws IOException {
        Optional<Claim> known = registry.claims().claim(id);
        Optional<Claim> claim = known.isPresent() ? known : files.read(id);
        if (claim.filter(LostProcesses::isOfProcess).isEmpty()) {
            return;
        }
        Optional<Lease> lease = Optional.ofNullable(live.get(id));
        if (lease.filter(Lease::isReservation).isPresent()) {
            registry.becomes(id, lease.get().holder().process(), holder.cgroup());
        } else if (lease.isEmpty()) {
            registry.claims().restore(claim.get(), false);
            adoption.adopt(claim.get(), holder, live);
        }
    }

    private static boolean isOfProcess(Claim claim) {
        return switch (claim.origin()) {
            case Origin.HostProcess _ -> true;
            case Origin.DockerContainer _,
                    Origin.MesosTask _,
                    Origin.OciContainer _,
                    Origin.Pod _ ->
                    false;
        };
    }
}
