package jnvdocker.lease;

import jnvdocker.process.ProcessGroup;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Ends leases whose holders are gone, and no others. A container that ends may be about to start
 * again: for a moment after its last unmount, and as long as the engine says so, its GPUs are still
 * its own.
 */
final class LeaseEnder {
    private static final Logger LOG = LoggerFactory.getLogger(LeaseEnder.class);

    /** {@code docker restart} unmounts and mounts within 5 to 11 ms; a machine may be busy. */
    private static final Duration GRACE = Duration.ofMillis(250);

    /** For how long an engine may call running what has no process any more. */
    private static final Duration SLOW_ENGINE = Duration.ofSeconds(10);

    /** For how long others wait for what looks like an end. */
    private static final Duration SETTLING = Duration.ofSeconds(2);

    private final LeaseRegistry registry;
    private final Evidence evidence;
    private final ContainerEngine engine;
    private final Pace pace;
    private final Map<String, Long> quietSince = new ConcurrentHashMap<>();

    /** Held from when a cgroup loses its rules until the lease has ended for which it had them. */
    private final Object rules = new Object();

    LeaseEnder(LeaseRegistry registry, Evidence evidence, ContainerEngine engine, Pace pace) {
        this.registry = registry;
        this.evidence = evidence;
        this.engine = engine;
        this.pace = pace;
    }

    /** What an end may be waited for. */
    enum Caller {
        /** A verb of the volume plugin, while dockerd waits: a quick list is all it may ask. */
        VERB(Duration.ofMillis(200)),
        /** Whoever has the time to ask the engine about one container after another. */
        CLIENT(Duration.ofSeconds(5));

        private final Duration limit;

        Caller(Duration limit) {
            this.limit = limit;
        }
    }

    /** The claim was just unmounted: it may be mounted again at once. */
    void unmounted(String claim) {
        quietSince.put(claim, pace.nanos());
    }

    /** The claim's quiet time is over: it was mounted again, or is gone. */
    void mounted(String claim) {
        quietSince.remove(claim);
    }

    /**
     * Ends those of the leases whose holders are gone. Waits for at most a quarter of a second, and
     * for the engine as long as the caller may.
     *
     * @return whether any has ended, also when it was somebody else who saw it
     */
    boolean end(Collection<Lease> leases, Caller caller) throws IOException {
        List<Lease> containers = new ArrayList<>();
        for (Lease lease : leases) {
            Evidence.Finding finding = evidence.of(lease);
            if (lease.isOfContainer()) {
                if (isQuiet(lease, finding)) {
                    containers.add(lease);
                }
            } else if (finding instanceof Evidence.Gone(String why)) {
                endNow(lease, why);
            }
        }
        if (!containers.isEmpty()) {
            waitForGrace(containers);
            endContainers(registry.stillLive(containers), caller);
        }
        return registry.stillLive(leases).size() < leases.size();
    }

    /** Ends a lease of which nothing can start again. */
    void endNow(Lease lease, String why) throws IOException {
        synchronized (rules) {
            withdrawRules(lease);
            registry.end(lease, why);
        }
    }

    /**
     * Ends a lease though its holder may live.
     *
     * @return false when it has ended meanwhile
     */
    boolean endByForce(Lease lease, String why) throws IOException {
        synchronized (rules) {
            withdrawRules(lease);
            return registry.endByForce(lease, why);
        }
    }

    /** Not when somebody else has ended it: the rules may be the next holder's by now. */
    private void withdrawRules(Lease lease) throws IOException {
        if (lease.holder() instanceof Holder.MesosContainer container
                && !registry.stillLive(List.of(lease)).isEmpty()) {
            DeviceRules.withdraw(container, lease.claim().gpus());
        }
    }

    /**
     * The cgroups of processes that have ended. One stays as long as a process in it is dead, and
     * its parent does not take notice.
     */
    void removeGroups() throws IOException {
        for (String group : registry.groupsOfEnded()) {
            if (ProcessGroup.remove(group)) {
                registry.groupIsGone(group);
            }
        }
    }

    /** Whether the holder of one of the leases is gone of whose end no engine tells us. */
    boolean isOver(Collection<Lease> leases) {
        return leases.stream()
                .filter(lease -> !lease.isOfContainer())
                .anyMatch(lease -> evidence.of(lease) instanceof Evidence.Gone);
    }

    /** Whether one of the leases looks as if it were about to end, or to begin anew. */
    boolean isSettling(Collection<Lease> leases) {
        return leases.stream()
                .filter(Lease::isOfContainer)
                .anyMatch(lease ->
                        isQuiet(lease, evidence.of(lease)) && quiet(lease).compareTo(SETTLING) < 0);
    }

    /** Whether nothing of the container runs; remembers since when. */
    private boolean isQuiet(Lease lease, Evidence.Finding finding) {
        if (finding instanceof Evidence.Alive) {
            quietSince.remove(lease.claim().id());
            return false;
        }
        quietSince.putIfAbsent(lease.claim().id(), pace.nanos());
        return true;
    }

    private void waitForGrace(List<Lease> leases) {
        Duration longest = Duration.ZERO;
        for (Lease lease : leases) {
            boolean otherBoot = !lease.boot().equals(registry.boot());
            Duration left = otherBoot ? Duration.ZERO : GRACE.minus(quiet(lease));
            longest = left.compareTo(longest) > 0 ? left : longest;
        }
        if (longest.isPositive()) {
            pace.sleep(longest);
        }
    }

    private Duration quiet(Lease lease) {
        long now = pace.nanos();
        return Duration.ofNanos(now - quietSince.getOrDefault(lease.claim().id(), now));
    }

    private void endContainers(List<Lease> leases, Caller caller) throws IOException {
        Map<Lease, Evidence.Finding> findings = new HashMap<>();
        for (Lease lease : leases) {
            Evidence.Finding finding = evidence.of(lease);
            if (isQuiet(lease, finding)) {
                findings.put(lease, finding);
            }
        }
        Map<String, List<ContainerEngine.Listed>> users = users(findings.keySet(), caller);
        for (var entry : findings.entrySet()) {
            Lease lease = entry.getKey();
            Optional<List<ContainerEngine.Listed>> its =
                    Optional.ofNullable(users.get(lease.claim().id()));
            Optional<String> why =
                    switch (entry.getValue()) {
                        case Evidence.Alive _ -> Optional.empty();
                        case Evidence.Gone(String gone) ->
                                isComingBack(lease, its.orElse(List.of()))
                                        ? Optional.empty()
                                        : Optional.of(gone);
                        case Evidence.Unclear _ ->
                                its.isPresent() && caller != Caller.VERB
                                        ? wordOfTheEngine(lease, its.get(), caller)
                                        : Optional.empty();
                    };
            if (why.isPresent() && registry.end(lease, why.get())) {
                LOG.info(
                        "lease {} of claim {} has ended: {}",
                        lease.id(),
                        lease.claim().id(),
                        why.get());
                quietSince.remove(lease.claim().id());
            }
        }
    }

    /**
     * The containers that mount the claims, by claim. One of another engine is left out, and all
     * are when the engine does not answer, as while it starts.
     */
    private Map<String, List<ContainerEngine.Listed>> users(
            Collection<Lease> leases, Caller caller) {
        Map<String, List<ContainerEngine.Listed>> users = new HashMap<>();
        if (leases.isEmpty()) {
            return users;
        }
        try {
            String id = engine.id(caller.limit);
            leases.stream()
                    .map(Lease::claim)
                    .filter(claim -> claim.engine().equals(id))
                    .forEach(claim -> users.put(claim.id(), new ArrayList<>()));
            List<String> volumes = users.keySet().stream().map(ClaimVolumes::name).toList();
            if (!volumes.isEmpty()) {
                for (ContainerEngine.Listed container : engine.using(volumes, caller.limit)) {
                    container.volumes().stream()
                            .flatMap(volume -> ClaimVolumes.claimOf(volume).stream())
                            .filter(users::containsKey)
                            .forEach(claim -> users.get(claim).add(container));
                }
            }
            return users;
        } catch (IOException e) {
            LOG.debug("no list of containers: {}", e.getMessage());
            return Map.of();
        }
    }

    private boolean isComingBack(Lease lease, List<ContainerEngine.Listed> users) {
        boolean slow = quiet(lease).compareTo(SLOW_ENGINE) < 0;
        return lease.boot().equals(registry.boot())
                && users.stream()
                        .anyMatch(container ->
                                container.isRestarting() || container.isActive() && slow);
    }

    /**
     * A container that can be looked into is not just being started. So when it does not run after
     * that, what was mounted for it has no use any more.
     */
    private Optional<String> wordOfTheEngine(
            Lease lease, List<ContainerEngine.Listed> users, Caller caller) throws IOException {
        if (users.stream().anyMatch(user -> mayRun(user.id(), caller))) {
            return Optional.empty();
        }
        boolean stillUnclear =
                registry.liveOf(lease.claim().id())
                        .filter(now -> now.id() == lease.id() && now.mounts() == lease.mounts())
                        .filter(now -> evidence.of(now) instanceof Evidence.Unclear)
                        .isPresent();
        if (!stillUnclear) {
            return Optional.empty();
        }
        return Optional.of(
                users.isEmpty()
                        ? "the engine has no container of it"
                        : "the engine says that its container does not run");
    }

    private boolean mayRun(String container, Caller caller) {
        try {
            return engine.inspect(container, caller.limit)
                    .filter(found -> found.pid() != 0 || found.restarting())
                    .isPresent();
        } catch (IOException e) {
            LOG.debug("container {}: {}", container, e.getMessage());
            return true;
        }
    }
}
