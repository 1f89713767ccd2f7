package jnvdocker.grant;

import jnvdocker.host.DeviceNodes;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;

/** Containers of Mesos agents, which tell them apart by freezer cgroups. */
public final class MesosKind extends GroupKind {
    /** The driver's, for GPUs; see {@code /proc/devices}. */
    static final int MAJOR = DeviceNodes.GPU_MAJOR;

    private static final String FREEZER = "freezer";
    private static final int DEVICES = 1;

    private final Processes processes;

    MesosKind(Processes processes) {
        super(processes);
        this.processes = processes;
    }

    /**
     * A container of an agent.
     *
     * @param process that the agent has started it with, which ends last
     * @param runtime the agent's directory of it
     * @param freezer the directory of its freezer cgroup
     * @param devices the directory of the devices cgroup of the container that it is nested in, or
     *     of its own
     */
    public static Holder holder(ProcessId process, String runtime, String freezer, String devices) {
        return Holder.of(process, freezer).with(List.of(runtime, devices));
    }

    @Override
    public boolean isOf(Origin origin) {
        return is(origin);
    }

    /** Whether claims of an origin have holders of this kind. */
    static boolean is(Origin origin) {
        return origin instanceof Origin.MesosTask;
    }

    @Override
    public boolean owns(GpuUse.User process, Lease lease) {
        Optional<String> freezer = lease.holder().cgroup();
        return processes
                .cgroupOf(process.id(), FREEZER)
                .filter(cgroup ->
                        freezer.filter(it -> cgroup.equals(it) || cgroup.startsWith(it + "/"))
                                .isPresent())
                .isPresent();
    }

    /** A devices cgroup that several containers share outlives the one that had the GPU. */
    @Override
    public void clean(Lease lease) throws IOException {
        if (lease.holder().details().size() <= DEVICES) {
            return;
        }
        Path deny = Path.of(lease.holder().details().get(DEVICES), "devices.deny");
        for (ClaimedGpu gpu : lease.claim().gpus()) {
            String rule = "c " + MAJOR + ":" + gpu.minor() + " rw";
            try {
                Files.writeString(deny, rule, StandardOpenOption.WRITE);
            } catch (NoSuchFileException e) {
                return;
            } catch (IOException e) {
                throw new IOException(
                        "its devices cgroup cannot be refused access to "
                                + gpu.node()
                                + ": "
                                + FileErrors.describe(e),
                        e);
            }
        }
    }

    /**
     * The agent's own note of the end, and its directory's, come later, or never when the agent is
     * gone: what matters is that nothing runs.
     */
    @Override
    String rest() {
        return "and its cgroup empty";
    }

    @Override
    String first() {
        return "the process that its agent has started it with";
    }

    @Override
    String others() {
        return "and others";
    }
}
