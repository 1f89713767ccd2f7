package jnvdocker.command.caller;

import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.HostDriver;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.GpuResolver;
import jnvdocker.words.Indices;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The GPUs of the Slurm job, or of its step, that a client runs in: its containers and programs get
 * no others. Slurm names them by their places in the order of PCI addresses, as nvidia-smi does, if
 * its gres.conf has all GPUs of the host. A user can unset the variable, so this keeps a job from
 * mistakes, and no user from anything.
 *
 * @param variable the variable that names them, with its value, for messages
 * @param gpus those that the host has
 */
public record SlurmGpus(String variable, List<Gpu> gpus) {
    private static final List<String> VARIABLES = List.of("SLURM_STEP_GPUS", "SLURM_JOB_GPUS");
    private static final Pattern INDICES = Pattern.compile("[0-9]{1,4}(,[0-9]{1,4})*");

    /**
     * Reads the variables of a client.
     *
     * @param inventory the GPUs of the host, which are read only in a job
     * @return empty outside of a job, and in one that names its GPUs itself
     * @throws RefusedException when it is in a job whose GPUs are not known by that, and names
     *     none, or names others
     */
    public static Optional<SlurmGpus> of(
            ClientRequest request, GpuRequest wanted, GpuInventory inventory)
            throws IOException, RefusedException {
        Optional<String> variable = variable(request);
        if (variable.isEmpty() || wanted instanceof GpuRequest.None) {
            return Optional.empty();
        }
        List<Gpu> present = inventory.read().gpus();
        String value = request.variable(variable.get()).strip();
        String named = variable.get() + "=" + Quote.shown(value);
        Optional<Set<Integer>> indices = indices(value, present);
        if (indices.isEmpty()) {
            if (wanted instanceof GpuRequest.Devices) {
                return Optional.empty();
            }
            throw new RefusedException(
                    "the GPUs of this Slurm job are not known: "
                            + named
                            + " does not number whole GPUs of this host",
                    "name them with --gpus device=<ids>, or have gres.conf list all GPUs");
        }
        SlurmGpus its =
                new SlurmGpus(
                        named,
                        present.stream()
                                .filter(gpu -> indices.get().contains(gpu.index()))
                                .toList());
        its.refuseOthers(wanted, present);
        return Optional.of(its);
    }

    /** Whether a client runs in a job that has GPUs. */
    public static boolean areNamed(ClientRequest request) {
        return variable(request).isPresent();
    }

    private static Optional<String> variable(ClientRequest request) {
        return VARIABLES.stream().filter(it -> !request.variable(it).isBlank()).findFirst();
    }

    /** Empty when they do not mean whole GPUs: MIG instances are numbered in another way. */
    private static Optional<Set<Integer>> indices(String value, List<Gpu> present) {
        if (!INDICES.matcher(value).matches()
                || present.stream().anyMatch(gpu -> gpu.part().isPresent())) {
            return Optional.empty();
        }
        Set<Integer> indices =
                Arrays.stream(value.split(",")).map(Integer::valueOf).collect(Collectors.toSet());
        Set<Integer> known = present.stream().map(Gpu::index).collect(Collectors.toSet());
        return known.containsAll(indices) ? Optional.of(indices) : Optional.empty();
    }

    private void refuseOthers(GpuRequest wanted, List<Gpu> present) throws RefusedException {
        String take =
                "request no more than those of the job: "
                        + Indices.numbers(gpus.stream().map(Gpu::number));
        if (wanted instanceof GpuRequest.Count(int count, _) && count > gpus.size()) {
            throw new RefusedException(
                    "%s GPUs requested, but this Slurm job has %s (%s)"
                            .formatted(count, gpus.size(), variable),
                    take);
        }
        if (wanted instanceof GpuRequest.Devices(List<String> ids)) {
            for (Gpu gpu : GpuResolver.resolve(ids, present)) {
                if (!gpus.contains(gpu)) {
                    throw new RefusedException(
                            "%s is not one of this Slurm job's (%s)"
                                    .formatted(LeaseText.name(gpu.number(), gpu.uuid()), variable),
                            take);
                }
            }
        }
    }

    /** A host that has no other GPUs. */
    public HostDriver only(HostDriver driver) {
        return new HostDriver(driver.version(), gpus);
    }

    /** A request that means the same to those who know nothing of the job. */
    public GpuRequest named(GpuRequest wanted) {
        return wanted instanceof GpuRequest.All
                ? new GpuRequest.Devices(gpus.stream().map(Gpu::id).toList())
                : wanted;
    }

    /** Their UUIDs. */
    public Set<String> uuids() {
        return gpus.stream().map(Gpu::uuid).collect(Collectors.toSet());
    }
}
