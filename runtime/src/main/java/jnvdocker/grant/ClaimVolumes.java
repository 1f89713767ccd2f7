package jnvdocker.grant;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Allowances;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Cordon;
import jnvdocker.lease.Cordons;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Quota;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.text.GpuText;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.ClaimFiles;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.RegistryException;
import jnvdocker.use.GpuUse;
import jnvdocker.volume.plugin.PluginVolumes;
import jnvdocker.volume.plugin.VolumeException;
import jnvdocker.volume.plugin.VolumeInfo;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The volumes {@code jnvdocker_claim_<id>}. dockerd mounts one at every start of its container, by
 * any client, and does not start a container with a volume that it cannot mount: here a lease is
 * taken, or refused.
 */
public final class ClaimVolumes implements PluginVolumes {
    private static final String MAKE_AGAIN =
            "'jnvdocker run' makes claims, create the container again with it";

    private static final Logger LOG = LoggerFactory.getLogger(ClaimVolumes.class);
    private static final Duration LIST_LIMIT = Duration.ofMillis(200);
    private static final int ATTEMPTS = 4;

    /** How long a reservation's scan for unmanaged uses counts: 'docker run' mounts far sooner. */
    private static final Duration SCAN_COUNTS = Duration.ofSeconds(1);

    /** For the groups of a user, which the host may have to request from a directory service. */
    private static final Duration NAMES_LIMIT = Duration.ofMillis(300);

    private final LeaseRegistry registry;
    private final ClaimFiles files;
    private final ClaimRemover remover;
    private final Evidence evidence;
    private final Keeper keeper;
    private final ContainerEngine engine;
    private final Reconciler reconciler;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final RefusedStarts refusedStarts;
    private final DecisionLog log;

    /** The GPUs that the host has at this moment. */
    @FunctionalInterface
    public interface Inventory {
        List<Gpu> gpus() throws IOException;
    }

    ClaimVolumes(
            LeaseRegistry registry,
            ClaimFiles files,
            ClaimRemover remover,
            Evidence evidence,
            Keeper keeper,
            ContainerEngine engine,
            Reconciler reconciler,
            Supply supply,
            UnmanagedScan unmanagedScan,
            RefusedStarts refusedStarts,
            DecisionLog log) {
        this.registry = registry;
        this.files = files;
        this.remover = remover;
        this.evidence = evidence;
        this.keeper = keeper;
        this.engine = engine;
        this.reconciler = reconciler;
        this.supply = supply;
        this.unmanagedScan = unmanagedScan;
        this.refusedStarts = refusedStarts;
        this.log = log;
    }

    @Override
    public boolean owns(String name) {
        return ClaimNames.ofVolume(name).isPresent();
    }

    @Override
    public void create(String name, Map<String, String> options) throws VolumeException {
        String id = id(name);
        answer(() -> {
            if (!registry.claims().created(id)) {
                throw unknown(name);
            }
            return null;
        });
    }

    @Override
    public void remove(String name) throws VolumeException {
        String id = id(name);
        answer(() -> {
            Optional<Lease> lease = registry.liveOf(id);
            if (lease.isPresent()) {
                keeper.end(List.of(lease.get()), Keeper.Caller.VERB);
                if (registry.liveOf(id).isPresent()) {
                    throw new VolumeException(
                            name + " " + LeaseText.held(lease.get()),
                            "stop it first (jnvdocker gpu leases)");
                }
            }
            if (!remover.remove(id)) {
                throw new VolumeException(
                        name
                                + " is not removed: "
                                + remover.mounted(id).orElse("a process has it mounted"),
                        "stop that process first");
            }
            return null;
        });
    }

    @Override
    public Path mount(String name, String use, ProcessId caller) throws VolumeException {
        String id = id(name);
        try {
            return mountClaim(id, use, caller);
        } catch (VolumeException e) {
            refusedStarts.refused(id, e.refusal());
            note(id, e);
            throw e;
        }
    }

    private void note(String id, VolumeException why) {
        try {
            Optional<Claim> claim = registry.claims().claim(id);
            log.refused(
                    claim.map(Claim::owner).orElse(Owner.UNKNOWN),
                    claim.map(LeaseText::container).orElse("claim " + id),
                    why.refusal(),
                    RefusalReason.START);
        } catch (IOException e) {
            log.refused(Owner.UNKNOWN, "claim " + id, why.refusal(), RefusalReason.START);
        }
    }

    private Path mountClaim(String id, String use, ProcessId caller) throws VolumeException {
        return answer(() -> {
            Claim claim = claim(id);
            if (isForAGuest(claim)) {
                return files.nothing();
            }
            List<Gpu> present = supply.gpus();
            ClaimedNodes.refuseOthers(claim, present);
            reconciler.learnOfRunning(LIST_LIMIT);
            refuseUsed(claim, present);
            Optional<Lease> taken = take(claim, present, use, caller);
            if (taken.isEmpty()) {
                return files.nothing();
            }
            Lease lease = taken.get();
            keeper.mounted(id);
            try {
                files.write(lease);
            } catch (IOException e) {
                if (!files.hasLease(id)) {
                    // Docker does not take back what it was refused.
                    registry.unmounted(id, use);
                    reconciler.recheck(id);
                    throw e;
                }
                LOG.warn(
                        "claim {}: its container sees the lease.json of before: {}",
                        id,
                        FileErrors.describe(e));
            }
            return files.mounted(id);
        });
    }

    @Override
    public void unmount(String name, String use) throws VolumeException {
        String id = id(name);
        answer(() -> {
            try {
                registry.unmounted(id, use);
            } finally {
                keeper.unmounted(id);
                reconciler.recheck(id);
            }
            return null;
        });
    }

    @Override
    public VolumeInfo get(String name) throws VolumeException {
        String id = id(name);
        return answer(() -> {
            Optional<Claim> claim = registry.claims().claim(id);
            if (claim.isPresent() && registry.claims().hasVolume(id)) {
                return info(claim.get(), registry.liveOf(id));
            }
            if (claim.isEmpty() && !reconciler.isComplete()) {
                // The registry was lost, and docker may know of claims that we don't know yet.
                return new VolumeInfo(name, files.mounted(id), Map.of());
            }
            throw unknown(name);
        });
    }

    @Override
    public List<VolumeInfo> list() {
        try {
            Map<String, Lease> live = new HashMap<>();
            registry.live().forEach(lease -> live.put(lease.claim().id(), lease));
            List<VolumeInfo> all = new ArrayList<>();
            for (Claim claim : registry.claims().withVolume()) {
                all.add(info(claim, Optional.ofNullable(live.get(claim.id()))));
            }
            return all;
        } catch (IOException e) {
            // An Err would hide the volumes of every other plugin from 'docker volume ls' as well.
            LOG.error("cannot list the claims: {}", FileErrors.describe(e));
            return List.of();
        }
    }

    private Claim claim(String id) throws IOException, VolumeException {
        Optional<Claim> known = registry.claims().claim(id);
        if (known.isEmpty() && !reconciler.isComplete()) {
            restore(id);
            known = registry.claims().claim(id);
        }
        return known.orElseThrow(() -> unknown(ClaimNames.volume(id)));
    }

    private void restore(String id) throws VolumeException {
        try {
            reconciler.restore(LIST_LIMIT);
        } catch (IOException e) {
            throw new VolumeException(
                    "the registry was lost, and "
                            + ClaimNames.volume(id)
                            + " is not known until the engine answers",
                    "try again when 'docker ps' does",
                    e);
        }
    }

    /** A lease that goes on is not taken back: an unmanaged use there has come later. */
    private void refuseUsed(Claim claim, List<Gpu> present) throws IOException, VolumeException {
        Optional<Lease> own = registry.liveOf(claim.id());
        if (own.isPresent() && (!own.get().isReservation() || wasJustMade(own.get()))) {
            return;
        }
        List<GpuUse> seen = unmanagedScan.scanWithoutEngine(gpus(claim, present));
        UnmanagedUses unmanaged =
                new UnmanagedUses(
                        unmanagedScan.assign(seen, registry.live()).uses(),
                        supply.rules().allowUnmanaged());
        List<ClaimedGpu> used =
                claim.gpus().stream().filter(gpu -> unmanaged.bars(gpu.uuid())).toList();
        if (!used.isEmpty()) {
            throw new VolumeException(
                    LeaseText.taken(used, List.of(), unmanaged, Map.of()),
                    "start this container again when "
                            + (used.size() == 1 ? "it has ended" : "they have ended")
                            + RemakeAdvice.of(claim));
        }
    }

    /**
     * Whether a reservation is so recent that another scan for unmanaged uses would find what the
     * scan for the reservation has found.
     */
    private boolean wasJustMade(Lease reservation) {
        Duration age = Duration.between(reservation.since(), registry.now());
        return !age.isNegative() && age.compareTo(SCAN_COUNTS) < 0;
    }

    private static List<Gpu> gpus(Claim claim, List<Gpu> present) {
        return present.stream()
                .filter(gpu ->
                        claim.gpus().stream()
                                .anyMatch(claimed -> claimed.uuid().equals(gpu.uuid())))
                .toList();
    }

    /** Why the policy of the configuration allows no new lease; empty if it allows one. */
    private static Optional<Supplier<VolumeException>> refusal(
            Claim claim,
            List<Gpu> present,
            LeasePolicy rules,
            Allowances allowances,
            Holdings holdings) {
        Cordons cordons = new Cordons(rules, holdings.cordoned());
        for (Gpu gpu : gpus(claim, present)) {
            if (!gpu.isSound()) {
                return Optional.of(() -> sick(claim, gpu));
            }
            Optional<Cordon> cordon = cordons.of(gpu);
            if (cordon.isPresent()) {
                return Optional.of(() ->
                        new VolumeException(
                                LeaseText.name(gpu.number(), gpu.uuid())
                                        + " is "
                                        + LeaseText.cordoned(cordon.get()),
                                "start this container again when the cordon is lifted"
                                        + RemakeAdvice.of(claim)));
            }
        }
        return new Quota(allowances, holdings.held())
                .excess(claim.owner(), gpus(claim, present))
                .map(excess -> () -> RemakeAdvice.refusal(claim, excess));
    }

    private static VolumeException sick(Claim claim, Gpu gpu) {
        Refusal why = GpuText.sick(gpu);
        return new VolumeException(why.what(), why.remedy().orElseThrow() + RemakeAdvice.of(claim));
    }

    /** Empty for a container that needs none, see {@link #isGuest}. */
    private Optional<Lease> take(Claim claim, List<Gpu> present, String use, ProcessId caller)
            throws IOException, VolumeException {
        Past past = new Past.Unknown();
        Optional<Lease> own = Optional.empty();
        supply.learn(claim.owner(), NAMES_LIMIT);
        for (int attempt = 1; ; attempt++) {
            Mounted result;
            Start start =
                    new Start(
                            claim,
                            present,
                            use,
                            caller,
                            past,
                            supply.rules(),
                            supply.allowances(claim.owner()));
            try {
                result = registry.decide(start::mount);
            } catch (RegistryException e) {
                return Optional.of(unwritten(claim, own, caller, e));
            }
            switch (result) {
                case Granted(Lease lease) -> {
                    return Optional.of(lease);
                }
                case Refused(Supplier<VolumeException> why) -> throw why.get();
                case Blocked(List<Lease> by) -> {
                    if (attempt == ATTEMPTS || !keeper.end(by, Keeper.Caller.VERB)) {
                        throw blocked(claim, by);
                    }
                }
                case Another(Lease lease, boolean known) -> {
                    if (attempt == ATTEMPTS) {
                        throw twice(claim, lease, users(claim));
                    }
                    Optional<Past> fate = judge(claim, lease, known);
                    if (fate.isEmpty()) {
                        return Optional.empty();
                    }
                    past = fate.get();
                    own = Optional.of(lease);
                }
            }
        }
    }

    /**
     * What cannot be written down is not given; but what a claim has on disk it keeps when its
     * container is started again: as long as that lease is live, nobody else can have its GPUs.
     *
     * @param own the lease that it has, when that is over or goes on with this mount
     */
    private Lease unwritten(
            Claim claim, Optional<Lease> own, ProcessId caller, RegistryException failure)
            throws IOException {
        if (own.isEmpty()
                || registry.liveOf(claim.id()).filter(it -> it.id() == own.get().id()).isEmpty()) {
            throw failure;
        }
        keeper.mountedUnwritten(claim.id(), caller);
        LOG.warn(
                "claim {} is mounted again under lease {}, and that cannot be written: {}",
                claim.id(),
                own.get().id(),
                failure.getMessage());
        return own.get();
    }

    /** The treatment of a lease that the claim may have already. */
    private sealed interface Past {
        /** Not known yet. */
        record Unknown() implements Past {}

        /** It goes on: its container and this one are the same. */
        record GoesOn() implements Past {}

        /** It was of an earlier start, which is over. */
        record Over(Lease lease, String evidence) implements Past {}
    }

    /** The result of a mount. */
    private sealed interface Mounted {}

    private record Granted(Lease lease) implements Mounted {}

    /** The policy allows no new lease. */
    private record Refused(Supplier<VolumeException> why) implements Mounted {}

    /** Others have GPUs of the claim. */
    private record Blocked(List<Lease> by) implements Mounted {}

    /**
     * The claim has a lease already: of an earlier start of its container, of one that runs, or of
     * another container that shares the claim.
     *
     * @param known whether it was taken by this very mount
     */
    private record Another(Lease lease, boolean known) implements Mounted {}

    /**
     * A start of a claim's container, for which docker mounts the claim's volume.
     *
     * @param use docker's name for the mount
     * @param caller the engine that mounts it
     */
    private record Start(
            Claim claim,
            List<Gpu> present,
            String use,
            ProcessId caller,
            Past past,
            LeasePolicy policy,
            Allowances allowances) {

        /** The claim's lease begins, or goes on, unless others have its GPUs. */
        Mounted mount(LeaseWriter leases) {
            boolean again =
                    past instanceof Past.Over(Lease lease, String evidence)
                            && leases.end(lease, evidence);
            Optional<Lease> own = again ? Optional.empty() : leases.live(claim.id());
            if (own.isPresent()) {
                return goOn(own.get(), leases);
            }
            List<Lease> others =
                    leases.liveOn(claim).stream()
                            .filter(lease -> !lease.claim().id().equals(claim.id()))
                            .toList();
            if (!others.isEmpty()) {
                return new Blocked(others);
            }
            Optional<Supplier<VolumeException>> refused =
                    again
                            ? Optional.empty()
                            : refusal(claim, present, policy, allowances, leases.holdings());
            if (refused.isPresent()) {
                return new Refused(refused.get());
            }
            Holder holder = Holder.of(caller, Optional.empty(), Optional.empty());
            Lease lease = leases.begin(claim, holder, time(again, leases));
            leases.mount(claim, use);
            return new Granted(lease);
        }

        /** A restart goes on with the time of the last start. */
        private Optional<Duration> time(boolean again, LeaseWriter leases) {
            return again && past instanceof Past.Over(Lease lease, _)
                    ? lease.left(leases.holdings().now())
                    : allowances.of(claim.owner()).time(leases.time(claim));
        }

        private Mounted goOn(Lease own, LeaseWriter leases) {
            boolean known = leases.isMounted(claim, use);
            if (!own.isReservation() && !(past instanceof Past.GoesOn)) {
                return new Another(own, known);
            }
            // The first process of before says nothing of the one that is to come.
            Holder holder =
                    known
                            ? Holder.of(caller, own.holder().init(), own.holder().cgroup())
                            : Holder.of(caller, Optional.empty(), Optional.empty());
            Lease lease = leases.hold(own, holder).orElseThrow();
            leases.mount(claim, use);
            return new Granted(lease);
        }
    }

    /** The fate of a lease that the claim has already; empty when a guest mounts the claim. */
    private Optional<Past> judge(Claim claim, Lease lease, boolean known) throws VolumeException {
        Life life = evidence.of(lease);
        if (life instanceof Life.Gone(String why)) {
            return Optional.of(new Past.Over(lease, why));
        }
        List<ContainerEngine.Listed> users = users(claim);
        // The only one that is listed need not be the one that lives: that may have been removed.
        boolean same = users.size() == 1 && evidence.isOf(users.getFirst().id(), lease, life);
        if (known || same) {
            return Optional.of(new Past.GoesOn());
        }
        if (isGuest(claim, users)) {
            return Optional.empty();
        }
        throw twice(claim, lease, users);
    }

    /**
     * Whether a container that mounts the claim of one that runs has its volumes alone
     * (--volumes-from), and so neither its GPUs' nodes nor the label that a copy of its settings
     * has. Docker mounts all of its volumes or none, and the guest need not have the claim.
     */
    private static boolean isGuest(Claim claim, List<ContainerEngine.Listed> users) {
        List<ContainerEngine.Listed> own = own(claim, users);
        return own.size() == 1 && own.getFirst().isActive() && users.size() > 1;
    }

    /** Those of the containers that carry the claim's label. */
    private static List<ContainerEngine.Listed> own(
            Claim claim, List<ContainerEngine.Listed> users) {
        return users.stream()
                .filter(user -> claim.id().equals(user.labels().get(ClaimNames.CLAIM_LABEL)))
                .toList();
    }

    /**
     * Whether it is a container that has the volumes of the claim's own, which is stopped, and not
     * that one which starts: of a container that it starts an engine says nothing before the end.
     */
    private boolean isForAGuest(Claim claim) throws IOException {
        if (claim.container().isEmpty() || registry.liveOf(claim.id()).isPresent()) {
            return false;
        }
        List<ContainerEngine.Listed> users = users(claim);
        List<String> own = own(claim, users).stream().map(ContainerEngine.Listed::id).toList();
        if (users.size() < 2 || !own.equals(List.of(claim.container().get().id()))) {
            return false;
        }
        try {
            return engine.inspect(own.getFirst(), LIST_LIMIT)
                    .filter(it -> it.pid() == 0 && !it.restarting())
                    .isPresent();
        } catch (IOException e) {
            return false;
        }
    }

    /** The containers that mount the claim; none when the engine does not answer in time. */
    private List<ContainerEngine.Listed> users(Claim claim) {
        try {
            return engine.using(List.of(ClaimNames.volume(claim.id())), LIST_LIMIT);
        } catch (IOException e) {
            return List.of();
        }
    }

    private VolumeException blocked(Claim claim, List<Lease> by) {
        return new VolumeException(
                LeaseText.held(claim.gpus(), by)
                        + (keeper.isSettling(by) ? ", which may be restarting" : "")
                        + keeper.remark(by),
                "start this container again when "
                        + (claim.gpus().size() == 1 ? "it is free" : "they are free")
                        + RemakeAdvice.of(claim)
                        + (users(claim).size() > 1
                                ? "; a container that needs only its volumes gets them by -v"
                                        + " VOLUME:DIRECTORY instead of --volumes-from"
                                : ""));
    }

    /** The claim's own container need not be the one that runs. */
    private static VolumeException twice(
            Claim claim, Lease lease, List<ContainerEngine.Listed> users) {
        String other =
                users.stream()
                        .filter(ContainerEngine.Listed::isActive)
                        .map(user -> "container " + user.name())
                        .findFirst()
                        .orElse("that container");
        return new VolumeException(
                LeaseText.held(claim.gpus(), List.of(lease))
                        + ", and this container shares its claim with "
                        + other
                        + " (--volumes-from, or a copy of its settings)",
                "stop that container first, or give this one GPUs of its own with 'jnvdocker run"
                        + " --gpus'");
    }

    private static VolumeException unknown(String name) {
        return new VolumeException("no such claim: " + name, MAKE_AGAIN);
    }

    private VolumeInfo info(Claim claim, Optional<Lease> live) {
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("gpus", gpus(claim));
        live.ifPresent(lease -> {
            status.put("holder", LeaseText.holder(lease));
            status.put("since", lease.since().toString());
        });
        return new VolumeInfo(ClaimNames.volume(claim.id()), files.mounted(claim.id()), status);
    }

    private static String gpus(Claim claim) {
        return claim.gpus().stream().map(ClaimedGpu::uuid).collect(Collectors.joining(","));
    }

    private static String id(String name) throws VolumeException {
        return ClaimNames.ofVolume(name)
                .orElseThrow(() ->
                        new VolumeException(
                                Quote.quoted(name) + " is not the name of a claim's volume",
                                MAKE_AGAIN));
    }

    private interface Verb<T> {
        T answer() throws IOException, VolumeException;
    }

    private static <T> T answer(Verb<T> verb) throws VolumeException {
        try {
            return verb.answer();
        } catch (IOException e) {
            throw new VolumeException(e);
        }
    }
}
