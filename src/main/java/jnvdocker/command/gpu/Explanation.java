package jnvdocker.command.gpu;

import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;
import jnvdocker.words.Span;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Why a GPU is in the state that it is in, and what to do, in sentences. */
final class Explanation {
    private final GpuStatus status;
    private final Instant now;

    Explanation(GpuStatus status, Instant now) {
        this.status = status;
        this.now = now;
    }

    /**
     * @param kept what keeps the lease alive, see {@link jnvdocker.grant.Leases#explain}
     */
    List<String> held(Lease lease, String kept) {
        List<String> sentences = new ArrayList<>();
        sentences.add(
                subject()
                        + " "
                        + LeaseText.held(lease)
                        + " ("
                        + Span.between(lease.since(), now)
                        + ").");
        sentences.add(container(lease) + ".");
        sentences.add("What keeps it: " + kept + ".");
        sentences.add(whatToDo(lease));
        status.cordon()
                .ifPresent(cordon ->
                        sentences.add(
                                "It is "
                                        + LeaseText.cordoned(cordon)
                                        + ", and gets no new container after this one. "
                                        + uncordon(cordon)));
        return sentences;
    }

    /**
     * @param last the lease that ended last, if there was any
     */
    List<String> free(Optional<Lease> last) {
        Gpu gpu = status.gpu();
        if (status.state() == GpuStatus.State.SICK) {
            return List.of(
                    "GPU "
                            + gpu.index()
                            + " at "
                            + gpu.pciAddress()
                            + " can't be given out: "
                            + gpu.trouble()
                            + ".",
                    "Look why in the kernel's log: dmesg | grep -i nvrm");
        }
        if (status.user().isPresent()) {
            return used(status.user().get());
        }
        List<String> sentences = new ArrayList<>();
        String is = status.cordon().map(LeaseText::cordoned).orElse("free");
        sentences.add(subject() + " is " + is + idle() + ".");
        last.ifPresent(
                lease -> sentences.add("It was last held by " + LeaseText.holder(lease) + "."));
        if (status.cordon().isPresent()) {
            sentences.add("It gets no new container. " + uncordon(status.cordon().get()));
            return sentences;
        }
        if (!gpu.hasUuid()) {
            sentences.add("It can't be given out: " + status.note() + ".");
        } else if (!status.note().isEmpty()) {
            sentences.add("It is " + status.note() + ".");
        } else {
            sentences.add("To take it: jnvdocker run --gpus device=" + gpu.index() + " …");
        }
        return sentences;
    }

    /** Of a container that is started when it can have the GPU. */
    static String refused(RefusedStart refused) {
        String container = Quote.shown(refused.claim().displayName());
        return "Container "
                + container
                + " was refused it when docker was started ("
                + LeaseText.time(refused.since())
                + "), and is started when it is free and nobody waits for it; to keep it down:"
                + " docker update --restart=no "
                + container;
    }

    private String uncordon(Cordon cordon) {
        return "To have it given out again: " + LeaseText.toUncordon(cordon, status.gpu().index());
    }

    private List<String> used(GpuUse use) {
        List<String> sentences = new ArrayList<>();
        sentences.add(subject() + " " + LeaseText.used(use) + ".");
        use.container()
                .ifPresent(container ->
                        sentences.add(
                                "Container "
                                        + Holding.shortId(container.id())
                                        + " of image "
                                        + Quote.shown(container.image())
                                        + given(use)
                                        + "."));
        use.process().ifPresent(process -> sentences.add(seen(use, process) + "."));
        List<GpuUse> others = status.unmanaged().stream().skip(1).toList();
        if (!others.isEmpty()) {
            sentences.add(
                    "Likewise by "
                            + others.stream().map(LeaseText::name).collect(Collectors.joining(", "))
                            + ".");
        }
        sentences.add(
                "It is given out again when that has ended: "
                        + use.container()
                                .map(container -> "docker stop " + Quote.shown(container.name()))
                                .orElseGet(() ->
                                        use.kind() == GpuUse.Kind.OTHER_CLAIM
                                                ? "stop it with its own engine's docker"
                                                : "ask its user, or root may end it with kill"
                                                        + pid(use))
                        + "; what does not count can be named in the configuration (ignore).");
        return sentences;
    }

    private String seen(GpuUse use, GpuUse.User process) {
        String who = "What is seen: " + LeaseText.process(process);
        return switch (use.kind()) {
            case CLAIM ->
                    who
                            + " has a claim mounted whose lease was lost, or is another's, and may"
                            + " use this GPU";
            case OTHER_CLAIM ->
                    who + " has the claim of another state folder mounted, which has it";
            case UNKNOWN ->
                    who
                            + " may open "
                            + DeviceNodes.nameOf(status.gpu())
                            + ", and not all that it has open was looked at yet; that takes some"
                            + " seconds";
            default -> who + " has " + DeviceNodes.nameOf(status.gpu()) + " open";
        };
    }

    private static String pid(GpuUse use) {
        return use.process().map(process -> " " + process.id().pid()).orElse("");
    }

    private static String given(GpuUse use) {
        return use.kind() == GpuUse.Kind.OPEN
                ? ""
                : " was given it by docker ("
                        + use.kind().words()
                        + "), which counts while it is idle, too";
    }

    private String subject() {
        Gpu gpu = status.gpu();
        String name = LeaseText.name(gpu.index(), gpu.uuid());
        return status.state() == GpuStatus.State.MISSING
                ? name + ", which the driver does not show any more,"
                : name + ", " + gpu.model() + ",";
    }

    private String idle() {
        return status.idleSince()
                .map(since ->
                        ", idle since "
                                + LeaseText.time(since)
                                + " ("
                                + Span.between(since, now)
                                + ")")
                .orElse("; nobody is known to have had it");
    }

    private String container(Lease lease) {
        Claim claim = lease.claim();
        return what(claim)
                + ", under claim "
                + claim.id()
                + Holding.others(lease, status.gpu())
                        .map(others -> ", together with " + others)
                        .orElse("");
    }

    private static String what(Claim claim) {
        return switch (claim.origin()) {
            case Origin.DockerContainer _, Origin.OciContainer _ ->
                    claim.container()
                                    .map(it -> "Container " + Holding.shortId(it.id()))
                                    .orElse("A container that is not known yet")
                            + " of image "
                            + Quote.shown(claim.origin().title());
            case Origin.HostProcess _ -> "A process of the host, started with 'jnvdocker gpu run'";
            case Origin.MesosTask _ ->
                    "A container of a Mesos agent"
                            + claim.container().map(it -> ", " + Quote.shown(it.id())).orElse("");
        };
    }

    private String whatToDo(Lease lease) {
        return switch (status.state()) {
            case FREE, SICK, UNMANAGED, CORDONED ->
                    throw new IllegalStateException("a free GPU has no lease");
            case RESERVED -> reserved(lease.claim());
            case HELD -> toFree(lease);
            case STUCK -> stuck(lease.claim());
            case MISSING ->
                    "Look for 'Xid' in dmesg: the GPU may have fallen off the bus, or the driver"
                            + " may be about to be reloaded.";
        };
    }

    private static String stuck(Claim claim) {
        return "A killed process that does not end waits in the kernel, most likely for the driver:"
                + " look for 'Xid' in dmesg; it may take a restart of the host."
                + switch (claim.origin()) {
                    case Origin.DockerContainer _, Origin.HostProcess _, Origin.OciContainer _ ->
                            "";
                    case Origin.MesosTask _ ->
                            " If it has ended, others that share its cgroup could open the GPU:"
                                    + " that is denied them as soon as it can be.";
                };
    }

    private static String reserved(Claim claim) {
        return switch (claim.origin()) {
            case Origin.DockerContainer _ ->
                    "It becomes the container's when docker starts that, and free when that docker"
                            + " run ends before.";
            case Origin.HostProcess _ ->
                    "It becomes the command's in a moment, and free when that gpu run ends before.";
            case Origin.MesosTask _ ->
                    "It becomes the task's in a moment, and free when its launch fails before.";
            case Origin.OciContainer _ ->
                    "It becomes the container's in a moment, and free when its start fails before.";
        };
    }

    private static String toFree(Lease lease) {
        Claim claim = lease.claim();
        return switch (claim.origin()) {
            case Origin.DockerContainer _ ->
                    "To free it: docker stop "
                            + claim.container()
                                    .map(it -> Quote.shown(it.name()))
                                    .orElse("CONTAINER")
                            + "; if that is gone already: jnvdocker gpu release "
                            + claim.id();
            case Origin.HostProcess _ ->
                    "It is given out again when that has ended, and all that it has started: ask"
                            + " its user, or root may end it with kill "
                            + lease.holder().process().pid();
            case Origin.MesosTask _ ->
                    "It is given out again when nothing of that container runs any more: "
                            + LeaseText.toEnd(claim);
            case Origin.OciContainer _ ->
                    "To free it: docker stop "
                            + claim.container()
                                    .map(it -> Quote.shown(it.name()))
                                    .orElse("CONTAINER");
        };
    }
}
