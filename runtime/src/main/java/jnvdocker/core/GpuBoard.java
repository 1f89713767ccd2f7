package jnvdocker.core;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Life;
import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.KeptText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.NodeText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.use.Observer;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Combines all that is known about every GPU. */
final class GpuBoard {
    private static final String UNKNOWN =
            "not known yet whether docker's containers use it: the engine does not answer";

    private final Holdings holdings;
    private final Evidence evidence;
    private final HostView view;
    private final GpuChoice choice;
    private final boolean knowsContainers;
    private final String observed;

    /**
     * @param choice the choice from now on, for the last in the queue
     * @param knowsContainers whether it is known what docker has given to its containers
     * @param observers the containers that observe all GPUs
     */
    GpuBoard(
            Holdings holdings,
            Evidence evidence,
            GpuChoice choice,
            boolean knowsContainers,
            List<Observer> observers) {
        this.holdings = holdings;
        this.evidence = evidence;
        this.view = evidence.view();
        this.choice = choice;
        this.knowsContainers = knowsContainers;
        this.observed =
                observers.isEmpty()
                        ? ""
                        : "observed by "
                                + Quote.shown(observers.getFirst().name())
                                + more(observers.size() - 1);
    }

    List<GpuStatus> status() {
        List<GpuStatus> all = new ArrayList<>();
        Set<String> shown = new HashSet<>();
        for (Verdict verdict : choice.verdicts()) {
            Gpu gpu = verdict.gpu();
            shown.add(gpu.uuid());
            gpu.part().ifPresent(part -> shown.add(part.parent()));
            GpuStatus status =
                    verdict.holder()
                            .map(lease -> held(verdict, lease))
                            .orElseGet(() -> free(verdict));
            all.add(observed.isEmpty() ? status : status.noting(observed));
        }
        holdings.held()
                .forEach((uuid, leases) -> {
                    if (!shown.contains(uuid)) {
                        all.add(
                                together(
                                        shares(leases, uuid),
                                        leases.getFirst(),
                                        lease -> missing(uuid, lease)));
                    }
                });
        return all;
    }

    private GpuStatus free(Verdict verdict) {
        GpuStatus.State state = verdict.state();
        boolean hasSince = state == GpuStatus.State.FREE || state == GpuStatus.State.CORDONED;
        return new GpuStatus(
                verdict,
                state,
                Optional.empty(),
                hasSince
                        ? Optional.ofNullable(holdings.idleSince().get(verdict.gpu().uuid()))
                        : Optional.empty(),
                switch (state) {
                    case SICK -> trouble(verdict.gpu());
                    case UNMANAGED -> notes(used(verdict), cordoned(verdict));
                    case CORDONED -> cordoned(verdict);
                    default -> kept(verdict);
                });
    }

    private static String used(Verdict verdict) {
        List<GpuUse> uses = verdict.uses();
        return LeaseText.how(uses.getFirst()) + more(uses.size() - 1);
    }

    private static String cordoned(Verdict verdict) {
        return verdict.cordon().map(LeaseText::cordoned).orElse("");
    }

    private String kept(Verdict verdict) {
        return verdict.gpu().hasUuid()
                ? verdict.kept()
                        .map(KeptText::of)
                        .or(() -> booked(verdict.gpu()))
                        .orElse(knowsContainers ? "" : UNKNOWN)
                : "no UUID yet: run nvidia-smi once as root";
    }

    /** The booking that counts next. */
    private Optional<String> booked(Gpu gpu) {
        return holdings.bookings(gpu).stream().findFirst().map(KeptText::of);
    }

    private static String notes(String... notes) {
        return Stream.of(notes).filter(note -> !note.isEmpty()).collect(Collectors.joining("; "));
    }

    private static String trouble(Gpu gpu) {
        return gpu.trouble().map(Refusal::what).orElse("");
    }

    private static String more(int others) {
        return others == 0 ? "" : ", and " + others + " more";
    }

    private GpuStatus held(Verdict verdict, Lease holder) {
        return together(
                shares(verdict.leases(), verdict.gpu().uuid()),
                holder,
                lease -> under(lease, verdict, lease.id() == holder.id()));
    }

    private static List<Lease> shares(List<Lease> leases, String uuid) {
        return leases.stream().filter(lease -> lease.share(uuid).isPresent()).toList();
    }

    /** The state under each lease of a shared GPU, or under the holder of another one. */
    private static GpuStatus together(
            List<Lease> shares, Lease holder, Function<Lease, GpuStatus> under) {
        if (shares.isEmpty()) {
            return under.apply(holder);
        }
        List<GpuStatus> each = shares.stream().map(under).toList();
        return each.getFirst().beside(each.subList(1, each.size()));
    }

    /**
     * @param first whether notes on the GPU itself belong here
     */
    private GpuStatus under(Lease lease, Verdict verdict, boolean first) {
        Gpu gpu = verdict.gpu();
        Life finding = evidence.of(lease, view);
        String note = note(lease, finding);
        return new GpuStatus(
                verdict,
                evidence.state(lease, finding),
                Optional.of(lease),
                Optional.empty(),
                first
                        ? notes(
                                trouble(gpu),
                                note,
                                NodeText.note(lease, gpu).orElse(""),
                                openToo(gpu, lease),
                                beside(holdings.allOf(gpu.uuid()), lease),
                                also(verdict.uses()),
                                cordoned(verdict),
                                booked(gpu).orElse(""),
                                verdict.keptFor()
                                        .map(KeptText::of)
                                        .map(kept -> "its rest is " + kept)
                                        .orElse(""))
                        : note);
    }

    private String note(Lease lease, Life finding) {
        return switch (finding) {
            case Life.Running(ProcessId process) when evidence.isDying(process) ->
                    "killed, but pid " + process.pid() + " does not end";
            case Life.Running(ProcessId process) when evidence.isFrozenDead(process) ->
                    "killed, but pid " + process.pid() + " is frozen: thaw its cgroup";
            case Life.Running(ProcessId process)
                    when !lease.isOfContainer() && evidence.isStopped(process) ->
                    "pid " + process.pid() + " is stopped";
            case Life.Running(ProcessId process) when evidence.isPaused(lease, process) -> "paused";
            case Life.Running _ -> evidence.note(lease);
            case Life.Gone _ ->
                    evidence.memory(lease)
                            .kept()
                            .map(why -> "ended, but " + why)
                            .orElse(
                                    lease.isOfContainer()
                                            ? "ended, unless docker starts it again"
                                            : "ended");
            case Life.Starting _ -> "starting";
            case Life.Unknown _ -> evidence.kind(lease).unknownNote(lease);
        };
    }

    /** {@code train-8 has it, too}: what the owner has given the same GPU to. */
    private static String beside(List<Lease> all, Lease shown) {
        List<String> others =
                all.stream()
                        .filter(lease -> lease.id() != shown.id())
                        .filter(lease -> lease.claim().isBeside(shown.claim()))
                        .map(lease -> Quote.shown(lease.claim().displayName()))
                        .toList();
        return switch (others.size()) {
            case 0 -> "";
            case 1 -> others.getFirst() + " has it, too";
            default -> others.getFirst() + " and " + (others.size() - 1) + " more have it, too";
        };
    }

    /** {@code open to train-8, too}: others that were given the node which it has now. */
    private String openToo(Gpu gpu, Lease shown) {
        return holdings.opening(gpu).stream()
                .filter(lease -> lease.id() != shown.id())
                .map(lease -> Quote.shown(lease.claim().displayName()))
                .collect(
                        Collectors.collectingAndThen(
                                Collectors.joining(", "),
                                names -> names.isEmpty() ? "" : "open to " + names + ", too"));
    }

    private static String also(List<GpuUse> uses) {
        return uses.isEmpty()
                ? ""
                : "used by " + LeaseText.name(uses.getFirst()) + more(uses.size() - 1) + ", too";
    }

    private static GpuStatus missing(String uuid, Lease lease) {
        ClaimedGpu claimed =
                lease.claim().gpus().stream()
                        .filter(gpu -> gpu.uuid().equals(uuid))
                        .findFirst()
                        .orElseThrow();
        return new GpuStatus(
                Verdict.missing(
                        new Gpu(
                                claimed.index(),
                                uuid,
                                claimed.minor(),
                                "?",
                                "?",
                                Optional.empty(),
                                claimed.part()),
                        lease),
                GpuStatus.State.MISSING,
                Optional.of(lease),
                Optional.empty(),
                "the driver does not show it");
    }
}
