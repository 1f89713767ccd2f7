package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.container.GpuResolver;
import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * Chooses GPUs for a request: all that it asks for, or none. The same request and the same state of
 * the host give the same choice.
 */
final class GpuChoice {
    private static final String LOOK = "look why in the kernel's log (dmesg | grep -i nvrm)";

    private final List<Gpu> gpus;
    private final List<Gpu> sound;
    private final LeaseRegistry.Holdings holdings;
    private final Unmanaged unmanaged;
    private final Map<String, Ticket> kept;

    /**
     * @param gpus those of the host, in order of index
     * @param kept for whom those are to be, when they are free, that somebody waits for who came
     *     before; by UUID
     */
    GpuChoice(
            List<Gpu> gpus,
            LeaseRegistry.Holdings holdings,
            Unmanaged unmanaged,
            Map<String, Ticket> kept) {
        this.kept = kept;
        this.gpus = gpus;
        sound = gpus.stream().filter(Gpu::isSound).toList();
        this.holdings = holdings;
        this.unmanaged = unmanaged;
    }

    /** What a request comes to. */
    sealed interface Outcome {}

    /** In order of index. */
    record Chosen(List<Gpu> gpus) implements Outcome {}

    /**
     * Others have GPUs that are needed.
     *
     * @param leases under which they have them; one who has none is named in the refusal alone
     * @param reason who has them
     * @param remedy for the user, should nothing change
     */
    record Busy(List<Lease> leases, String reason, String remedy) implements Outcome {
        String refusal() {
            return reason + remedy;
        }
    }

    /**
     * @throws RefusedException when this host can't ever serve the request
     */
    Outcome of(GpuRequest request) throws RefusedException {
        return switch (request) {
            case GpuRequest.None _ -> new Chosen(List.of());
            case GpuRequest.All _ -> all();
            case GpuRequest.Count(int count) -> count(count);
            case GpuRequest.Devices(List<String> ids) -> named(GpuResolver.resolve(ids, gpus));
        };
    }

    private Outcome all() throws RefusedException {
        refuseWithoutGpus();
        return these(
                sound,
                busyAmong(sound),
                "all GPUs are asked for, and ",
                "; wait with --gpu-wait" + elsewhere(", or take others"));
    }

    private Outcome named(List<Gpu> named) throws RefusedException {
        List<Gpu> busy =
                named.stream()
                        .filter(gpu -> unmanaged.allowed() ? isGivenOut(gpu) : isBusy(gpu))
                        .toList();
        return these(
                named,
                busy,
                "",
                "; wait with --gpu-wait"
                        + elsewhere(busy.size() == 1 ? ", or take another" : ", or take others"));
    }

    private void refuseWithoutGpus() throws RefusedException {
        if (gpus.isEmpty()) {
            throw new RefusedException("the driver shows no GPU on this host; " + LOOK);
        }
        if (sound.isEmpty()) {
            throw sick(gpus.getFirst());
        }
    }

    private Outcome these(List<Gpu> wanted, List<Gpu> busy, String before, String remedy)
            throws RefusedException {
        identify(wanted);
        return busy.isEmpty() ? new Chosen(wanted) : busy(busy, before, remedy);
    }

    private Outcome count(int count) throws RefusedException {
        refuseWithoutGpus();
        if (count > sound.size()) {
            throw new RefusedException(
                    count
                            + " GPUs are asked for, and this host has "
                            + sound.size()
                            + sick()
                            + "; ask for fewer ('jnvdocker gpu ls' shows them)");
        }
        List<Gpu> free = free();
        if (free.size() < count) {
            String asked = count == 1 ? "1 GPU is asked for" : count + " GPUs are asked for";
            String left = free.isEmpty() ? "none is free: " : "free is " + indices(free) + ": ";
            return busy(
                    busyAmong(sound),
                    asked + ", and " + left,
                    "; wait with --gpu-wait" + (free.isEmpty() ? "" : ", or ask for fewer"));
        }
        List<Gpu> chosen =
                free.stream()
                        .sorted(
                                Comparator.comparing(Gpu::hasUuid)
                                        .reversed()
                                        .thenComparing(this::idleSince)
                                        .thenComparing(Gpu::index))
                        .limit(count)
                        .sorted(Comparator.comparing(Gpu::index))
                        .toList();
        identify(chosen);
        return new Chosen(chosen);
    }

    /** Before anything opens a GPU, the driver shows question marks: two such look the same. */
    private static void identify(List<Gpu> wanted) throws RefusedException {
        for (Gpu gpu : wanted) {
            if (!gpu.isSound()) {
                throw sick(gpu);
            }
            if (!gpu.hasUuid()) {
                throw new RefusedException(
                        "GPU "
                                + gpu.index()
                                + " at "
                                + gpu.pciAddress()
                                + " shows no UUID yet, by which it would be held; run nvidia-smi"
                                + " once as root, or start nvidia-persistenced at boot");
            }
        }
    }

    private static RefusedException sick(Gpu gpu) {
        return new RefusedException(
                "GPU "
                        + gpu.index()
                        + " at "
                        + gpu.pciAddress()
                        + " can't be given out: "
                        + gpu.trouble()
                        + "; "
                        + LOOK);
    }

    /** {@code , and GPU 2 that can't be given out}. */
    private String sick() {
        List<Gpu> sick = gpus.stream().filter(gpu -> !gpu.isSound()).toList();
        return switch (sick.size()) {
            case 0 -> "";
            case 1 -> ", and GPU " + indices(sick) + " that can't be given out";
            default -> ", and GPUs " + indices(sick) + " that can't be given out";
        };
    }

    private Busy busy(List<Gpu> busy, String before, String remedy) {
        List<Lease> leases =
                busy.stream()
                        .map(gpu -> holdings.held().get(gpu.uuid()))
                        .filter(Objects::nonNull)
                        .distinct()
                        .toList();
        List<ClaimedGpu> asked = busy.stream().map(ClaimedGpu::of).toList();
        return new Busy(leases, before + Refusals.taken(asked, leases, unmanaged, kept), remedy);
    }

    private String elsewhere(String words) {
        List<Gpu> free = free();
        return free.isEmpty() ? "" : words + " (free: " + indices(free) + ")";
    }

    private static String indices(List<Gpu> gpus) {
        return gpus.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(", "));
    }

    private List<Gpu> free() {
        return sound.stream().filter(gpu -> !isBusy(gpu)).toList();
    }

    private List<Gpu> busyAmong(List<Gpu> some) {
        return some.stream().filter(this::isBusy).toList();
    }

    private boolean isBusy(Gpu gpu) {
        return isGivenOut(gpu) || !unmanaged.of(gpu).isEmpty();
    }

    /** To whoever has it, or is to have it. */
    private boolean isGivenOut(Gpu gpu) {
        return isHeld(gpu) || kept.containsKey(gpu.uuid());
    }

    private boolean isHeld(Gpu gpu) {
        return holdings.held().containsKey(gpu.uuid());
    }

    private Instant idleSince(Gpu gpu) {
        return holdings.idleSince().getOrDefault(gpu.uuid(), Instant.MIN);
    }
}
