package jnvdocker.grant;

import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Ends leases whose holders are gone, and no others. A container that ends may be about to start
 * again: until it is known that it does not, its GPUs are still its own.
 */
final class LeaseEnder {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseEnder.class);
    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final Leftovers leftovers;
    private final Comebacks comebacks;
    private final Pace pace;
    private final UnwrittenMounts unwritten;
    private final RestartGrace grace;

    /** Held from when a cgroup loses its rules until the lease has ended for which it had them. */
    private final Object rules = new Object();

    LeaseEnder(
            LeaseRegistry registry,
            Evidence evidence,
            Leftovers leftovers,
            ContainerEngine engine,
            Pace pace) {
        this.registry = registry;
        this.evidence = evidence;
        this.leftovers = leftovers;
        this.comebacks = new Comebacks(registry, evidence, engine, pace, this::isLeftBehind);
        this.pace = pace;
        unwritten = new UnwrittenMounts(evidence);
        grace = new RestartGrace(pace);
    }

    /**
     * The callers that want leases ended whose holders are gone, and how long they wait for that.
     */
    enum Caller {
        /** A verb of the volume plugin: dockerd waits, with a lock of the container in question. */
        VERB(Duration.ofSeconds(3)),
        /** A client's command, which has time. */
        CLIENT(Duration.ofSeconds(1)),
        /** A thread that the end itself wakes. */
        WAITER(Duration.ZERO);

        final Duration patience;

        Caller(Duration patience) {
            this.patience = patience;
        }
    }

    /** The claim was mounted again under the lease that it has, which could not be written. */
    void mountedUnwritten(String claim, ProcessId engine) {
        unwritten.add(claim, engine);
    }

    /** The claim was just unmounted: it may be mounted again at once. */
    void unmounted(String claim) {
        unwritten.remove(claim);
        comebacks.unmounted(claim);
    }

    /** The claim's quiet time is over: it was mounted again, or is gone. */
    void mounted(String claim) {
        comebacks.lives(claim);
    }

    /** Finds out in the background whether the claim's container is gone. */
    void lookAt(String claim) {
        if (!unwritten.has(claim)) {
            comebacks.find(claim, Comebacks.STEP);
        }
    }

    /**
     * Ends those of the leases whose holders are gone. Waits as long as the caller may, and no
     * longer than until it is known of all whether they are; the engine is asked by others.
     *
     * @return whether any has ended, also when it was somebody else who saw it
     * @throws IOException when one has ended and that cannot be written
     */
    boolean end(Collection<Lease> leases, Caller caller) throws IOException {
        return end(leases, caller.patience);
    }

    /**
     * The same.
     *
     * @param patience of the caller
     */
    boolean end(Collection<Lease> leases, Duration patience) throws IOException {
        Map<String, Integer> quiet = new HashMap<>();
        for (Lease lease : leases) {
            String claim = lease.claim().id();
            Life finding = evidence.of(lease);
            if (finding instanceof Life.Gone(String why) && isOver(lease)) {
                if (mayStartAgain(lease) && grace.begin(lease, () -> endAfterGrace(lease))) {
                    quiet.put(claim, 0);
                } else {
                    endNow(lease, why);
                }
            } else if (finding instanceof Life.Running) {
                evidence.forget(lease);
                unwritten.remove(claim);
                comebacks.lives(claim);
            } else if (lease.isOfContainer() && !unwritten.has(claim)) {
                quiet.put(claim, comebacks.find(claim, Duration.ZERO));
            }
        }
        await(leases, quiet, patience);
        return registry.stillLive(leases).size() < leases.size();
    }

    /** Whether it had run, so that its engine may be about to start it again, and asks at once. */
    private boolean mayStartAgain(Lease lease) {
        return !evidence.kind(lease).grace(lease).isZero() && lease.boot().equals(registry.boot());
    }

    private void endAfterGrace(Lease lease) {
        try {
            if (evidence.of(lease) instanceof Life.Gone(String why)) {
                endNow(lease, why);
            }
        } catch (IOException e) {
            // A sweep tries again.
            LOG.warn("the end of lease {} is not written: {}", lease.id(), e.getMessage());
        }
    }

    /** Nothing starts of it again, whatever an engine does. */
    private boolean isOver(Lease lease) {
        return !lease.isOfContainer() || !lease.boot().equals(registry.boot());
    }

    /**
     * @param quiet claims that may come back, and what was known of each before
     */
    private void await(Collection<Lease> leases, Map<String, Integer> quiet, Duration patience)
            throws IOException {
        long begun = pace.nanos();
        while (pace.nanos() - begun < patience.toNanos()) {
            long seen = registry.changes().count();
            boolean open =
                    registry.stillLive(leases).stream()
                            .map(lease -> lease.claim().id())
                            .filter(quiet::containsKey)
                            .anyMatch(claim -> !comebacks.isComingBack(claim, quiet.get(claim)));
            for (Map.Entry<String, Integer> claim : quiet.entrySet()) {
                comebacks.refuseUnwritten(claim.getKey(), claim.getValue());
            }
            if (!open || Thread.currentThread().isInterrupted()) {
                return;
            }
            pace.sleep(Comebacks.STEP, registry.changes(), seen);
        }
    }

    /** Whether a lease stays, since a process that its holder has left behind uses its GPUs. */
    private boolean isLeftBehind(Lease lease) {
        Optional<String> leftover =
                lease.boot().equals(registry.boot()) ? leftovers.of(lease) : Optional.empty();
        if (leftover.isPresent() && evidence.keep(lease, leftover.get())) {
            LOG.warn(
                    "lease {} of claim {} does not end yet: {}",
                    lease.id(),
                    lease.claim().id(),
                    leftover.get());
        }
        return leftover.isPresent();
    }

    /** Whether one of the leases has not ended though its holder is gone. */
    boolean keepsAny(Collection<Lease> leases) {
        return leases.stream().anyMatch(lease -> evidence.kept(lease).isPresent());
    }

    /**
     * Why one of the leases has not ended, to be said after its holder: {@code , which has ended,
     * but python3 (pid 4711) still uses GPU 2 (GPU-5c1a3009)}; empty when none is kept so.
     */
    String remark(Collection<Lease> leases) {
        return leases.stream()
                .flatMap(lease -> evidence.kept(lease).stream())
                .findFirst()
                .map(why -> ", which has ended, but " + why)
                .orElse("");
    }

    /**
     * Ends a lease of which nothing can start again. One whose GPUs are still used by a process of
     * its holder stays, and one whose GPUs may still be opened by others that share its cgroup,
     * until that can be put right.
     */
    void endNow(Lease lease, String why) throws IOException {
        if (isLeftBehind(lease)) {
            return;
        }
        synchronized (rules) {
            try {
                withdrawRules(lease);
            } catch (IOException e) {
                if (lease.boot().equals(registry.boot())) {
                    if (evidence.keep(lease, e.getMessage())) {
                        LOG.error(
                                "lease {} of claim {} cannot end: {}",
                                lease.id(),
                                lease.claim().id(),
                                e.getMessage());
                    }
                    return;
                }
            }
            registry.end(lease, why);
        }
        evidence.forget(lease);
        grace.forget(lease);
        comebacks.lives(lease.claim().id());
    }

    /**
     * Ends a lease as it was seen.
     *
     * @return false when it has ended meanwhile, or is another one by now
     */
    boolean endUnused(Lease seen, String why) throws IOException {
        if (isLeftBehind(seen)) {
            return false;
        }
        synchronized (rules) {
            withdrawRules(seen);
            return registry.end(seen, why);
        }
    }

    /**
     * Ends a lease though its holder may live.
     *
     * @return false when it has ended meanwhile
     */
    boolean endByForce(Lease lease, String why) throws IOException {
        synchronized (rules) {
            try {
                withdrawRules(lease);
            } catch (IOException e) {
                LOG.error("lease {} ends by force, though {}", lease.id(), e.getMessage());
            }
            evidence.forget(lease);
            return registry.endByForce(lease, why);
        }
    }

    /** Not when somebody else has ended it: the rules may be the next holder's by now. */
    private void withdrawRules(Lease lease) throws IOException {
        if (!registry.stillLive(List.of(lease)).isEmpty()) {
            evidence.kind(lease).clean(lease);
        }
    }

    /** Whether the holder of one of the leases is gone of whose end no engine tells us. */
    boolean isOver(Collection<Lease> leases) {
        return leases.stream()
                .filter(lease -> !lease.isOfContainer())
                .anyMatch(lease -> evidence.of(lease) instanceof Life.Gone);
    }

    /**
     * Whether one of the leases is about to end, or to begin anew, which does not take long. One
     * that docker has mounted again is not.
     */
    boolean isSettling(Collection<Lease> leases) {
        return leases.stream()
                .filter(lease -> lease.isOfContainer() || mayStartAgain(lease))
                .filter(lease -> evidence.kept(lease).isEmpty())
                .filter(lease -> evidence.of(lease) instanceof Life.Gone)
                .anyMatch(lease -> comebacks.isSettling(lease.claim().id()) || grace.lasts(lease));
    }
}
