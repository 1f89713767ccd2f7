package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.container.GpuResolver;
import jnvdocker.host.Gpu;
import jnvdocker.labels.RefusedException;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Chooses GPUs for a request: all that it asks for, or none. The same request and the same state of
 * the host give the same choice.
 */
final class GpuChoice {
    private static final String LOOK = "look why in the kernel's log (dmesg | grep -i nvrm)";

    private final List<Gpu> gpus;
    private final LeaseRegistry.Holdings holdings;
    private final Unmanaged unmanaged;
    private final Map<String, Ticket> kept;
    private final Cordons cordons;
    private final Quota quota;
    private final Prospects prospects;

    /** Many may wait for the same, which comes to the same until more is kept. */
    private record Asked(
            GpuRequest request, Set<String> candidates, Optional<Owner> owner, int kept) {}

    private final Map<Asked, Outcome> outcomes = new HashMap<>();

    /** Those that can be given out, to whomever. */
    private final List<Gpu> usable;

    /**
     * @param gpus those of the host, in order of index
     * @param waiting who has come before and waits: nobody else gets what they are to have
     */
    GpuChoice(
            List<Gpu> gpus,
            LeaseRegistry.Holdings holdings,
            Unmanaged unmanaged,
            Collection<Ticket> waiting,
            Policy policy) {
        this(
                gpus,
                holdings,
                unmanaged,
                new HashMap<>(),
                new Cordons(policy, holdings.cordoned()),
                new Quota(policy, holdings.held()));
        waiting.forEach(this::keep);
    }

    private GpuChoice(
            List<Gpu> gpus,
            LeaseRegistry.Holdings holdings,
            Unmanaged unmanaged,
            Map<String, Ticket> kept,
            Cordons cordons,
            Quota quota) {
        this.gpus = gpus;
        this.holdings = holdings;
        this.unmanaged = unmanaged;
        this.kept = kept;
        this.cordons = cordons;
        this.quota = quota;
        prospects = new Prospects(gpus, holdings, unmanaged, cordons, quota);
        usable = gpus.stream().filter(gpu -> gpu.isSound() && cordons.of(gpu).isEmpty()).toList();
    }

    /**
     * From now on nobody else gets what is free of what somebody waits for, who comes next in the
     * line. That is no more than he needs, and nothing when he can't be served whoever else gives
     * GPUs back.
     *
     * @return whether he can be
     */
    boolean keep(Ticket ticket) {
        GpuChoice his = among(ticket.candidates());
        if (!his.prospects.canBeServed(ticket)) {
            return false;
        }
        List<Gpu> free =
                his.prospects.wanted(ticket.request()).stream()
                        .filter(gpu -> his.isFreeFor(ticket.request(), gpu))
                        .toList();
        if (ticket.request() instanceof GpuRequest.Count(int count)) {
            free = best(free, count);
        }
        free.forEach(gpu -> kept.put(gpu.uuid(), ticket));
        return true;
    }

    /** What is in the way of somebody who can't be served, for people. */
    String obstacle(Ticket ticket) {
        return among(ticket.candidates()).prospects.obstacle(ticket);
    }

    /** Whether the lab does not ever allow so many. */
    boolean isForbidden(Ticket ticket) {
        return !quota.allowsEver(among(ticket.candidates()).number(ticket.request()));
    }

    /** Of all GPUs only these may be given; any when there are none. */
    private GpuChoice among(Set<String> candidates) {
        return candidates.isEmpty()
                ? this
                : new GpuChoice(
                        gpus.stream().filter(gpu -> candidates.contains(gpu.uuid())).toList(),
                        holdings,
                        unmanaged,
                        kept,
                        cordons,
                        quota);
    }

    /** Who is to have a GPU that is free. */
    Optional<Ticket> keptFor(Gpu gpu) {
        return Optional.ofNullable(kept.get(gpu.uuid()));
    }

    /** Those for whom anything is kept. */
    Set<Ticket> keepers() {
        return Set.copyOf(kept.values());
    }

    /** What a request comes to. */
    sealed interface Outcome {}

    /** In order of index. */
    record Chosen(List<Gpu> gpus) implements Outcome {}

    /**
     * Others have GPUs that are needed.
     *
     * @param leases under which they have them; one who has none is named in the refusal alone
     * @param words who has them, put together when somebody wants to read it
     * @param remedy for the user, should nothing change
     */
    record Busy(List<Lease> leases, Supplier<String> words, String remedy) implements Outcome {
        /** Who has them. */
        String reason() {
            return words.get();
        }

        String refusal() {
            return reason() + remedy;
        }
    }

    /** Why a GPU gets no new lease. */
    Optional<Cordon> cordon(Gpu gpu) {
        return cordons.of(gpu);
    }

    /**
     * What somebody who waits may be given, when those before him are kept what they are to have.
     *
     * @throws RefusedException as for any request
     */
    Outcome of(Ticket ticket) throws RefusedException {
        Asked asked =
                new Asked(
                        ticket.request(),
                        ticket.candidates(),
                        quota.isLimited() ? Optional.of(ticket.owner()) : Optional.empty(),
                        kept.size());
        Outcome known = outcomes.get(asked);
        if (known == null) {
            known = of(ticket.request(), ticket.owner(), ticket.candidates());
            outcomes.put(asked, known);
        }
        return known;
    }

    /**
     * @param candidates the UUIDs of the only GPUs that may be given; empty when any may
     * @throws RefusedException as for any request
     */
    Outcome of(GpuRequest request, Owner owner, Set<String> candidates) throws RefusedException {
        return among(candidates).of(request, owner);
    }

    /**
     * @throws RefusedException when this host can't serve the request as it is, or the lab does not
     *     allow it
     */
    Outcome of(GpuRequest request, Owner owner) throws RefusedException {
        Outcome outcome =
                switch (request) {
                    case GpuRequest.None _ -> new Chosen(List.of());
                    case GpuRequest.All _ -> all();
                    case GpuRequest.Count(int count) -> count(count);
                    case GpuRequest.Devices(List<String> ids) ->
                            named(GpuResolver.resolve(ids, gpus));
                };
        return withinQuota(outcome, number(request), owner);
    }

    /** What a user has already is told before what others have: he can do something about it. */
    private Outcome withinQuota(Outcome outcome, int wanted, Owner owner) throws RefusedException {
        String asked = asked(wanted);
        if (!quota.allowsEver(wanted)) {
            throw new RefusedException(asked + ", and " + quota.rule() + "; ask for fewer");
        }
        if (quota.allows(owner, wanted)) {
            return outcome;
        }
        return new Busy(
                quota.leases(owner),
                () -> asked + ", and " + quota.excess(owner),
                "; wait with --gpu-wait, or stop one of them"
                        + (quota.left(owner) > 0 ? ", or ask for fewer" : ""));
    }

    private int number(GpuRequest request) {
        return switch (request) {
            case GpuRequest.None _ -> 0;
            case GpuRequest.All _ -> usable.size();
            case GpuRequest.Count(int count) -> count;
            case GpuRequest.Devices(List<String> ids) -> ids.size();
        };
    }

    private static String asked(int count) {
        return count == 1 ? "1 GPU is asked for" : count + " GPUs are asked for";
    }

    private Outcome all() throws RefusedException {
        refuseWithoutGpus();
        return these(
                usable,
                busyAmong(usable),
                "all GPUs are asked for, and ",
                "; wait with --gpu-wait" + elsewhere(", or take others"));
    }

    private Outcome named(List<Gpu> named) throws RefusedException {
        List<Gpu> busy =
                named.stream()
                        .filter(gpu -> isGivenOut(gpu) || unmanaged.bars(gpu.uuid()))
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
        if (usable.isEmpty()) {
            for (Gpu gpu : gpus) {
                refuseCordoned(gpu);
            }
            throw sick(gpus.getFirst());
        }
    }

    private void refuseCordoned(Gpu gpu) throws RefusedException {
        Optional<Cordon> cordon = cordons.of(gpu);
        if (gpu.isSound() && cordon.isPresent()) {
            throw new RefusedException(
                    Refusals.name(gpu.index(), gpu.uuid())
                            + " is "
                            + cordon.get().words()
                            + " and gets no new container; "
                            + elsewhere("take another", ", or ")
                            + "ask an administrator");
        }
    }

    private Outcome these(List<Gpu> wanted, List<Gpu> busy, String before, String remedy)
            throws RefusedException {
        identify(wanted);
        for (Gpu gpu : wanted) {
            refuseCordoned(gpu);
        }
        return busy.isEmpty() ? new Chosen(wanted) : busy(busy, before, remedy);
    }

    private Outcome count(int count) throws RefusedException {
        refuseWithoutGpus();
        if (count > usable.size()) {
            throw new RefusedException(
                    asked(count)
                            + ", and this host has "
                            + usable.size()
                            + sick()
                            + cordoned()
                            + "; ask for fewer ('jnvdocker gpu ls' shows them)");
        }
        List<Gpu> free = free();
        if (free.size() < count) {
            String left = free.isEmpty() ? "none is free: " : "free is " + indices(free) + ": ";
            return busy(
                    busyAmong(usable),
                    asked(count) + ", and " + left,
                    "; wait with --gpu-wait" + (free.isEmpty() ? "" : ", or ask for fewer"));
        }
        List<Gpu> chosen = best(free, count);
        identify(chosen);
        return new Chosen(chosen);
    }

    /** The ones idle longest, in order of index. */
    private List<Gpu> best(List<Gpu> free, int count) {
        return free.stream()
                .sorted(
                        Comparator.comparing(Gpu::hasUuid)
                                .reversed()
                                .thenComparing(this::idleSince)
                                .thenComparing(Gpu::index))
                .limit(count)
                .sorted(Comparator.comparing(Gpu::index))
                .toList();
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

    /** {@code , and GPU 3 that is cordoned by root since 09:12}, for each word why. */
    private String cordoned() {
        Map<String, List<Gpu>> byWords = new LinkedHashMap<>();
        for (Gpu gpu : gpus) {
            Optional<Cordon> cordon = cordons.of(gpu);
            if (gpu.isSound() && cordon.isPresent()) {
                byWords.computeIfAbsent(cordon.get().words(), _ -> new ArrayList<>()).add(gpu);
            }
        }
        return byWords.entrySet().stream()
                .map(entry ->
                        (entry.getValue().size() == 1 ? ", and GPU " : ", and GPUs ")
                                + indices(entry.getValue())
                                + (entry.getValue().size() == 1 ? " that is " : " that are ")
                                + entry.getKey())
                .collect(Collectors.joining());
    }

    private Busy busy(List<Gpu> busy, String before, String remedy) {
        List<Lease> leases =
                busy.stream()
                        .map(gpu -> holdings.held().get(gpu.uuid()))
                        .filter(Objects::nonNull)
                        .distinct()
                        .toList();
        List<ClaimedGpu> asked = busy.stream().map(ClaimedGpu::of).toList();
        Map<String, Ticket> keptNow = Map.copyOf(kept);
        return new Busy(
                leases, () -> before + Refusals.taken(asked, leases, unmanaged, keptNow), remedy);
    }

    private String elsewhere(String words) {
        return elsewhere(words, "");
    }

    private String elsewhere(String words, String after) {
        List<Gpu> free = free();
        return free.isEmpty() ? "" : words + " (free: " + indices(free) + ")" + after;
    }

    private static String indices(List<Gpu> gpus) {
        return gpus.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(", "));
    }

    private List<Gpu> free() {
        return usable.stream().filter(gpu -> !isBusy(gpu)).toList();
    }

    private List<Gpu> busyAmong(List<Gpu> some) {
        return some.stream().filter(this::isBusy).toList();
    }

    private boolean isFreeFor(GpuRequest request, Gpu gpu) {
        boolean anyway = unmanaged.allowed() && request instanceof GpuRequest.Devices;
        return usable.contains(gpu) && !(anyway ? isGivenOut(gpu) : isBusy(gpu));
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
