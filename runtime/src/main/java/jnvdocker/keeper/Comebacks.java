package jnvdocker.keeper;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Evidence;
import jnvdocker.holder.Life;
import jnvdocker.holder.Pace;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.Lease;
import jnvdocker.posix.FileErrors;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

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
 */
final class Comebacks {
    private static final Logger LOG = LoggerFactory.getLogger(Comebacks.class);

    /** The time from one query to the next. */
    static final Duration STEP = Duration.ofMillis(50);

    /** The time from a query that the engine could not answer to the next. */
    private static final Duration TROUBLE = Duration.ofMillis(250);

    /** The number of prompt answers of the engine that nothing runs. */
    private static final int ANSWERS = 5;

    /**
     * The longest time between two prompt answers: after a longer one, the count of prompt answers
     * starts again.
     */
    private static final Duration PROMPT = Duration.ofMillis(200);

    /** The time after which an answer need not be prompt any more. */
    private static final Duration SLOW = Duration.ofSeconds(5);

    /**
     * How long a container of which nothing runs keeps its lease while its engine cannot be
     * queried, since it starts, is gone or is another one.
     */
    private static final Duration SILENCE = Duration.ofSeconds(2);

    /** The time in which an engine may report a container without processes as running. */
    private static final Duration LATE = Duration.ofSeconds(10);

    /**
     * How long a container of which nothing runs keeps its lease while its engine, which has
     * started, does not answer: it may be starting the container.
     */
    private static final Duration STUCK = Duration.ofSeconds(60);

    /**
     * How long others wait for a container that may restart, while that is undecided, and once it
     * is decided.
     */
    private static final Duration SETTLING = Duration.ofSeconds(10);

    private static final Duration SETTLED = Duration.ofSeconds(2);
    private static final Duration LIMIT = Duration.ofSeconds(5);

    /** The time to wait for an engine that may be about to start. */
    private static final Duration QUICK = Duration.ofMillis(200);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final ContainerEngine engine;
    private final Pace pace;
    private final Ending ending;
    private final Map<String, Quiet> quiet = new ConcurrentHashMap<>();

    /** Ends a lease of a container that does not start again. */
    @FunctionalInterface
    interface Ending {
        /**
         * @param evidence of the end
         * @param said whether the engine says that the container has ended
         * @return false when something of it lives, or has been left behind
         */
        boolean end(Lease lease, String evidence, boolean said) throws IOException;
    }

    Comebacks(
            LeaseRegistry registry,
            Evidence evidence,
            ContainerEngine engine,
            Pace pace,
            Ending ending) {
        this.registry = registry;
        this.evidence = evidence;
        this.engine = engine;
        this.pace = pace;
        this.ending = ending;
    }

    /** A claim with a container of which nothing runs. */
    private static final class Quiet {
        private final long since;
        private boolean pending;
        private int checks;
        private int answers;
        private int promptAnswers;
        private long last;
        private boolean comesBack;

        Quiet(long now) {
            since = now;
            last = now;
        }
    }

    /** The result of one check. */
    private sealed interface Outlook {}

    /**
     * The container does not come back: another may have its GPUs as soon as its lease has ended.
     */
    private record Over(String evidence, boolean saidByEngine) implements Outlook {}

    /** The engine reports that it will start the container again. */
    private record ComesBack() implements Outlook {}

    /**
     * The outcome is open: to be checked again after {@code next}, or only on request when it is
     * empty.
     */
    private record Open(Optional<Duration> next) implements Outlook {
        Open(Duration next) {
            this(Optional.of(next));
        }
    }

    /** The claim was just unmounted: it may be mounted again at once. */
    void unmounted(String claim) {
        quiet.put(claim, new Quiet(pace.nanos()));
        find(claim, STEP);
    }

    /** The claim was mounted again, or something of its container lives. */
    void lives(String claim) {
        quiet.remove(claim);
    }

    /** Begins to find out, unless that is under way. */
    void find(String claim, Duration delay) {
        Quiet now = quiet.computeIfAbsent(claim, _ -> new Quiet(pace.nanos()));
        synchronized (now) {
            if (!now.pending) {
                now.pending = true;
                pace.later(delay, () -> check(claim, now));
            }
        }
    }

    /** The number of checks since something of the claim lived. */
    int checks(String claim) {
        Quiet now = quiet.get(claim);
        if (now == null) {
            return 0;
        }
        synchronized (now) {
            return now.checks;
        }
    }

    /**
     * Whether it is not known yet whether a claim's container comes back.
     *
     * @param checks how many there had been before: only a later one may have found that it does
     */
    boolean isOpen(String claim, int checks) {
        Quiet now = quiet.get(claim);
        if (now == null) {
            return false;
        }
        synchronized (now) {
            return !(now.comesBack && now.checks > checks);
        }
    }

    /** The number of claims about which anything is known. */
    int size() {
        return quiet.size();
    }

    /** Forgets all claims but those. */
    void retain(Set<String> claims) {
        quiet.keySet().retainAll(claims);
    }

    /** Whether it is worth while to wait until it is known what comes of a claim. */
    boolean isSettling(String claim) {
        Quiet now = quiet.get(claim);
        if (now == null) {
            return false;
        }
        synchronized (now) {
            return passed(now).compareTo(now.comesBack ? SETTLED : SETTLING) < 0;
        }
    }

    private Duration passed(Quiet now) {
        return Duration.ofNanos(pace.nanos() - now.since);
    }

    private void check(String claim, Quiet now) {
        Outlook outlook = new Open(Optional.empty());
        try {
            outlook = outlook(claim, now);
        } catch (IOException e) {
            // A sweep tries again.
            LOG.warn("claim {}: {}", claim, FileErrors.describe(e));
        } finally {
            Optional<Duration> next =
                    outlook instanceof Open open && quiet.get(claim) == now
                            ? open.next()
                            : Optional.empty();
            synchronized (now) {
                now.checks++;
                now.comesBack = outlook instanceof ComesBack;
                now.pending = next.isPresent();
            }
            next.ifPresent(delay -> pace.later(delay, () -> check(claim, now)));
        }
    }

    private Outlook outlook(String claim, Quiet now) throws IOException {
        Optional<Lease> lease = registry.liveOf(claim).filter(Lease::isOfContainer);
        Life finding = lease.map(evidence::of).orElseGet(() -> new Life.Gone("it has ended"));
        if (lease.isEmpty() || finding instanceof Life.Running) {
            quiet.remove(claim, now);
            return new Open(Optional.empty());
        }
        Outlook outlook = outlook(lease.get(), finding, now);
        if (outlook instanceof Over(String why, boolean said)) {
            if (!ending.end(lease.get(), why, said)) {
                // A sweep checks again what was left behind.
                return new Open(
                        evidence.kept(lease.get()).isPresent()
                                ? Optional.empty()
                                : Optional.of(STEP));
            }
            quiet.remove(claim, now);
        }
        return outlook;
    }

    private Outlook outlook(Lease lease, Life finding, Quiet now) {
        Optional<String> gone =
                finding instanceof Life.Gone(String why) ? Optional.of(why) : Optional.empty();
        if (gone.isPresent() && !lease.boot().equals(registry.boot())) {
            return new Over(gone.get(), false);
        }
        boolean started = engine.hasStarted();
        Duration limit = started ? LIMIT : QUICK;
        try {
            if (!lease.claim().origin().isOf(engine.id(limit))) {
                return silence(gone, now);
            }
            return word(lease, gone, now, limit);
        } catch (IOException e) {
            LOG.debug("claim {}: {}", lease.claim().id(), e.getMessage());
            if (!started) {
                return silence(gone, now);
            }
            // It is in the middle of something, for all we know.
            return gone.isPresent() && passed(now).compareTo(STUCK) >= 0
                    ? new Over(gone.get(), false)
                    : gone.isPresent() ? new Open(TROUBLE) : new ComesBack();
        }
    }

    /** Without the engine's answer, a mounted container may be about to start. */
    private Outlook silence(Optional<String> gone, Quiet now) {
        if (gone.isEmpty()) {
            return new ComesBack();
        }
        return passed(now).compareTo(SILENCE) < 0 ? new Open(TROUBLE) : new Over(gone.get(), false);
    }

    private Outlook word(Lease lease, Optional<String> gone, Quiet now, Duration limit)
            throws IOException {
        Optional<Boolean> own = isLastAnswer(now) ? Optional.empty() : ownRuns(lease, limit);
        if (own.isPresent()) {
            return own.get() ? runs(gone, now) : doesNotRun(gone, now);
        }
        String volume = ClaimNames.volume(lease.claim().id());
        List<ContainerEngine.Listed> users = engine.using(List.of(volume), limit);
        if (users.isEmpty()) {
            return new Over(gone.orElse("the engine has no container of it"), true);
        }
        if (users.stream().anyMatch(ContainerEngine.Listed::isRestarting)) {
            return new ComesBack();
        }
        boolean runs = users.stream().anyMatch(ContainerEngine.Listed::isActive);
        for (ContainerEngine.Listed user : users) {
            // Waits while it is being started or stopped.
            runs |=
                    engine.inspect(user.id(), limit)
                            .filter(found -> found.pid() != 0 || found.restarting())
                            .isPresent();
        }
        return runs ? runs(gone, now) : doesNotRun(gone, now);
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

    private Outlook runs(Optional<String> gone, Quiet now) {
        boolean late = gone.isPresent() && passed(now).compareTo(LATE) >= 0;
        return late ? new Over(gone.get(), false) : new ComesBack();
    }

    private Outlook doesNotRun(Optional<String> gone, Quiet now) {
        return isSaidOften(now)
                ? new Over(gone.orElse("the engine says that its container does not run"), true)
                : new Open(STEP);
    }

    /** Whether the next word that nothing runs may be the one that counts. */
    private boolean isLastAnswer(Quiet now) {
        synchronized (now) {
            return now.answers + 1 >= ANSWERS;
        }
    }

    private boolean isSaidOften(Quiet now) {
        long nanos = pace.nanos();
        synchronized (now) {
            boolean prompt = nanos - now.last <= PROMPT.toNanos();
            now.last = nanos;
            now.answers++;
            now.promptAnswers = prompt ? now.promptAnswers + 1 : 1;
            return now.promptAnswers >= ANSWERS
                    || now.answers >= ANSWERS && passed(now).compareTo(SLOW) >= 0;
        }
    }
}
