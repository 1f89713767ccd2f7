package jnvdocker.command.gpu.show;

import jnvdocker.command.gpu.view.Holding;
import jnvdocker.command.gpu.view.LeaseRow;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.Tenure;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.NodeText;
import jnvdocker.process.OtherContainer;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.Span;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Explains in sentences why a GPU is in its state, and what to do. */
final class Explanation {
    /** Only root may end a use by an unknown user. */
    private static final Owner NOBODY_KNOWN = new Owner(0, "root");

    private static final String ITS_USER = "its user";

    private final GpuStatus status;
    private final Predicate<Owner> mayEnd;
    private final Instant now;

    /**
     * @param mayEnd whether the reader may end the uses of an owner: other readers contact the
     *     owner, or wait
     */
    Explanation(GpuStatus status, Predicate<Owner> mayEnd, Instant now) {
        this.status = status;
        this.mayEnd = mayEnd;
        this.now = now;
    }

    /**
     * @param tenure of the lease's container
     * @param kept the reason why the lease is kept alive, see {@link
     *     jnvdocker.holder.HolderText#explain}
     * @param idle the sentence that it is not used; empty if that is not known
     */
    List<String> held(Lease lease, Tenure tenure, String kept, Optional<String> idle) {
        List<String> sentences = new ArrayList<>();
        sentences.add(
                "%s %s (%s)."
                        .formatted(
                                subject(),
                                NodeText.open(lease, status.gpu())
                                        .orElseGet(() -> LeaseText.held(lease)),
                                Span.between(lease.since(), now)));
        sentences.add(container(lease) + ".");
        if (tenure.since().isBefore(lease.since())) {
            String restarts = LeaseRow.restarts(tenure);
            sentences.add(
                    "The container has had GPUs since %s (%s)%s."
                            .formatted(
                                    LeaseText.time(tenure.since()),
                                    Span.between(tenure.since(), now),
                                    restarts.isEmpty() ? "" : ", and was " + restarts));
        }
        lease.due()
                .ifPresent(due ->
                        sentences.add(
                                (lease.isOverdue(now)
                                                ? "It is overdue since "
                                                : "Its time ends at ")
                                        + LeaseText.time(due)
                                        + (mayEnd.test(lease.claim().owner())
                                                ? "; 'jnvdocker gpu extend %s 2h' gives it more."
                                                        .formatted(lease.claim().id())
                                                : ".")));
        sentences.add("What keeps it: " + kept + ".");
        status.gpu().trouble().ifPresent(why -> sentences.add(sick(why)));
        sharing().ifPresent(sentences::add);
        idle.ifPresent(sentences::add);
        sentences.add(whatToDo(lease));
        status.cordon()
                .ifPresent(cordon ->
                        sentences.add(
                                "It is %s, and gets no new container after this one. %s"
                                        .formatted(LeaseText.cordoned(cordon), uncordon(cordon))));
        return sentences;
    }

    private static String sick(Refusal why) {
        return "It is given to nobody after this holder: %s. What to do then: %s."
                .formatted(why.what(), why.remedy().orElseThrow());
    }

    /** Names the users of the GPU other than its holder. */
    private Optional<String> sharing() {
        return status.unmanaged().isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "It is used without a lease, too, by "
                                + status.unmanaged().stream()
                                        .map(LeaseText::name)
                                        .collect(Collectors.joining(", "))
                                + ".");
    }

    /**
     * @param last the lease that ended last, if any
     */
    List<String> free(Optional<Lease> last) {
        Gpu gpu = status.gpu();
        if (status.state() == GpuStatus.State.SICK) {
            Refusal why = GpuText.sick(gpu);
            return List.of(why.what() + ".", "What to do: " + why.remedy().orElseThrow() + ".");
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
            sentences.add("It is not given to containers: " + status.note() + ".");
        } else if (!status.note().isEmpty()) {
            sentences.add("It is " + status.note() + ".");
        } else {
            sentences.add("To take it: jnvdocker run --gpus device=" + gpu.number() + " …");
        }
        return sentences;
    }

    /** Explains the refusal of a container that will start once it can have the GPU. */
    static String refused(RefusedStart refused) {
        String container = Quote.shown(refused.claim().displayName());
        return "Container "
                + container
                + " was refused this GPU when docker was to start it ("
                + LeaseText.time(refused.since())
                + "), and is started when the GPU is free and nobody waits for it; to keep it down:"
                + " docker update --restart=no "
                + container;
    }

    private String uncordon(Cordon cordon) {
        return "To return it to service: " + LeaseText.toUncordon(cordon, status.gpu());
    }

    private List<String> used(GpuUse use) {
        List<String> sentences = new ArrayList<>();
        sentences.add(subject() + " " + LeaseText.used(use) + ".");
        use.container()
                .ifPresent(container ->
                        sentences.add(
                                "Container %s of image %s%s."
                                        .formatted(
                                                Holding.shortId(container.id()),
                                                Quote.shown(container.image()),
                                                given(use))));
        use.process().ifPresent(process -> sentences.add(seen(use, process) + "."));
        List<GpuUse> others = status.unmanaged().stream().skip(1).toList();
        if (!others.isEmpty()) {
            sentences.add(
                    "Also used by "
                            + others.stream().map(LeaseText::name).collect(Collectors.joining(", "))
                            + ".");
        }
        sentences.add(toEnd(use));
        return sentences;
    }

    private String toEnd(GpuUse use) {
        String start = "It becomes free when this has ended: ";
        Optional<Owner> owner = LeaseText.owner(use);
        if (!owner.map(mayEnd::test).orElseGet(() -> mayEnd.test(NOBODY_KNOWN))) {
            String user =
                    owner.map(Explanation::requested).or(() -> Holding.guess(use)).orElse(ITS_USER);
            return start + "contact " + user + ", or wait with --gpu-wait.";
        }
        return start
                + use.container()
                        .map(its -> "docker stop " + Holding.typed(its.id(), its.name()))
                        .or(() -> LeaseText.other(use).map(it -> Quote.shown(it.toStop())))
                        .orElseGet(() -> "kill" + pid(use))
                + "; to ignore such use, add it to ignore in the configuration.";
    }

    private static String requested(Owner owner) {
        return owner.equals(Owner.UNKNOWN) ? ITS_USER : Quote.shown(owner.name());
    }

    private String seen(GpuUse use, GpuUse.User process) {
        String who = "What is seen: " + LeaseText.process(process);
        return switch (use.kind()) {
            case CLAIM ->
                    who
                            + " has a claim whose lease was lost, or is another's, and may"
                            + " use this GPU";
            case UNKNOWN ->
                    who
                            + " may open "
                            + DeviceNodes.nameOf(status.gpu())
                            + ", and not all of its open files have been checked yet; that takes"
                            + " some seconds";
            case OPEN_GRAPHICS -> who + " has a graphics node of this GPU open (in /dev/dri)";
            case OPEN, OPEN_WHOLE, NODE, REQUEST, CDI, RUNTIME ->
                    who + " has " + DeviceNodes.nameOf(status.gpu()) + " open";
        };
    }

    private static String pid(GpuUse use) {
        return use.process().map(process -> " " + process.id().pid()).orElse("");
    }

    private static String given(GpuUse use) {
        return use.kind().isOpen()
                ? ""
                : " was given it by docker ("
                        + use.kind().words()
                        + "); this counts even while it is idle";
    }

    private String subject() {
        Gpu gpu = status.gpu();
        String name = LeaseText.name(gpu.number(), gpu.uuid());
        return status.state() == GpuStatus.State.MISSING
                ? name + ", which the driver no longer shows,"
                : name + ", " + gpu.model() + ",";
    }

    private String idle() {
        return status.idleSince()
                .map(since ->
                        ", idle since %s (%s)"
                                .formatted(LeaseText.time(since), Span.between(since, now)))
                .orElse("; no earlier holder is known");
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
            case Origin.EngineContainer _, Origin.OciContainer _ ->
                    claim.container()
                                    .map(it -> "Container " + Holding.shortId(it.id()))
                                    .orElse("A container that is not known yet,")
                            + " of image "
                            + Quote.shown(claim.origin().title());
            case Origin.HostProcess _ -> "A process of the host, started with 'jnvdocker gpu run'";
            case Origin.MesosTask _ ->
                    "A container of a Mesos agent"
                            + claim.container().map(it -> ", " + Quote.shown(it.id())).orElse("");
            case Origin.Pod pod ->
                    pod.uid().isEmpty()
                            ? "A pod of Kubernetes that the kubelet has not named yet"
                            : "A pod of Kubernetes, " + Quote.shown(pod.uid());
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
                    "Search dmesg for 'Xid': the GPU may have fallen off the bus, or the driver"
                            + " may be about to be reloaded.";
        };
    }

    private static String stuck(Claim claim) {
        return "It becomes free when that process is gone: kill -KILL PID. If it does not end, it"
                + " waits in the kernel, most likely for the driver: search dmesg for 'Xid'; the"
                + " host may have to be restarted."
                + (claim.origin().isRevocable()
                        ? " If it has ended, others that share its cgroup could open the GPU:"
                                + " access is revoked as soon as possible."
                        : "");
    }

    private static String reserved(Claim claim) {
        return switch (claim.origin().kind()) {
            case ENGINE ->
                    "It becomes held when docker starts the container, and free if that docker run"
                            + " ends first.";
            case PROCESS -> "It becomes held in a moment, and free if that gpu run ends first.";
            case MESOS -> "It becomes held in a moment, and free if the launch fails first.";
            case OCI -> "It becomes held in a moment, and free if the start fails first.";
            case POD ->
                    "It becomes held when the kubelet starts the pod, and free if the kubelet gives"
                            + " it up first.";
        };
    }

    private String toFree(Lease lease) {
        Claim claim = lease.claim();
        if (!mayEnd.test(claim.owner())) {
            return "To get it: contact %s, or wait for it: ".formatted(requested(claim.owner()))
                    + "jnvdocker run --gpu-wait --gpus device=%s …"
                            .formatted(status.gpu().number());
        }
        return switch (claim.origin()) {
            case Origin.EngineContainer _ ->
                    toStop(lease)
                            + "; if that is gone already: jnvdocker gpu release "
                            + claim.id();
            case Origin.HostProcess _ ->
                    "It becomes free when the process and everything that it started have ended:"
                            + " kill "
                            + pids(lease.holder());
            case Origin.MesosTask _ ->
                    "It becomes free when nothing of that container runs any more: "
                            + LeaseText.toEnd(claim);
            case Origin.Pod pod ->
                    pod.name().isEmpty()
                            ? "It becomes free when the pod has ended and the kubelet no longer"
                                    + " lists it."
                            : "To free it: kubectl delete pod --namespace %s %s"
                                    .formatted(
                                            Quote.shown(pod.namespace()), Quote.shown(pod.name()));
            case Origin.OciContainer _ -> toStop(lease);
        };
    }

    private static String toStop(Lease lease) {
        String name =
                lease.claim()
                        .container()
                        .map(it -> Holding.typed(it.id(), it.name()))
                        .orElse("CONTAINER");
        return "To free it: " + OtherContainer.toStop(lease.holder().cgroup(), name);
    }

    /**
     * Formats the pids for a shell: the first process may have ended before those that it started.
     */
    private static String pids(Holder holder) {
        return holder.cgroup()
                .map(cgroup -> "$(cat " + cgroup + "/cgroup.procs)")
                .orElseGet(() -> String.valueOf(holder.process().pid()));
    }
}
