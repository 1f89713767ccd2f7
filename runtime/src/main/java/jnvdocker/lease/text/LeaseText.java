package jnvdocker.lease.text;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.HolderName;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.OtherContainer;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuUse;
import jnvdocker.use.RunningContainer;
import jnvdocker.words.Indices;
import jnvdocker.words.LocalZone;
import jnvdocker.words.Quote;

import java.time.Instant;
import java.time.LocalDate;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Describes the holders of GPUs, in the words that users get to see. */
public final class LeaseText {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("HH:mm");
    private static final DateTimeFormatter DAY = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm");

    private LeaseText() {}

    /** {@code GPU 1 (GPU-5c1a1003)}, {@code GPU 0:1 (MIG-22d5a1c4)}. */
    public static String name(String number, String uuid) {
        return "GPU " + number + " (" + Gpu.shortUuid(uuid) + ")";
    }

    /** {@code GPU 1 (GPU-5c1a1003), GPU 2 (GPU-5c1a2006)}. */
    public static String names(List<ClaimedGpu> gpus) {
        return gpus.stream()
                .map(gpu -> name(gpu.number(), gpu.uuid()))
                .collect(Collectors.joining(", "));
    }

    /** {@code GPU 1}, {@code GPUs 0,2}. */
    static String numbers(List<ClaimedGpu> gpus) {
        return (gpus.size() == 1 ? "GPU " : "GPUs ")
                + Indices.numbers(gpus.stream().map(ClaimedGpu::number));
    }

    /**
     * {@code alice's container train-7}, {@code alice's docker run (pid 4711)}, {@code alice's
     * process python3 (pid 4711)}, {@code alice's Mesos task train}, or {@code pod team-a/train-7}.
     */
    public static String holder(Lease lease) {
        Owner owner = lease.claim().owner();
        return (owner.isKubernetes() ? "" : Quote.shown(owner.name()) + "'s ") + itself(lease);
    }

    /** The holder without its user: {@code container train-7}. */
    static String itself(Lease lease) {
        Claim claim = lease.claim();
        ProcessId process = lease.holder().process();
        return lease.isReservation() ? command(claim, process) : holder(claim, process);
    }

    private static String holder(Claim claim, ProcessId process) {
        return HolderName.scheduled(claim.origin())
                .or(() ->
                        claim.origin()
                                .hostProgram()
                                .map(program -> "process " + HolderName.process(program, process)))
                .orElseGet(() -> container(claim));
    }

    /** {@code container train-7}. */
    public static String container(Claim claim) {
        return "container "
                + claim.container()
                        .map(container -> Quote.shown(container.name()))
                        .orElse("of image " + Quote.shown(claim.origin().title()));
    }

    /** The command that reserves GPUs before it becomes docker, or the user's own program. */
    public static String command(Claim claim, ProcessId client) {
        String pid = " (pid " + client.pid() + ")";
        return switch (claim.origin().kind()) {
            case ENGINE -> "docker run" + pid;
            case PROCESS -> "gpu run" + pid;
            case MESOS, POD -> HolderName.scheduled(claim.origin()).orElseThrow();
            case OCI -> claim.container().isPresent() ? container(claim) : "docker run" + pid;
        };
    }

    /**
     * The purpose of a waiting client: {@code container train-7}, an image, a program, or {@code
     * Mesos task train}.
     */
    public static String purpose(Request request) {
        if (request.container().isPresent()) {
            return "container " + Quote.shown(request.container().get());
        }
        Origin origin = request.origin();
        return HolderName.scheduled(origin).orElseGet(() -> Quote.shown(origin.title()));
    }

    /** The step that frees a claim's GPUs. */
    public static String toEnd(Claim claim) {
        return switch (claim.origin().kind()) {
            case ENGINE, OCI -> "stop the container";
            case PROCESS -> "end it";
            case MESOS -> "stop the task through its framework";
            case POD -> "delete the pod";
        };
    }

    /**
     * {@code 09:12}, with the day when it was not today. It is a time of the zone of the user who
     * is served, with its name where the host's clock shows another.
     */
    public static String time(Instant instant) {
        LocalZone zone = LocalZone.current();
        LocalDate today = zone.local(Instant.now()).toLocalDate();
        boolean isToday = zone.local(instant).toLocalDate().equals(today);
        return zone.shown(isToday ? TIME : DAY, instant);
    }

    /** {@code is held by alice's container train-7 since 09:12}. */
    public static String held(Lease lease) {
        return "is " + heldBy(lease);
    }

    static HoldersText.By heldBy(Lease lease) {
        return new HoldersText.By(
                (lease.isReservation() ? "reserved by " : "held by ")
                        + holder(lease)
                        + lease.claim()
                                .share()
                                .map(share -> " (share of " + share + ")")
                                .orElse(""),
                " since " + time(lease.since()));
    }

    /** {@code is used by bob's process python3 (pid 4711), which jnvdocker did not start}. */
    public static String used(GpuUse use) {
        return "is " + usedBy(use);
    }

    static HoldersText.By usedBy(GpuUse use) {
        return new HoldersText.By(
                (use.kind() == GpuUse.Kind.UNKNOWN ? "perhaps used by " : "used by ")
                        + user(use).map(name -> Quote.shown(name) + "'s ").orElse("")
                        + (containerId(use).isPresent() ? "container " : "process ")
                        + name(use),
                ", " + relation(use));
    }

    private static String relation(GpuUse use) {
        return switch (use.kind()) {
            case UNKNOWN -> "which has too many files open to be checked in one pass";
            case CLAIM -> "which has no lease on it";
            default ->
                    use.container()
                                    .flatMap(it -> ClaimNames.of(it.labels(), it.volumes()))
                                    .isPresent()
                            ? "which has no lease on it"
                            : "which jnvdocker did not start";
        };
    }

    /** The id of the container that uses a GPU. */
    public static Optional<String> containerId(GpuUse use) {
        return use.container().map(RunningContainer::id);
    }

    /** {@code train-7}, or {@code python3 (pid 4711)}. */
    public static String name(GpuUse use) {
        return use.container()
                .map(container -> Quote.shown(container.name()))
                .or(() -> use.process().map(LeaseText::process))
                .orElse("");
    }

    /** {@code python3 (pid 4711)}. */
    public static String process(GpuUse.User process) {
        return Quote.shown(process.name()) + " (pid " + process.id().pid() + ")";
    }

    /** The owner; empty if unknown: root in a container does not show the user that started it. */
    public static Optional<Owner> owner(GpuUse use) {
        return use.process()
                .map(GpuUse.User::uid)
                .filter(uid -> uid != 0 || containerId(use).isEmpty() && other(use).isEmpty())
                .map(Owners::of);
    }

    private static Optional<String> user(GpuUse use) {
        return owner(use).map(Owner::name);
    }

    /** By what it is known that a GPU is used, in a few words. */
    public static String how(GpuUse use) {
        return switch (use.kind()) {
            case OPEN, OPEN_WHOLE, OPEN_GRAPHICS -> opened(use);
            case CLAIM -> "its lease was lost, or is held by another";
            case UNKNOWN -> "perhaps: not all of its open files have been checked yet";
            default -> "given by docker: " + use.kind().words();
        };
    }

    private static String opened(GpuUse use) {
        return use.container().isPresent()
                ? "opened by its " + use.process().map(LeaseText::process).orElse("processes")
                : other(use)
                        .map(it -> "in " + Quote.shown(it.title()))
                        .or(() ->
                                use.process()
                                        .flatMap(GpuUse.User::containerId)
                                        .map(id -> "in container " + Claim.shortId(id)))
                        .orElse("not in a container");
    }

    /** The container of another engine than Docker that the process is in. */
    public static Optional<OtherContainer> other(GpuUse use) {
        return use.container().isPresent()
                ? Optional.empty()
                : use.process().flatMap(GpuUse.User::other);
    }

    /** {@code cordoned by root since 09:12 (fan is loud)}. */
    public static String cordoned(Cordon cordon) {
        return switch (cordon) {
            case Cordon.ByFile _ -> "cordoned in the configuration";
            case Cordon.ByCommand(Owner owner, Instant since, String reason) ->
                    "cordoned by "
                            + Quote.shown(owner.name())
                            + " since "
                            + time(since)
                            + (reason.isEmpty() ? "" : " (" + Quote.shown(reason) + ")");
        };
    }

    /** The command that returns it to service. */
    public static String toUncordon(Cordon cordon, Gpu gpu) {
        return switch (cordon) {
            case Cordon.ByFile _ ->
                    "take it out of cordon in the configuration, then run 'jnvdocker gpu reload'";
            case Cordon.ByCommand _ -> "jnvdocker gpu uncordon " + gpu.number();
        };
    }

    /** {@code GPU 2 (GPU-5c1a3009) has just disappeared}. */
    public static String vanished(List<ClaimedGpu> gpus) {
        return gpus.size() == 1
                ? names(gpus) + " has just disappeared"
                : "some of " + names(gpus) + " have just disappeared";
    }

    /** The request in words: {@code 2 GPUs}. */
    public static String requested(GpuRequest request) {
        return switch (request) {
            case GpuRequest.All _ -> "all GPUs";
            case GpuRequest.None _ -> "no GPU";
            case GpuRequest.Count count -> RequestText.gpus(count);
            case GpuRequest.With(String holder) -> "the GPUs of " + holder;
            case GpuRequest.Devices(List<String> ids) ->
                    (ids.size() == 1 ? "GPU " : "GPUs ") + Indices.typed(ids);
        };
    }
}
