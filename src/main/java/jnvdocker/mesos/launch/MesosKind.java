package jnvdocker.mesos.launch;

import jnvdocker.holder.GroupKind;
import jnvdocker.host.DeviceMajors;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.mesos.agent.RunningAgent;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.AllowedDevices;
import jnvdocker.process.CgroupControllers;
import jnvdocker.process.Processes;
import jnvdocker.use.GpuUse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Containers of Mesos agents, which distinguish them by freezer cgroups. If an executor's tasks
 * share a devices cgroup, its GPUs are held until all of them have ended.
 */
public final class MesosKind extends GroupKind {
    private static final String FREEZER = "freezer";

    /** Where a holder's details have the directory of its devices cgroup. */
    private static final int DEVICES = 1;

    /** As agents name containers; those of other engines have ids of other forms. */
    private static final Pattern ID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

    private final Processes processes;

    public MesosKind(Processes processes) {
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
    public Origin.Kind kind() {
        return Origin.Kind.MESOS;
    }

    /** The claim that a container has a lease of, among those that are live. */
    public static Optional<Claim> claimOf(String container, Collection<Lease> live) {
        return live.stream()
                .filter(lease -> !lease.isReservation())
                .map(Lease::claim)
                .filter(claim -> claim.origin().task().isPresent())
                .filter(claim -> claim.isOfContainer(container))
                .findFirst();
    }

    /** Their agent's devices cgroups say which GPUs they may use. */
    @Override
    public List<Stray> strays(List<Gpu> gpus) throws IOException {
        List<Stray> strays = new ArrayList<>();
        for (AllowedDevices allowed : processes.allowed(DeviceMajors.NVIDIA)) {
            String directory = allowed.directory();
            String id = Path.of(directory).getFileName().toString();
            if (ID.matcher(id).matches()) {
                String freezer =
                        CgroupControllers.mounted()
                                .counterpart(directory, "devices", FREEZER)
                                .orElse(directory);
                strays.add(
                        new Stray(
                                new Origin.MesosTask(id),
                                Optional.of(new Claim.ContainerRef(id, id)),
                                gpus.stream()
                                        .filter(gpu -> allowed.minors().contains(gpu.minor()))
                                        .toList(),
                                holder(allowed.process(), "", freezer, directory)));
            }
        }
        return strays;
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
            String rule = "c " + DeviceMajors.NVIDIA + ":" + gpu.minor() + " rw";
            try {
                Files.writeString(deny, rule, StandardOpenOption.WRITE);
            } catch (NoSuchFileException e) {
                return;
            } catch (IOException e) {
                throw new IOException(
                        "its devices cgroup cannot be refused access to %s: %s"
                                .formatted(gpu.node(), FileErrors.describe(e)),
                        e);
            }
        }
    }

    /**
     * A task keeps its GPUs while its agent is down: even if the task has ended, its executor runs
     * until it has notified the agent. That does not matter as long as any agent runs on this host.
     */
    @Override
    public Optional<String> keptBy(Lease lease) {
        return RunningAgent.all().isEmpty()
                ? Optional.of(
                        "No Mesos agent runs on this host. Even if the task has ended, its"
                                + " executor keeps the GPUs until the agent is back, or for the"
                                + " agent's --recovery_timeout (15 minutes by default). If the"
                                + " agent will not come back, root can end it with: kill "
                                + lease.holder().process().pid())
                : Optional.empty();
    }

    /**
     * The agent's own note of the end, and its directory's, come later, or never when the agent is
     * gone: what matters is that nothing runs.
     */
    @Override
    protected String rest() {
        return "and its cgroup empty";
    }

    @Override
    protected String first() {
        return "the process that its agent has started it with";
    }

    @Override
    protected String others() {
        return "and others";
    }
}
