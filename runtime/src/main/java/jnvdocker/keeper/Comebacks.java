package jnvdocker.keeper;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.holder.Memory;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Quiet;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.Ground;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.SeenEnd;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Finds out whether a container that has ended is about to start again, and ends its lease if it is
 * not.
 *
 * <p>Between the end and the start of {@code docker restart} an engine shows nothing of what it is
 * about to do: its events are those of {@code docker stop}, and its answer that a container does
 * not run may fall into the gap, since it keeps no lock over both. But an engine that is queried
 * repeatedly gets on with its work meanwhile. So this answer counts once it was given several
 * times, by an engine that answers promptly: the time that this takes depends on the speed of the
 * machine. A removed container does not come back; its lease ends at once.
 *
 * <p>The same holds for each container of that engine, whether the engine mounts a volume of the
 * claim or has our OCI runtime create the container. Our OCI runtime serves other engines, too,
 * which are not queried: there the {@link Pauses} between their ends and starts decide.
 */
final class Comebacks {
    private static final Logger LOG = LoggerFactory.getLogger(Comebacks.class);

    /** The time from one query to the next. */
    static final Duration STEP = Duration.ofMillis(50);

    /** The time from a query that the engine could not answer to the next. */
    private static final Duration TROUBLE = Duration.ofMillis(250);

    /**
     * How long a container keeps its lease when nothing of it runs and nobody queries its engine.
     */
    private static final Duration SILENCE = Duration.ofSeconds(2);

    /** How long a silent engine, which has started, is queried again and again, not by sweeps. */
    private static final Duration STUCK = Duration.ofSeconds(60);

    /**
     * How long others wait for a container that may restart, while that is undecided, and once it
     * is decided.
     */
    private static final Duration SETTLING = Duration.ofSeconds(10);

    private static final Duration SETTLED = Duration.ofSeconds(2);
    private static final Duration LIMIT = Duration.ofSeconds(5);
    private static final String DOES_NOT_RUN = "the engine says that its container does not run";
    private static final String IS_DOWN = "its engine does not answer, and may start it again";

    /** The time to wait for an engine that may be about to start. */
    private static final Duration QUICK = Duration.ofMillis(200);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final ContainerEngine engine;
    private final Pace pace;
    private final ComingStarts coming;
    private final Ending ending;
    private final Pauses pauses;
    private final EngineRoots roots;

    /** Ends a lease of a container that does not start again. */
    @FunctionalInterface
    interface Ending {
        /**
         * @return false when something of it lives, or has been left behind
         */
        boolean end(SeenEnd end) throws IOException;
    }

    Comebacks(
            LeaseRegistry registry,
            Evidence evidence,
            ContainerEngine engine,
            Pace pace,
            ComingStarts coming,
            Ending ending) {
        this.registry = registry;
        this.evidence = evidence;
        this.engine = engine;
        this.pace = pace;
        this.coming = coming;
        this.ending = ending;
        this.pauses = new Pauses(evidence, pace);
        this.roots = new EngineRoots(registry);
    }

    /** The pauses of engines that cannot be queried. */
    Pauses pauses() {
        return pauses;
    }

    /** The engine that is queried has these containers. */
    void learn(Set<String> containers) throws IOException {
        if (!engine.isPodman(LIMIT)) {
            roots.learn(containers);
        }
    }

    /** The result of one check. */
    private sealed interface Outlook {}

    /** The container does not come back: its lease ends. */
    private record Over(String evidence, Ground ground) implements Outlook {}

    /**
     * Nothing ends the lease now: its engine says that it has a start to come, for example.
     *
     * @param why where people cannot see that from the engine
     */
    private record Stays(Optional<String> why) implements Outlook {
        Stays() {
            this(Optional.empty());
        }
    }

    /** The outcome is open: to be checked after {@code next}, or on request when that is empty. */
    private record Open(Optional<Duration> next) implements Outlook {
        Open(Duration next) {
            this(Optional.of(next));
        }
    }

    /** Begins to find out, unless that is under way. */
    void find(Lease lease, Duration delay) {
        Quiet now = evidence.memory(lease).quiet(pace);
        if (now.begin()) {
            pace.later(delay, () -> check(lease, now));
        }
    }

    /** The number of checks since something of a lease's container lived. */
    int checks(Lease lease) {
        return evidence.memory(lease).quiet().map(Quiet::checks).orElse(0);
    }

    /**
     * Whether it is not known yet whether a lease's container comes back.
     *
     * @param checks how many there had been before: only a later one may have found that it does
     */
    boolean isOpen(Lease lease, int checks) {
        return evidence.memory(lease)
                .quiet()
                .filter(now -> !now.comesBack() || now.checks() <= checks)
                .isPresent();
    }

    /** Whether it is worth while to wait until it is known what comes of a lease. */
    boolean isSettling(Lease lease) {
        return evidence.memory(lease)
                .quiet()
                .filter(now -> now.passed().compareTo(now.comesBack() ? SETTLED : SETTLING) < 0)
                .isPresent();
    }

    private void check(Lease begun, Quiet now) {
        Outlook outlook = new Open(Optional.empty());
        try {
            List<Lease> lease = registry.stillLive(List.of(begun));
            if (lease.isEmpty()) {
                evidence.memory(begun).over(now);
            } else {
                outlook = outlook(lease.getFirst(), now);
            }
        } catch (IOException e) {
            // A sweep tries again.
            LOG.warn("claim {}: {}", begun.claim().id(), FileErrors.describe(e));
        } finally {
            Optional<Duration> next =
                    outlook instanceof Open open && evidence.memory(begun).isStill(now)
                            ? open.next()
                            : Optional.empty();
            now.checked(outlook instanceof Stays, next.isPresent());
            next.ifPresent(delay -> pace.later(delay, () -> check(begun, now)));
        }
    }

    private Outlook outlook(Lease lease, Quiet now) throws IOException {
        Memory memory = evidence.memory(lease);
        Life finding = now.finding(() -> evidence.of(lease));
        if (!evidence.kind(lease).mayComeBack(lease) || finding instanceof Life.Running) {
            memory.over(now);
            return new Open(Optional.empty());
        }
        Outlook outlook = outlook(lease, finding, now);
        Optional<String> why = outlook instanceof Stays stays ? stays.why() : Optional.empty();
        if (memory.expect(why)) {
            LOG.info("claim {} keeps its GPUs: {}", lease.claim().id(), why.get());
        }
        if (outlook instanceof Over(String end, Ground ground)) {
            if (!ending.end(new SeenEnd(lease, end, ground))) {
                // A sweep checks again what was left behind.
                return new Open(memory.kept().isPresent() ? Optional.empty() : Optional.of(STEP));
            }
            memory.over(now);
        }
        return outlook;
    }

    private Outlook outlook(Lease lease, Life finding, Quiet now) {
        Optional<String> gone =
                finding instanceof Life.Gone(String why) ? Optional.of(why) : Optional.empty();
        if (gone.isPresent() && !lease.boot().equals(registry.boot())) {
            return new Over(gone.get(), Ground.GONE);
        }
        if (finding instanceof Life.Unknown) {
            return new Stays();
        }
        boolean started = engine.hasStarted();
        try {
            return answered(lease, gone, now, started ? LIMIT : QUICK);
        } catch (IOException e) {
            LOG.debug("claim {}: {}", lease.claim().id(), e.getMessage());
            if (lease.claim().origin().runtimeRoot().filter(it -> !roots.mayBe(it)).isPresent()) {
                return pause(lease, gone, now);
            }
            // Whether it is down or in the middle of something, it may start the container.
            if (gone.isPresent() && started && now.passed().compareTo(STUCK) < 0) {
                return new Open(TROUBLE);
            }
            return new Stays(gone.filter(_ -> !started).map(_ -> IS_DOWN));
        }
    }

    private Outlook answered(Lease lease, Optional<String> gone, Quiet now, Duration limit)
            throws IOException {
        Optional<String> root = lease.claim().origin().runtimeRoot();
        if (root.isPresent()) {
            return created(lease, root.get(), gone, now, limit);
        }
        if (!lease.claim().origin().isKnownToDocker()) {
            return silence(gone, now);
        }
        return lease.claim().origin().isOf(engine.id(limit))
                ? word(lease, gone, now, limit)
                : replaced(lease, gone, now);
    }

    /** Another engine answers where the one of the container did, which may still live. */
    private Outlook replaced(Lease lease, Optional<String> gone, Quiet now) {
        if (gone.isEmpty() || evidence.isAlive(lease.holder().process())) {
            return new Stays();
        }
        return now.isSaidOften() ? new Over(gone.get(), Ground.GONE) : new Open(STEP);
    }

    /** Where nobody queries the engine, a mounted container may be about to start. */
    private Outlook silence(Optional<String> gone, Quiet now) {
        if (gone.isEmpty()) {
            return new Stays();
        }
        return pace.calm(now.begun()).compareTo(SILENCE) < 0
                ? new Open(TROUBLE)
                : new Over(gone.get(), Ground.GONE);
    }

    /** Where no engine can be queried, its next start would have begun after a while. */
    private Outlook pause(Lease lease, Optional<String> gone, Quiet now) {
        if (gone.isEmpty()) {
            return new Stays();
        }
        return pauses.isOver(lease, now.begun())
                ? new Over(gone.get(), Ground.GONE)
                : new Open(STEP);
    }

    /** What comes of a container that an engine, whichever, has had our OCI runtime create. */
    private Outlook created(
            Lease lease, String root, Optional<String> gone, Quiet now, Duration limit)
            throws IOException {
        if (engine.isPodman(limit)) {
            // Each podman command decides by itself, whatever podman's service says meanwhile.
            return pause(lease, gone, now);
        }
        Claim.ContainerRef container = lease.claim().container().orElseThrow();
        // Docker finds a container by its name, too, which may be another engine's id.
        Optional<ContainerEngine.Inspected> found =
                engine.inspect(container.id(), limit).filter(it -> it.id().equals(container.id()));
        if (found.isPresent()) {
            roots.add(root);
        } else if (!roots.mayBe(root)) {
            return pause(lease, gone, now);
        } else if (!roots.has(root)) {
            Optional<String> successor = coming.successor(lease, now.passed(), limit);
            return successor.isPresent() ? new Stays(successor) : pause(lease, gone, now);
        }
        return found.filter(it -> it.restarting() || it.pid() != 0).isPresent()
                ? new Stays()
                : doesNotRun(lease, gone.orElse(DOES_NOT_RUN), now, limit);
    }

    private Outlook word(Lease lease, Optional<String> gone, Quiet now, Duration limit)
            throws IOException {
        Optional<Boolean> own = now.isLastAnswer() ? Optional.empty() : ownRuns(lease, limit);
        if (own.isPresent()) {
            return own.get()
                    ? new Stays()
                    : doesNotRun(lease, gone.orElse(DOES_NOT_RUN), now, limit);
        }
        String volume = ClaimNames.volume(lease.claim().key());
        List<ContainerEngine.Listed> users = engine.using(List.of(volume), limit);
        if (users.isEmpty()) {
            return doesNotRun(lease, gone.orElse("the engine has no container of it"), now, limit);
        }
        if (users.stream().anyMatch(ContainerEngine.Listed::isRestarting)) {
            return new Stays();
        }
        boolean runs = false;
        for (ContainerEngine.Listed user : users) {
            boolean its = gone.isEmpty() || lease.claim().isOfContainer(user.id());
            runs |= its && user.isActive();
            // Waits while it is being started or stopped.
            runs |= engine.inspect(user.id(), limit).filter(it -> mayHold(it, its)).isPresent();
        }
        return runs ? new Stays() : doesNotRun(lease, gone.orElse(DOES_NOT_RUN), now, limit);
    }

    /** Another one than its own lives without the claim: it has that one's other volumes. */
    private boolean mayHold(ContainerEngine.Inspected user, boolean its) {
        boolean runs = user.pid() != 0 && (its || evidence.process(user.pid()).isEmpty());
        return runs || user.restarting();
    }

    /**
     * Whether the claim's own container runs; empty when it is gone, is restarting, or is not
     * known. To list all users of the volume, an engine scans all of its containers.
     */
    private Optional<Boolean> ownRuns(Lease lease, Duration limit) throws IOException {
        Optional<Claim.ContainerRef> own = lease.claim().container();
        if (own.isEmpty()) {
            return Optional.empty();
        }
        return engine.inspect(own.get().id(), limit)
                .filter(found -> !found.restarting())
                .map(found -> found.pid() != 0);
    }

    /** One answer of the engine is none: the list of one that is just starting may be empty. */
    private Outlook doesNotRun(Lease lease, String evidence, Quiet now, Duration limit)
            throws IOException {
        Optional<String> start =
                now.isLastAnswer() ? coming.of(lease, now.passed(), limit) : Optional.empty();
        if (start.isPresent()) {
            return new Stays(start);
        }
        return now.isSaidOften() ? new Over(evidence, Ground.SAID_BY_ENGINE) : new Open(STEP);
    }
}
