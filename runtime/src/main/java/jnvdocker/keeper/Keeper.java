package jnvdocker.keeper;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.HostView;
import jnvdocker.holder.Leftovers;
import jnvdocker.holder.Life;
import jnvdocker.holder.Memory;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Ground;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.LeaseWriter;
import jnvdocker.registry.RegistryException;
import jnvdocker.registry.SeenEnd;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Ends the leases of holders that are gone, on one thread; it ends another lease only when a caller
 * requests that. All others wake it. It queries no engine: others find out whether a container that
 * has ended is about to start again, and pass on what the engine has answered. Until its thread has
 * begun, callers do its work themselves.
 */
public final class Keeper implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Keeper.class);

    /** How often it checks all leases: the ends of many are reported by nobody. */
    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** How long a caller waits for its turn; what it needs is in memory and in /proc. */
    private static final Duration TURN = Duration.ofSeconds(1);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Leftovers leftovers;
    private final Comebacks comebacks;
    private final Pace pace;
    private final List<Chore> chores = new CopyOnWriteArrayList<>();

    private final AtomicLong forced = new AtomicLong();

    /** Why an end could not be written; empty once one could again. */
    private volatile Optional<String> unwrittenEnd = Optional.empty();

    private final Object turn = new Object();
    private Set<Long> wanted = new HashSet<>();
    private long requested;
    private long done;

    /** When it last checked all leases. */
    private long swept;

    private final Periodic thread;

    /**
     * @param volumeDriver the name of our volume plugin
     */
    public Keeper(
            LeaseRegistry registry,
            Evidence evidence,
            Leftovers leftovers,
            ContainerEngine engine,
            Pace pace,
            String volumeDriver) {
        this.registry = registry;
        this.evidence = evidence;
        this.leftovers = leftovers;
        this.comebacks =
                new Comebacks(
                        registry,
                        evidence,
                        engine,
                        pace,
                        new ComingStarts(engine, volumeDriver),
                        this::end);
        this.pace = pace;
        swept = pace.nanos();
        thread =
                new Periodic("keeper", this::untilNextSweep, this::round)
                        .in(pace)
                        .failing("leases are checked again later")
                        .later();
        chores.add(evidence::retain);
    }

    /**
     * The callers that want the leases of holders that are gone to end, and how long they wait for
     * that.
     */
    public enum Caller {
        /** A verb of the volume plugin: dockerd waits, with a lock of the container in question. */
        VERB(Duration.ofSeconds(3)),
        /** A client's command, which has time. */
        CLIENT(Duration.ofSeconds(1)),
        /** A thread that the end itself wakes. */
        WAITER(Duration.ZERO);

        public final Duration patience;

        Caller(Duration patience) {
            this.patience = patience;
        }
    }

    /** Work that follows from the ends of leases, and takes no time. */
    @FunctionalInterface
    public interface Chore {
        /**
         * @param live the leases that are held
         */
        void perform(List<Lease> live) throws IOException;
    }

    /** Adds a chore that runs after each check of all leases, and after each end. */
    public void after(Chore chore) {
        chores.add(chore);
    }

    /** Does all of that by itself, until it is closed. */
    public Keeper start() {
        thread.start();
        return this;
    }

    private Duration untilNextSweep() {
        return PERIOD.minusNanos(pace.nanos() - swept);
    }

    private void round() throws IOException {
        boolean all = untilNextSweep().toMillis() <= 0;
        swept = all ? pace.nanos() : swept;
        Set<Long> ids;
        long upTo;
        synchronized (turn) {
            ids = wanted;
            wanted = new HashSet<>();
            upTo = requested;
        }
        List<Lease> live = registry.live();
        try {
            check(all ? live : live.stream().filter(it -> ids.contains(it.id())).toList());
        } finally {
            synchronized (turn) {
                done = upTo;
                turn.notifyAll();
            }
        }
        if (all || !registry.stillLive(live).equals(live)) {
            doChores();
        }
    }

    @Override
    public void close() {
        thread.close();
    }

    /** Has leases checked, without waiting for that. */
    public void wake(Collection<Lease> leases) {
        if (thread.isOwn()) {
            checkNow(leases);
        } else if (!leases.isEmpty()) {
            request(leases);
        }
    }

    private long request(Collection<Lease> leases) {
        synchronized (turn) {
            leases.forEach(lease -> wanted.add(lease.id()));
            requested++;
            thread.wake();
            return requested;
        }
    }

    /** Has leases checked, and waits for that, but no longer than a caller waits for its turn. */
    private void awaitCheck(Collection<Lease> leases) throws IOException {
        if (thread.isOwn()) {
            checkNow(leases);
            return;
        }
        long begun = pace.nanos();
        long mine = request(leases);
        synchronized (turn) {
            while (done < mine) {
                long left = TURN.toMillis() - Duration.ofNanos(pace.nanos() - begun).toMillis();
                if (left <= 0) {
                    return;
                }
                try {
                    turn.wait(left);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IOException("the daemon is stopping", e);
                }
            }
        }
    }

    private void checkNow(Collection<Lease> leases) {
        try {
            check(registry.stillLive(leases));
        } catch (IOException e) {
            LOG.warn("leases are checked again later: {}", FileErrors.describe(e));
        }
    }

    /** Checks each of the leases; a failure with one does not keep it from checking the others. */
    private void check(Collection<Lease> leases) {
        HostView view = evidence.view();
        for (Lease lease : leases) {
            try {
                check(lease, evidence.of(lease, view));
                evidence.memory(lease).checked(Optional.empty());
            } catch (IOException e) {
                // Until a check has succeeded: a client that waits reads it at any moment.
                boolean isNew = evidence.memory(lease).checked(Optional.of(e));
                // Each command has the leases checked, for as long as a disk is full.
                LOG.atLevel(isNew ? Level.WARN : Level.DEBUG)
                        .log("the end of lease {} is not written: {}", lease.id(), e.getMessage());
            } catch (RuntimeException e) {
                LOG.error("lease {} is checked again later", lease.id(), e);
            }
        }
    }

    private void check(Lease lease, Life life) throws IOException {
        Memory memory = evidence.memory(lease);
        Optional<SeenEnd> word = memory.word().filter(it -> lease.isStill(it.lease()));
        if (life instanceof Life.Running) {
            memory.settled();
        } else if (isMountedUnwritten(lease)) {
            // A word about it may be about its last start: no row tells the two apart.
        } else if (word.isPresent() && !(life instanceof Life.Unknown)) {
            endNow(word.get());
        } else if (!isOver(lease)) {
            comebacks.find(lease, Duration.ZERO);
        } else if (life instanceof Life.Gone(String why)) {
            endNow(SeenEnd.gone(lease, why));
        }
    }

    /** Nothing starts of it again, whatever an engine does. */
    private boolean isOver(Lease lease) {
        return !evidence.kind(lease).mayComeBack(lease) || isOfThePast(lease);
    }

    private boolean isOfThePast(Lease lease) {
        return !lease.boot().equals(registry.boot());
    }

    private void doChores() throws IOException {
        List<Lease> live = registry.live();
        for (Chore chore : chores) {
            try {
                chore.perform(live);
            } catch (IOException e) {
                LOG.warn("a chore is done again later: {}", FileErrors.describe(e));
            }
        }
    }

    /** Checks all leases, and does what follows from their ends. */
    public void sweep() throws IOException {
        awaitCheck(registry.live());
        if (thread.isOwn()) {
            doChores();
        }
    }

    /** The claim was mounted again under the lease that it has, which could not be written. */
    public void mountedUnwritten(Lease lease, ProcessId engine) {
        evidence.memory(lease).mountedUnwritten(engine);
    }

    private boolean isMountedUnwritten(Lease lease) {
        return evidence.memory(lease).mounting().filter(evidence::isAlive).isPresent();
    }

    /** The claim was just unmounted: it may be mounted again at once. */
    public void unmounted(String claim) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim);
        lease.ifPresent(it -> evidence.memory(it).unmounted(pace));
        lease.ifPresent(it -> comebacks.find(it, Comebacks.STEP));
    }

    /** The engine that is queried has these containers. */
    public void learn(Set<String> containers) throws IOException {
        comebacks.learn(containers);
    }

    /**
     * Our OCI runtime has begun to delete the containers of these leases.
     *
     * @param process the runtime, or the command that has called it; empty when it has gone
     */
    public void deleted(Collection<Lease> leases, Optional<ProcessId> process) {
        process.ifPresent(it -> leases.forEach(lease -> comebacks.pauses().deleted(lease, it)));
        wake(leases);
    }

    /** Our OCI runtime has created the container of a lease. */
    public void created(Lease lease) {
        comebacks.pauses().created(lease);
    }

    /** The claim of a lease was mounted again. */
    public void mounted(Lease lease) {
        evidence.memory(lease).mounted();
    }

    /** Finds out in the background whether the claim's container is gone. */
    public void recheck(String claim) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim).filter(it -> !isMountedUnwritten(it));
        lease.ifPresent(it -> comebacks.find(it, Comebacks.STEP));
    }

    /**
     * Ends those of the leases that belong to holders that are gone. Waits as long as the caller
     * may, and no longer than until it is known of all whether they do; the engine is queried by
     * others.
     *
     * @return whether any has ended, also when others have ended it
     * @throws IOException when one has ended and that cannot be written
     */
    public boolean end(Collection<Lease> leases, Caller caller) throws IOException {
        return end(leases, caller.patience);
    }

    /**
     * Ends those of the leases that belong to holders that are gone.
     *
     * @param patience of the caller
     */
    public boolean end(Collection<Lease> leases, Duration patience) throws IOException {
        if (leases.isEmpty()) {
            return false;
        }
        Map<Long, Integer> checks = new HashMap<>();
        leases.forEach(it -> checks.put(it.id(), comebacks.checks(it)));
        awaitCheck(leases);
        long begun = pace.nanos();
        while (true) {
            long seen = registry.changes().count();
            List<Lease> left = registry.stillLive(leases);
            for (Lease lease : left) {
                throwFailure(lease);
            }
            boolean open = left.stream().anyMatch(it -> comebacks.isOpen(it, checks.get(it.id())));
            if (!open
                    || pace.nanos() - begun >= patience.toNanos()
                    || Thread.currentThread().isInterrupted()) {
                return left.size() < leases.size();
            }
            pace.sleep(Comebacks.STEP, registry.changes(), seen);
        }
    }

    /**
     * Ends the leases of clients and programs that are gone. Containers are handled in the
     * background, so that no command waits for an engine. An end that cannot be written is shown as
     * far as it is known, and {@link #unwrittenEnd} says so.
     */
    public void endReservations() throws IOException {
        List<Lease> others =
                registry.live().stream().filter(lease -> !lease.isOfContainer()).toList();
        try {
            end(others, Caller.WAITER);
        } catch (RegistryException e) {
            if (unwrittenEnd.isEmpty()) {
                throw e;
            }
            LOG.debug("the end of a lease is not written: {}", e.getMessage());
        }
    }

    private void throwFailure(Lease lease) throws IOException {
        Optional<IOException> failure = evidence.memory(lease).failure();
        if (failure.isPresent()) {
            throw failure.get();
        }
    }

    /** Whether a lease stays, since a process that its holder has left behind uses its GPUs. */
    private boolean isLeftBehind(Lease lease) {
        Optional<String> leftover = isOfThePast(lease) ? Optional.empty() : leftovers.of(lease);
        if (leftover.isPresent() && evidence.memory(lease).keep(leftover.get())) {
            LOG.warn(
                    "lease {} of claim {} does not end yet: {}",
                    lease.id(),
                    lease.claim().id(),
                    leftover.get());
        }
        return leftover.isPresent();
    }

    /** Whether one of the leases has not ended though its holder is gone. */
    public boolean keepsAny(Collection<Lease> leases) {
        return leases.stream().anyMatch(lease -> evidence.memory(lease).kept().isPresent());
    }

    /**
     * Why one of the leases has not ended, to be said after its holder: {@code , which has ended,
     * but python3 (pid 4711) still uses GPU 2 (GPU-5c1a3009)}; empty when none is kept so.
     */
    public String remark(Collection<Lease> leases) {
        return leases.stream()
                .flatMap(lease -> evidence.memory(lease).kept().stream())
                .findFirst()
                .map(why -> ", which has ended, but " + why)
                .orElse("");
    }

    /**
     * Ends a lease of which nothing can start again, unless it has changed since it was seen.
     *
     * @return false when it has not ended, since something of its holder lives
     * @throws IOException when the end cannot be written
     */
    public boolean end(SeenEnd end) throws IOException {
        Lease seen = end.lease();
        evidence.memory(seen).say(end);
        awaitCheck(List.of(seen));
        throwFailure(seen);
        return registry.stillLive(List.of(seen)).isEmpty();
    }

    /**
     * Ends a lease as its caller has seen it, in the transaction of a decision: all ends of leases
     * are written here. A caller that decides on more than the end gives the GPUs to the holder's
     * next start.
     *
     * @return false when it has ended meanwhile, or is another one by now
     */
    public boolean endAsSeen(LeaseWriter leases, SeenEnd end) {
        boolean ended = leases.end(end);
        if (ended && end.ground() == Ground.FORCE) {
            forced.incrementAndGet();
        }
        return ended;
    }

    /**
     * How many leases were ended by force, since this object was made: what their holders do since
     * then no scan of before has seen.
     */
    public long forced() {
        return forced.get();
    }

    /**
     * Why leases are still live although their ends were seen; empty when no such lease is known.
     */
    public Optional<String> unwrittenEnd() {
        return unwrittenEnd;
    }

    /**
     * Ends a lease, unless a process of its holder still uses its GPUs, or others that share its
     * cgroup may still open them: it stays until that can be put right, or is ended by force.
     *
     * @return false when it stays, has ended meanwhile, or is another one by now
     */
    private boolean endNow(SeenEnd end) throws IOException {
        Lease lease = end.lease();
        boolean byForce = end.ground() == Ground.FORCE;
        if (!byForce && isLeftBehind(lease)) {
            return false;
        }
        String why = byForce ? end.evidence() : evidence.memory(lease).ofEnd(end.evidence());
        synchronized (this) {
            // The next holder may have its GPUs by now.
            if (registry.stillLive(List.of(lease)).stream().noneMatch(now -> now.isStill(lease))
                    || !isClean(lease, byForce)
                    || !write(new SeenEnd(lease, why, end.ground()))) {
                return false;
            }
        }
        evidence.memory(lease).settled();
        return true;
    }

    /** Takes back what was given with the GPUs; a lease stays as long as that cannot be done. */
    private boolean isClean(Lease lease, boolean byForce) {
        try {
            evidence.kind(lease).clean(lease);
            return true;
        } catch (IOException e) {
            if (byForce) {
                LOG.error("lease {} ends by force, though {}", lease.id(), e.getMessage());
            } else if (!isOfThePast(lease)) {
                if (evidence.memory(lease).keep(e.getMessage())) {
                    LOG.error(
                            "lease {} of claim {} cannot end: {}",
                            lease.id(),
                            lease.claim().id(),
                            e.getMessage());
                }
                return false;
            }
            return true;
        }
    }

    private boolean write(SeenEnd end) throws IOException {
        try {
            boolean ended = registry.decide(leases -> endAsSeen(leases, end));
            unwrittenEnd = ended ? Optional.empty() : unwrittenEnd;
            return ended;
        } catch (RegistryException e) {
            unwrittenEnd = Optional.of(e.getMessage());
            throw e;
        }
    }

    /**
     * Ends a lease as it was seen, though its engine may be about to start its container again.
     *
     * @return false when it has ended meanwhile, or is another one by now
     */
    public boolean endUnused(Lease seen, String why) throws IOException {
        return endNow(SeenEnd.gone(seen, why));
    }

    /**
     * Ends a lease as it was seen, though its holder may live.
     *
     * @return false when it has ended meanwhile, or is another one by now
     */
    public boolean endByForce(Lease seen, String why) throws IOException {
        return endNow(new SeenEnd(seen, why, Ground.FORCE));
    }

    /**
     * Whether one of the leases is about to end, or to begin again, which does not take long. One
     * that docker has mounted again is not.
     */
    public boolean isSettling(Collection<Lease> leases) {
        HostView view = evidence.view();
        return leases.stream()
                .filter(lease -> evidence.memory(lease).kept().isEmpty())
                .filter(comebacks::isSettling)
                .anyMatch(lease -> evidence.of(lease, view) instanceof Life.Gone);
    }
}
