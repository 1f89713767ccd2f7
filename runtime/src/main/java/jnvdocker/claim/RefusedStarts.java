package jnvdocker.claim;

import jnvdocker.grant.Grants;
import jnvdocker.grant.WaitingQueue;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Pace;
import jnvdocker.holder.UnmanagedScan;
import jnvdocker.host.Gpu;
import jnvdocker.host.NoDriverException;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.GpuChoice;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Outcome;
import jnvdocker.lease.RefusedStart;
import jnvdocker.lease.Requested;
import jnvdocker.lease.UnmanagedUses;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.Supply;
import jnvdocker.use.GpuUse;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Starts containers when they can have their GPUs that were refused them while their engine or
 * their restart policy started them, or that were not started since no daemon ran, no driver was
 * loaded or their GPU was away. A restart policy takes that for final, and they would be down for
 * ever. They come after all clients that wait for GPUs.
 */
public final class RefusedStarts {
    private static final Logger LOG = LoggerFactory.getLogger(RefusedStarts.class);

    /** The time limit of a query that a verb of the volume plugin waits for. */
    private static final Duration QUICK = Duration.ofMillis(200);

    /** A container that its policy starts stays down if its engine does not say so. */
    private static final Duration LIST_LIMIT = Duration.ofSeconds(2);

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Duration START_LIMIT = Duration.ofMinutes(2);

    /** The pause after the first refused start; it doubles with each. */
    private static final Duration PAUSE = Duration.ofSeconds(5);

    private static final int DOUBLINGS = 7;

    /** So long after a refusal docker has written that the container is down, and why. */
    private static final Duration SETTLED = Duration.ofSeconds(10);

    /** In how many sweeps a container that has ended is looked at; docker is done by then. */
    private static final int LOOKS = 3;

    private final LeaseRegistry registry;
    private final ContainerEngine engine;
    private final Supply supply;
    private final UnmanagedScan unmanagedScan;
    private final WaitingQueue queue;
    private final Pace pace;
    private final String volumeDriver;

    /**
     * In how many sweeps we look for containers that are down, 0 for never. Docker writes down why
     * one is a moment after the refusal.
     */
    private final AtomicInteger sweeps = new AtomicInteger();

    /** By the ids of claims, and of guests and other containers. */
    private final Map<String, Tries> tries = new ConcurrentHashMap<>();

    /** When a claim was refused last, as {@link Pace} counts; by its id. */
    private final Map<String, Long> refusals = new ConcurrentHashMap<>();

    /** Containers without a claim's volume, by their ids: our OCI runtime gives them their GPUs. */
    private final Map<String, ContainerEngine.Down> missed = new ConcurrentHashMap<>();

    /** How often containers of claims that have ended are still looked at, by their ids. */
    private final Map<String, Integer> looks = new ConcurrentHashMap<>();

    public RefusedStarts(Grants.Parts parts, ContainerEngine engine, String volumeDriver) {
        registry = parts.registry();
        supply = parts.supply();
        unmanagedScan = parts.unmanagedScan();
        queue = parts.queue();
        pace = parts.pace();
        this.engine = engine;
        this.volumeDriver = volumeDriver;
    }

    /**
     * How often a container was started in vain.
     *
     * @param next when it may be started again, as {@link Pace} counts
     */
    private record Tries(int number, long next) {}

    /** Docker was refused to mount a claim, with these words. */
    void refused(ClaimKey claim, Refusal why) {
        refusals.computeIfPresent(claim.id(), (_, _) -> pace.nanos());
        try {
            registry.claims().refusedStart(claim.id(), why, startsByItself(claim));
        } catch (IOException e) {
            LOG.warn(
                    "claim {} was refused and may stay down: {}; start its container by hand",
                    claim,
                    e.getMessage());
        }
    }

    /**
     * Whether no user has typed the start: the engine starts, and does not answer meanwhile, or the
     * container's restart policy starts it.
     */
    private boolean startsByItself(ClaimKey claim) {
        try {
            if (engine.hasStarted()) {
                return engine.using(List.of(ClaimNames.volume(claim)), LIST_LIMIT).stream()
                        .anyMatch(ContainerEngine.Listed::isRestarting);
            }
            engine.id(QUICK);
            return false;
        } catch (IOException e) {
            return !engine.hasStarted();
        }
    }

    /** An engine is followed from now on: it may have failed to start containers before. */
    public void follow() {
        sweeps.set(1);
    }

    /** A claim's container has ended: its restart policy may start it, in vain. */
    public void ended(String container) {
        looks.put(container, LOOKS);
    }

    /** Docker was refused the driver's files, and does not start a container. */
    public void lacksDriver() {
        sweeps.set(2);
    }

    /** Learns of containers that nobody but the engine knows are down, if there may be some. */
    public void learnOfMissed() throws IOException {
        learnOfEnded();
        if (sweeps.getAndUpdate(left -> Math.max(0, left - 1)) != 1) {
            return;
        }
        try {
            learn();
        } catch (IOException e) {
            sweeps.compareAndSet(0, 1);
            throw e;
        }
    }

    /** Docker asks nobody when it restarts a container and finds no node of a GPU. */
    private void learnOfEnded() throws IOException {
        for (String container : List.copyOf(looks.keySet())) {
            Optional<ContainerEngine.Inspected> now = engine.inspect(container, LIMIT);
            if (now.isEmpty() || now.get().pid() > 0) {
                looks.remove(container);
            } else if (!now.get().restarting()) {
                Optional<ContainerEngine.Down> down = engine.down(container, LIMIT);
                Optional<String> lack = down.flatMap(ContainerEngine.Down::lackedGpu);
                if (lack.isPresent()) {
                    learn(down.orElseThrow(), lack.get());
                }
                looks.computeIfPresent(
                        container, (_, left) -> lack.isPresent() || left == 1 ? null : left - 1);
            }
        }
    }

    private void learn() throws IOException {
        for (ContainerEngine.Down container : engine.ended(LIMIT)) {
            Optional<String> lack = container.lacked(volumeDriver).or(container::lackedGpu);
            if (lack.isPresent()) {
                learn(container, lack.get());
            }
        }
    }

    private void learn(ContainerEngine.Down container, String lack) throws IOException {
        LOG.warn(
                "{} is down, since {} when docker was to start it",
                Quote.lines(container.name()),
                lack);
        Optional<String> claim = claimOf(container);
        if (claim.isPresent()) {
            registry.claims().missedStart(claim.get(), container.error(), lack);
        } else if (container.lackedGpu().isEmpty()) {
            missed.put(container.id(), container);
        }
    }

    /** The claim of the volume that it mounts; a label alone may be any image's. */
    private Optional<String> claimOf(ContainerEngine.Down container) throws IOException {
        Optional<ClaimKey> label = ClaimNames.ofLabel(container.labels());
        return label.isPresent() && registry.claims().hasVolume(label.get().id())
                ? registry.claims()
                        .claim(label.get())
                        .filter(claim -> claim.isOfContainer(container.id()))
                        .map(Claim::id)
                : Optional.empty();
    }

    /** Starts those that can have their GPUs now, and forgets those that are not to be started. */
    public void review() throws IOException {
        if (!engine.hasStarted()) {
            return;
        }
        List<RefusedStart> all = registry.claims().refusedStarts();
        refusals.keySet().retainAll(all.stream().map(it -> it.claim().id()).toList());
        for (RefusedStart refused : all) {
            try {
                review(refused);
            } catch (IOException e) {
                LOG.debug("claim {}: {}", refused.claim().id(), e.getMessage());
            }
        }
        for (ContainerEngine.Down container : missed.values()) {
            reviewMissed(container);
        }
    }

    private void reviewMissed(ContainerEngine.Down container) throws IOException {
        Optional<ContainerEngine.Down> still =
                engine.down(container.id(), LIMIT).filter(now -> now.isStill(container));
        if (still.isEmpty()) {
            missed.remove(container.id());
            tries.remove(container.id());
        } else if (isDue(container.id()) && hasGpus()) {
            start(container.id(), still.get(), "a driver is loaded now");
        }
    }

    /** Without a driver, each start would be in vain, and the next one would come later. */
    private boolean hasGpus() throws IOException {
        try {
            return !supply.gpus().isEmpty();
        } catch (NoDriverException e) {
            return false;
        }
    }

    private boolean isDue(String key) {
        return Optional.ofNullable(tries.get(key)).filter(it -> it.next() > pace.nanos()).isEmpty();
    }

    private void review(RefusedStart refused) throws IOException {
        Claim claim = refused.claim();
        if (!claim.origin().isOf(engine.id(LIMIT))) {
            return;
        }
        List<ContainerEngine.Listed> users =
                engine.using(List.of(ClaimNames.volume(claim.key())), LIMIT);
        List<ContainerEngine.Listed> own =
                users.stream().filter(user -> claim.isOfContainer(user.id())).toList();
        List<ContainerEngine.Listed> guests = own.isEmpty() ? List.of() : without(users, own);
        List<ContainerEngine.Down> down = down(own.isEmpty() ? users : own, refused);
        List<ContainerEngine.Down> downGuests = down(guests, refused.unseen());
        guests.stream()
                .map(ContainerEngine.Listed::id)
                .filter(guest -> downGuests.stream().noneMatch(it -> it.id().equals(guest)))
                .forEach(tries::remove);
        if (down.isEmpty() && downGuests.isEmpty()) {
            forgetLater(claim);
            return;
        }
        if (!down.isEmpty() && !startsAgain(refused, down.getFirst())) {
            return;
        }
        for (ContainerEngine.Down guest : downGuests) {
            if (isDue(guest.id())) {
                start(guest.id(), guest, "its claim's container has started");
            }
        }
    }

    /** Docker writes down the error of a start some time after the refusal. */
    private void forgetLater(Claim claim) throws IOException {
        long refused = refusals.computeIfAbsent(claim.id(), _ -> pace.nanos());
        if (pace.nanos() - refused > SETTLED.toNanos()) {
            LOG.info("{} runs, is gone or was changed: it is not started", claim.displayName());
            registry.claims().notRefused(claim.id());
            tries.remove(claim.id());
            refusals.remove(claim.id());
        }
    }

    /** Whether it was started since it can have its GPUs. */
    private boolean startsAgain(RefusedStart refused, ContainerEngine.Down down)
            throws IOException {
        Claim claim = refused.claim();
        if (refused.seen().isEmpty()) {
            registry.claims().seen(claim.id(), new RefusedStart.Seen(down.id(), down.finished()));
        }
        if (!isDue(claim.id()) || !canHaveAll(claim)) {
            return false;
        }
        // Changes made during the check count.
        Optional<ContainerEngine.Down> still =
                engine.down(down.id(), LIMIT).filter(it -> it.isOf(refused));
        return still.isPresent() && start(claim.id(), still.get(), "it can have its GPUs now");
    }

    private static List<ContainerEngine.Listed> without(
            List<ContainerEngine.Listed> all, List<ContainerEngine.Listed> some) {
        return all.stream().filter(each -> !some.contains(each)).toList();
    }

    /** Those that are neither gone nor run nor were changed since they were refused. */
    private List<ContainerEngine.Down> down(
            List<ContainerEngine.Listed> users, RefusedStart refused) throws IOException {
        List<ContainerEngine.Down> down = new ArrayList<>();
        for (ContainerEngine.Listed user : users) {
            engine.down(user.id(), LIMIT).filter(it -> it.isOf(refused)).ifPresent(down::add);
        }
        return down;
    }

    /** Whether the claim's GPUs are free and unused, without waiting clients or a rule against. */
    private boolean canHaveAll(Claim claim) throws IOException {
        Supply.Terms terms = supply.terms(claim.owner(), queue.all());
        List<Gpu> gpus = terms.gpus();
        try {
            ClaimedNodes.refuseOthers(claim, gpus);
        } catch (RefusedException e) {
            return false;
        }
        List<GpuUse> seen = unmanagedScan.scan(gpus, UnmanagedScan.LIMIT);
        // The container's last lease may be kept for this very start.
        Holdings holdings =
                registry.holdings().without(lease -> lease.claim().id().equals(claim.id()));
        UnmanagedUses unmanaged = unmanagedScan.unmanaged(seen, holdings, terms.rules());
        try {
            GpuChoice choice = terms.knowing(claim).choice(holdings, unmanaged);
            return choice.of(Requested.of(claim, Optional.empty())) instanceof Outcome.Chosen;
        } catch (RefusedException e) {
            return false;
        }
    }

    private boolean start(String key, ContainerEngine.Down container, String why) {
        Tries before = tries.getOrDefault(key, new Tries(0, 0));
        Duration pause = PAUSE.multipliedBy(1L << Math.min(before.number(), DOUBLINGS));
        tries.put(key, new Tries(before.number() + 1, pace.nanos() + pause.toNanos()));
        try {
            engine.start(container.id(), START_LIMIT);
            LOG.info("started {} again: {}", container.name(), why);
            return true;
        } catch (IOException e) {
            LOG.warn("{} was not started again: {}", container.name(), e.getMessage());
            return false;
        }
    }
}
