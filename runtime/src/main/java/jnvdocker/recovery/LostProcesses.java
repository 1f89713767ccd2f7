package jnvdocker.recovery;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.ProcessKind;
import jnvdocker.holder.ProgramGroup;
import jnvdocker.holder.Unleased;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/**
 * Programs of {@code gpu run} that a registry has lost: each has a cgroup that is named after its
 * claim. The claim has a file, and is an attribute of the cgroup, too.
 */
final class LostProcesses {
    private static final Logger LOG = LoggerFactory.getLogger(LostProcesses.class);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final Evidence evidence;
    private final Unleased unleased;
    private final Adoption adoption;

    LostProcesses(
            LeaseRegistry registry,
            ClaimFiles files,
            Evidence evidence,
            Unleased unleased,
            Adoption adoption) {
        this.registry = registry;
        this.files = files;
        this.evidence = evidence;
        this.unleased = unleased;
        this.adoption = adoption;
    }

    /** Gives them their leases again, and deletes the files of those that have ended. */
    void restore() throws IOException {
        Map<String, Lease> live = registry.liveByClaim();
        boolean isNew = registry.claims().isNew();
        for (Map.Entry<String, Holder> group : evidence.groups().entrySet()) {
            if (isNew || !registry.claims().knew(group.getKey())) {
                restore(group.getKey(), group.getValue(), live);
            }
        }
        for (String id : files.ids()) {
            Optional<Claim> claim = files.read(id);
            if (claim.filter(LostProcesses::isOfProcess).isPresent()
                    && registry.liveOf(id).isEmpty()) {
                files.delete(id);
            }
        }
    }

    private void restore(String id, Holder holder, Map<String, Lease> live) throws IOException {
        Optional<Claim> known = registry.claims().claim(id);
        Optional<Claim> claim = known.isPresent() ? known : read(id, holder.cgroup().orElse(""));
        if (claim.isEmpty() && !ProgramGroup.isAnothers(holder.cgroup().orElse(""), files)) {
            LOG.error(
                    "pid {} runs with unknown GPUs of 'gpu run': none is given out;"
                            + " end what runs in {}",
                    holder.process().pid(),
                    holder.cgroup().orElse(""));
            unleased.add(id, Optional.of(holder.cgroup().orElse("")));
        }
        if (claim.filter(LostProcesses::isOfProcess).isEmpty()) {
            return;
        }
        Optional<Lease> lease = Optional.ofNullable(live.get(id));
        if (lease.filter(Lease::isReservation).isPresent()) {
            Holder now = Holder.of(lease.get().holder().process(), holder.cgroup().orElse(""));
            registry.decide(leases -> leases.hold(lease.get(), now));
        } else if (lease.isEmpty()) {
            registry.claims().restore(claim.get(), false);
            adoption.adopt(claim.get(), holder, live);
        }
    }

    private Optional<Claim> read(String id, String cgroup) throws IOException {
        Optional<Claim> claim = files.read(id);
        return claim.isPresent() || ProgramGroup.isAnothers(cgroup, files)
                ? claim
                : ProgramGroup.recorded(id, cgroup, files);
    }

    private static boolean isOfProcess(Claim claim) {
        return ProcessKind.is(claim.origin());
    }
}
