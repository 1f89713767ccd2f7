package jnvdocker.claim;

import jnvdocker.grant.Grants;
import jnvdocker.holder.ClaimUsers;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.keeper.Keeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.Requested;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.lease.Verdict;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.HoldersText;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.RegistryException;
import jnvdocker.registry.SeenEnd;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Leases for starts of containers by docker, which mounts the volume of their claim: a container
 * has the nodes of its claim's GPUs and can get no others. They come before all clients that wait.
 */
public final class ClaimStarts {
    private static final Logger LOG = LoggerFactory.getLogger(ClaimStarts.class);
    private static final int ATTEMPTS = 4;

    /** How long a reservation's scan for unmanaged uses counts: 'docker run' mounts far sooner. */
    private static final Duration SCAN_COUNTS = Duration.ofSeconds(1);

    /** For the groups of a user, which the host may have to request from a directory service. */
    private static final Duration NAMES_LIMIT = Duration.ofMillis(300);

    private final Grants grants;
    private final LeaseRegistry registry;
    private final Keeper keeper;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final Pace pace;
    private final Evidence evidence;
    private final ClaimUsers users;

    public ClaimStarts(Grants grants, Evidence evidence, ClaimUsers users) {
        this.grants = grants;
        registry = grants.parts().registry();
        keeper = grants.parts().keeper();
        supply = grants.parts().supply();
        unmanagedScan = grants.parts().unmanagedScan();
        pace = grants.parts().pace();
        this.evidence = evidence;
        this.users = users;
    }

    /** Whether a container without GPUs mounts the claim of one that is stopped. */
    boolean isOfGuest(Claim claim) throws RefusedException, IOException {
        return registry.liveOf(claim.id()).filter(lease -> !lease.isReservation()).isEmpty()
                && users.isGuestOfStopped(claim);
    }

    /**
     * Begins the lease of a claim, or lets it go on.
     *
     * @param use docker's name for the mount
     * @param caller the engine that mounts it
     * @return empty for a container that needs none, see {@link ClaimUsers#isGuestOfLive}
     */
    Optional<Lease> take(Claim claim, String use, ProcessId caller)
            throws RefusedException, IOException {
        supply.learn(claim.owner(), NAMES_LIMIT);
        Duration patience = Keeper.Caller.VERB.patience;
        Mounted mounted =
                grants.take(
                        new Start(claim, use, caller)::attempt,
                        grants.patience(
                                patience,
                                Optional.of(pace.nanos() + patience.toNanos()),
                                _ -> false));
        return mounted instanceof Held(Lease lease) ? Optional.of(lease) : Optional.empty();
    }

    /** The treatment of a lease that the claim may have already. */
    private sealed interface Past {
        /** Not known yet. */
        record Unknown() implements Past {}

        /** It goes on: its container and this one are the same. */
        record GoesOn() implements Past {}

        /** It was of an earlier start, which is over. */
        record Over(SeenEnd end) implements Past {}
    }

    /** The result of a mount. */
    private sealed interface Mounted {}

    private record Held(Lease lease) implements Mounted {}

    private record Guest() implements Mounted {}

    /**
     * The claim has a lease already: of an earlier start of its container, of one that runs, or of
     * another container that shares the claim.
     *
     * @param known whether it was taken by this very mount
     */
    private record Another(Lease lease, boolean known) implements Mounted {}

    /** A start of a claim's container, decided by the rules as they are. */
    private final class Start implements Grants.Bid<Mounted> {
        private final Claim claim;
        private final String use;
        private final ProcessId caller;
        private Past past = new Past.Unknown();

        /** The lease that the claim has, when that is over or goes on with this mount. */
        private Optional<Lease> own = Optional.empty();

        /** As of the scan: the usual mount is of a lease that goes on, and needs none. */
        private Optional<Supply.Terms> terms = Optional.empty();

        Start(Claim claim, String use, ProcessId caller) {
            this.claim = claim;
            this.use = use;
            this.caller = caller;
        }

        Grants.Answer<Mounted> attempt() throws RefusedException, IOException {
            for (int attempt = 1; ; attempt++) {
                Grants.Answer<Mounted> answer;
                try {
                    answer = grants.decide(this);
                } catch (RegistryException e) {
                    return new Grants.Granted<>(new Held(unwritten(e)));
                }
                if (!(answer instanceof Grants.Granted(Another(Lease lease, boolean known)))) {
                    return answer;
                }
                if (attempt == ATTEMPTS) {
                    throw ClaimUsers.twice(claim, lease, users.of(claim));
                }
                Optional<Past> fate = judge(claim, lease, known);
                if (fate.isEmpty()) {
                    return new Grants.Granted<>(new Guest());
                }
                past = fate.get();
                own = Optional.of(lease);
            }
        }

        /**
         * What cannot be written down is not given; but what a claim has on disk it keeps when its
         * container is started again: as long as that lease is live, nobody else can have its GPUs.
         */
        private Lease unwritten(RegistryException failure) throws IOException {
            if (own.isEmpty()
                    || registry.liveOf(claim.id())
                            .filter(it -> it.id() == own.get().id())
                            .isEmpty()) {
                throw failure;
            }
            keeper.mountedUnwritten(own.get(), caller);
            LOG.warn(
                    "claim {} is mounted again under lease {}, and that cannot be written: {}",
                    claim.id(),
                    own.get().id(),
                    failure.getMessage());
            return own.get();
        }

        /** A lease that goes on is not taken back: an unmanaged use there has come later. */
        @Override
        public boolean needsScan(Holdings holdings) {
            Optional<Lease> own = holdings.ofClaim(claim.id());
            return own.isPresent()
                    ? own.get().isReservation() && !wasJustMade(own.get(), holdings)
                    : holdings.on(claim).isEmpty();
        }

        /**
         * Whether a reservation is so recent that another scan for unmanaged uses would find what
         * the scan for the reservation has found.
         */
        private static boolean wasJustMade(Lease reservation, Holdings holdings) {
            Duration age = Duration.between(reservation.since(), holdings.now());
            return !age.isNegative() && age.compareTo(SCAN_COUNTS) < 0;
        }

        @Override
        public List<GpuUse> scan() throws IOException {
            Supply.Terms now = supply.terms(claim.owner(), List.of());
            terms = Optional.of(now);
            return unmanagedScan.scanWithoutEngine(
                    now.gpus().stream()
                            .filter(gpu ->
                                    claim.gpus().stream()
                                            .anyMatch(its -> its.uuid().equals(gpu.uuid())))
                            .toList());
        }

        @Override
        public Optional<Grants.Answer<Mounted>> decide(
                LeaseWriter leases, Map<String, List<GpuUse>> uses) throws RefusedException {
            return Optional.of(
                    outcome(
                            leases,
                            terms.map(it -> it.unmanaged(uses)).orElse(UnmanagedUses.NONE)));
        }

        /** The claim's lease begins, or goes on, unless others have its GPUs. */
        private Grants.Answer<Mounted> outcome(LeaseWriter leases, UnmanagedUses unmanaged)
                throws RefusedException {
            Holdings holdings = leases.holdings();
            boolean again = past instanceof Past.Over(SeenEnd end) && keeper.endAsSeen(leases, end);
            Optional<Lease> own = again ? Optional.empty() : holdings.ofClaim(claim.id());
            if (own.isPresent()) {
                return own.get().isReservation()
                                && claim.gpus().stream().anyMatch(it -> unmanaged.bars(it.uuid()))
                        ? used(leases, unmanaged)
                        : goOn(own.get(), leases);
            }
            List<Lease> others = holdings.on(claim);
            if (!others.isEmpty()) {
                return new Grants.Blocked<>(others, () -> held(claim, others));
            }
            return again
                    ? begin(leases, ((Past.Over) past).end().lease().left(holdings.now()))
                    : first(leases, unmanaged);
        }

        /** By the rules, since it follows on no other lease. */
        private Grants.Answer<Mounted> first(LeaseWriter leases, UnmanagedUses unmanaged)
                throws RefusedException {
            Optional<Duration> time = leases.time(claim);
            return switch (choice(leases, unmanaged).of(Requested.of(claim, time))) {
                case Outcome.Chosen _ ->
                        begin(
                                leases,
                                terms.orElseThrow().allowances().of(claim.owner()).time(time));
                case Outcome.Unmet why ->
                        Grants.unmet(
                                why,
                                why instanceof Outcome.Taken ? List.of() : why.leases(),
                                refusal(why));
            };
        }

        private GpuChoice choice(LeaseWriter leases, UnmanagedUses unmanaged) {
            return terms.orElseThrow()
                    .knowing(claim)
                    .choice(
                            leases.holdings().without(lease -> lease.claim().isBeside(claim)),
                            unmanaged);
        }

        /** A process uses its GPUs since they were reserved. */
        private Grants.Answer<Mounted> used(LeaseWriter leases, UnmanagedUses unmanaged) {
            Requested requested = Requested.of(claim, Optional.empty());
            List<Verdict> all = choice(leases, unmanaged).scope(requested).all();
            List<Verdict> used = all.stream().map(Verdict::ofUses).filter(Verdict::isBusy).toList();
            return new Grants.Blocked<>(
                    List.of(), refusal(new Outcome.Taken(requested.request(), used, List.of())));
        }

        private Supplier<RefusedException> refusal(Outcome.Unmet unmet) {
            return () -> new RefusedException(Refusals.of(unmet, new Addressee.Stopped(claim)));
        }

        private Grants.Answer<Mounted> begin(LeaseWriter leases, Optional<Duration> time) {
            Holder holder = Holder.of(caller, Optional.empty(), Optional.empty());
            Lease lease = leases.begin(claim, holder, time);
            leases.mount(claim, use);
            return new Grants.Granted<>(new Held(lease));
        }

        private Grants.Answer<Mounted> goOn(Lease own, LeaseWriter leases) {
            boolean known = leases.isMounted(claim, use);
            if (!own.isReservation() && !(past instanceof Past.GoesOn)) {
                return new Grants.Granted<>(new Another(own, known));
            }
            // The first process of before says nothing of the one that is to come.
            Holder holder =
                    known
                            ? Holder.of(caller, own.holder().init(), own.holder().cgroup())
                            : Holder.of(caller, Optional.empty(), Optional.empty());
            Lease lease = leases.hold(own, holder).orElseThrow();
            leases.mount(claim, use);
            return new Grants.Granted<>(new Held(lease));
        }
    }

    /** The fate of a lease that the claim has already; empty when a guest mounts the claim. */
    private Optional<Past> judge(Claim claim, Lease lease, boolean known) throws RefusedException {
        Life life = evidence.of(lease);
        if (life instanceof Life.Gone(String why)) {
            boolean isGuest = users.isGuestOfStopped(claim);
            return isGuest
                    ? Optional.empty()
                    : Optional.of(new Past.Over(SeenEnd.gone(lease, why)));
        }
        boolean isGuest =
                !known
                        && users.isGuestOfLive(
                                claim, lease, it -> evidence.isOf(it.id(), lease, life));
        return isGuest ? Optional.empty() : Optional.of(new Past.GoesOn());
    }

    private RefusedException held(Claim claim, List<Lease> by) {
        return new RefusedException(
                HoldersText.held(claim.gpus(), by)
                        + (keeper.isSettling(by) ? ", which may be restarting" : "")
                        + keeper.remark(by),
                "start this container again when "
                        + (claim.gpus().size() == 1 ? "it is free" : "they are free")
                        + Addressee.Stopped.OTHER_GPUS
                        + (users.of(claim).size() > 1
                                ? "; a container that needs only its volumes gets them by -v"
                                        + " VOLUME:DIRECTORY instead of --volumes-from"
                                : ""));
    }
}
