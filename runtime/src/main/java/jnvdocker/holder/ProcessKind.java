package jnvdocker.holder;

import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.process.ProcessGroup;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Programs of {@code gpu run}, and all that they start: each has a cgroup of its own. */
public final class ProcessKind extends GroupKind {
    /** As docker has it. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final Processes processes;

    /** Cgroups of leases that have ended, or are about to, by their claims. */
    private final Map<String, String> groups = new ConcurrentHashMap<>();

    ProcessKind(Processes processes) {
        super(processes);
        this.processes = processes;
    }

    @Override
    public Origin.Kind kind() {
        return Origin.Kind.PROCESS;
    }

    /**
     * A registry that was put back may know a program as the client that it was before: the cgroup
     * is made first.
     */
    @Override
    public Life reserved(Lease lease, HostView view) {
        Life client = super.reserved(lease, view);
        if (client instanceof Life.Running) {
            return client;
        }
        Processes.Group group = processes.groups(ProgramGroup.NAME).get(lease.claim().id());
        return group == null ? client : new Life.Running(group.process());
    }

    @Override
    public boolean owns(GpuUse.User process, Lease lease) {
        return lease.holder().process().equals(process.id())
                || processes
                        .cgroup(process.id(), ProgramGroup.of(lease.claim()))
                        .filter(group -> lease.holder().cgroup().filter(group::equals).isPresent())
                        .isPresent();
    }

    @Override
    protected String rest() {
        return "and all it started";
    }

    @Override
    protected String first() {
        return "its process";
    }

    @Override
    protected String others() {
        return "but others that it started";
    }

    @Override
    public boolean stop(Lease lease, ContainerEngine engine) throws IOException {
        Optional<String> group = lease.holder().cgroup();
        if (group.isPresent()) {
            ProcessGroup.end(group.get(), PATIENCE);
        }
        return group.isPresent();
    }

    /** The cgroup goes when nothing is left in it. */
    @Override
    public void clean(Lease lease) {
        lease.holder().cgroup().ifPresent(group -> groups.put(lease.claim().id(), group));
    }

    /**
     * Removes the cgroups of programs that have ended. One stays as long as a process in it is
     * dead, and its parent does not take notice.
     *
     * @param live the claims that have leases
     * @return the claims of the cgroups that were removed
     */
    public List<String> removeGroups(Set<String> live) {
        List<String> gone = new ArrayList<>();
        groups.forEach((claim, group) -> {
            if (!live.contains(claim) && ProcessGroup.remove(group)) {
                groups.remove(claim);
                gone.add(claim);
            }
        });
        return gone;
    }
}
