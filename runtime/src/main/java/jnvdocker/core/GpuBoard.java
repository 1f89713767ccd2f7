package jnvdocker.core;

import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.host.Gpu;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.GpuStatus;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Lease;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.KeptText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.lease.text.NodeText;
import jnvdocker.posix.ProcessId;
import jnvdocker.use.GpuUse;
import jnvdocker.use.Observer;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Combines all that is known about every GPU. */
final class GpuBoard {
    private static final String UNKNOWN =
            "not known yet whether docker's containers use it: the engine does not answer";

    private final Holdings holdings;
    private final Evidence evidence;
    private final UnmanagedUses unmanaged;
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
            UnmanagedUses unmanaged,
            GpuChoice choice,
            boolean knowsContainers,
            List<Observer> observers) {
        this.holdings = holdings;
        this.evidence = evidence;
        this.unmanaged = unmanaged;
        this.choice = choice;
        this.knowsContainers = knowsContainers;
        this.observed =
                observers.isEmpty()
                        ? ""
                        : "observed by "
                                + Quote.shown(observers.getFirst().name())
                                + more(observers.size() - 1);
    }

    List<GpuStatus> status(List<Gpu> gpus) {
        List<GpuStatus> all = new ArrayList<>();
        Set<String> shown = new HashSet<>();
        for (Gpu gpu : gpus) {
            shown.add(gpu.uuid());
            gpu.part().ifPresent(part -> shown.add(part.parent()));
            GpuStatus status =
                    holdings.of(gpu).map(lease -> held(gpu, lease)).orElseGet(() -> free(gpu));
            all.add(observed.isEmpty() ? status : status.noting(observed));
        }
        holdings.held()
                .forEach((uuid, leases) -> {
                    if (!shown.contains(uuid)) {
                        all.add(missing(uuid, leases.getFirst()));
                    }
                });
        return all;
    }

    private GpuStatus free(Gpu gpu) {
        Optional<Cordon> cordon = choice.cordon(gpu);
        if (!gpu.isSound()) {
            return idle(gpu, GpuStatus.State.SICK, Optional.empty(), trouble(gpu));
        }
        List<GpuUse> uses = unmanaged.of(gpu);
        if (!uses.isEmpty()) {
            String how = LeaseText.how(uses.getFirst()) + more(uses.size() - 1);
            return new GpuStatus(
                    gpu,
                    GpuStatus.State.UNMANAGED,
                    Optional.empty(),
                    Optional.empty(),
                    notes(how, cordon.map(LeaseText::cordoned).orElse("")),
                    uses,
                    cordon);
        }
        Optional<Instant> since = Optional.ofNullable(holdings.idleSince().get(gpu.uuid()));
        if (cordon.isPresent()) {
            return idle(gpu, GpuStatus.State.CORDONED, since, LeaseText.cordoned(cordon.get()));
        }
        String note =
                gpu.hasUuid()
                        ? choice.keptFor(gpu)
                                .map(Kept.class::cast)
                                .or(() -> choice.setAside(gpu))
                                .map(KeptText::of)
                                .or(() -> booked(gpu))
                                .orElse(knowsContainers ? "" : UNKNOWN)
                        : "no UUID yet: run nvidia-smi once as root";
        return idle(gpu, GpuStatus.State.FREE, since, note);
    }

    /** The booking that counts next. */
    private Optional<String> booked(Gpu gpu) {
        return choice.bookings(gpu).stream().findFirst().map(KeptText::of);
    }

    private GpuStatus idle(Gpu gpu, GpuStatus.State state, Optional<Instant> since, String note) {
        return new GpuStatus(
                gpu, state, Optional.empty(), since, note, List.of(), choice.cordon(gpu));
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

    private GpuStatus held(Gpu gpu, Lease lease) {
        List<GpuStatus> shares =
                holdings.allOf(gpu.uuid()).stream()
                        .filter(its -> its.share(gpu.uuid()).isPresent())
                        .map(its -> under(its, gpu, its.id() == lease.id()))
                        .toList();
        return shares.isEmpty()
                ? under(lease, gpu, true)
                : shares.getFirst().beside(shares.subList(1, shares.size()));
    }

    /**
     * @param first whether notes on the GPU itself belong here
     */
    private GpuStatus under(Lease lease, Gpu gpu, boolean first) {
        Life finding = evidence.of(lease);
        String note =
                switch (finding) {
                    case Life.Running(ProcessId process) when evidence.isDying(process) ->
                            "killed, but pid " + process.pid() + " does not end";
                    case Life.Running(ProcessId process) when evidence.isFrozenDead(process) ->
                            "killed, but pid " + process.pid() + " is frozen: thaw its cgroup";
                    case Life.Running(ProcessId process)
                            when !lease.isOfContainer() && evidence.isStopped(process) ->
                            "pid " + process.pid() + " is stopped";
                    case Life.Running _ -> evidence.note(lease);
                    case Life.Gone _ ->
                            evidence.kept(lease)
                                    .map(why -> "ended, but " + why)
                                    .orElse(
                                            lease.isOfContainer()
                                                    ? "ended, unless docker starts it again"
                                                    : "ended");
                    case Life.Starting _ -> "starting";
                    case Life.Unknown _ -> evidence.kind(lease).unknownNote(lease);
                };
        List<GpuUse> uses = unmanaged.of(gpu);
        Optional<Cordon> cordon = choice.cordon(gpu);
        return new GpuStatus(
                gpu,
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
                                also(uses),
                                cordon.map(LeaseText::cordoned).orElse(""),
                                booked(gpu).orElse(""),
                                choice.keptFor(gpu)
                                        .map(KeptText::of)
                                        .map(kept -> "its rest is " + kept)
                                        .orElse(""))
                        : note,
                uses,
                cordon);
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
                new Gpu(
                        claimed.index(),
                        uuid,
                        claimed.minor(),
                        "?",
                        "?",
                        Optional.empty(),
                        claimed.part()),
                GpuStatus.State.MISSING,
                Optional.of(lease),
                Optional.empty(),
                "the driver does not show it",
                List.of(),
                Optional.empty());
    }
}
