package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimNames;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.Ticket;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * The conditions that a lease must meet at the moment when it begins. Clients and uses that have
 * come while the request was decided may have been missed: only those that were there before and
 * still are count.
 */
final class GrantCheck {
    /** How many claims of all worlds were given what another had. */
    static int besides;

    /** How many claims of all worlds were given a share of a GPU that another has a share of. */
    static int shared;

    /**
     * The time in which clients that waited for an earlier daemon keep their places without a
     * request again.
     */
    private static final Duration RETURN = Duration.ofSeconds(15);

    /** The time in which a scan at the reservation is as good as one at the mount. */
    private static final Duration SCAN_COUNTS = Duration.ofSeconds(1);

    private final SimulatedWorld world;

    GrantCheck(SimulatedWorld world) {
        this.world = world;
    }

    /**
     * The state when a client began its request.
     *
     * @param unmanaged processes known to use GPUs
     * @param used the GPUs that may have been seen in use without a lease
     * @param leases by the UUIDs of GPUs
     * @param at by the registry's clock
     * @param held numbers of leases of containers
     * @param reserved numbers of leases of clients
     * @param aside why GPUs that nobody holds are kept, by UUID
     * @param cordoned the UUIDs of the GPUs that are cordoned
     * @param clockSet how often the clock had been set
     * @param steady for how long it had not been set
     */
    record Before(
            List<Ticket> queue,
            List<Gpu> gpus,
            Set<SimulatedUses.Use> unmanaged,
            Set<String> used,
            Map<String, List<Lease>> leases,
            List<Lease> all,
            Instant at,
            Set<Long> held,
            Set<Long> reserved,
            Map<String, Kept> aside,
            Set<String> cordoned,
            int clockSet,
            Duration steady) {}

    Before before() throws IOException {
        return before(world.uses.seen());
    }

    private Before before(Set<SimulatedUses.Use> unmanagedScan) throws IOException {
        Set<Long> held = new HashSet<>();
        Set<Long> reserved = new HashSet<>();
        for (Lease lease : registry().live()) {
            (lease.isReservation() ? reserved : held).add(lease.id());
        }
        Map<String, Kept> aside = new HashMap<>();
        for (Gpu gpu : world.gpus()) {
            world.lab.setAside(gpu.uuid()).ifPresent(why -> aside.put(gpu.uuid(), why));
        }
        return new Before(
                queue(),
                world.gpus(),
                unmanagedScan,
                world.uses.used(),
                registry().holdings().held(),
                registry().live(),
                registry().now(),
                held,
                reserved,
                aside,
                cordoned(world.gpus()),
                world.machine.clockSet(),
                world.machine.sinceClockSet());
    }

    /** Whether nothing has come free since that was kept then: a request takes its time. */
    boolean isStillKept(Before before) {
        return before.aside().keySet().stream()
                .allMatch(gpu -> world.lab.setAside(gpu).isPresent());
    }

    private Set<String> cordoned(List<Gpu> gpus) {
        return gpus.stream()
                .map(Gpu::uuid)
                .filter(world.lab::isCordoned)
                .collect(Collectors.toSet());
    }

    /** When docker mounts, the engine is not queried. */
    Before beforeMount() throws IOException {
        return before(world.uses.known());
    }

    private LeaseRegistry registry() {
        return world.daemon.parts().registry();
    }

    /** The clients that live and wait, or may come back to do so. */
    private List<Ticket> queue() throws IOException {
        boolean young = world.daemon.age().compareTo(RETURN) < 0;
        return registry().tickets().stream()
                .filter(it -> world.machine.lives(it.request().client()))
                .filter(it ->
                        young
                                || it.request().origin() instanceof Origin.Pod
                                || world.waiters.isWaiting(it.request().client()))
                .filter(it -> !world.waiters.isOverdue(it.request().client()))
                .filter(it -> !world.waiters.isUntold(it.request().client()))
                .toList();
    }

    /** A client was given GPUs, with or without waiting. */
    void claimed(Request request, Claim claim, Before before) throws IOException {
        boolean hadIt =
                registry()
                        .liveOf(claim.id())
                        .map(Lease::id)
                        .filter(before.reserved()::contains)
                        .isPresent();
        if (hadIt) {
            // The client sends its request again, since it never got the answer.
            return;
        }
        world.given(claim);
        asRequested(request, claim, before);
        Set<String> gpus = uuids(claim);
        Map<String, List<Lease>> held = registry().holdings().held();
        inTurn(request, claim, before, held);
        if (!isNamed(request) || !world.lab.policy().allowUnmanaged()) {
            noUnmanagedUse(gpus, before, world.uses.seen());
        }
        beside(request, claim, held);
        notKeptForAnother(claim);
        lastsNoLonger(request, claim);
        if (!(request.requested().request() instanceof GpuRequest.With)) {
            notSpent(claim, before);
        }
    }

    /**
     * A claim has as many GPUs as were requested, of those that were meant, and as much of each.
     * Those of another holder are compared with that holder's.
     */
    private void asRequested(Request request, Claim claim, Before before) {
        if (request.requested().request() instanceof GpuRequest.With) {
            return;
        }
        assertEquals(
                SimulatedLab.share(request.requested().request()),
                claim.share(),
                () -> request + " was given " + claim);
        Set<String> gpus = uuids(claim);
        List<Gpu> now = world.gpus();
        Set<String> then = meant(request, before.gpus(), before.cordoned());
        Set<String> still = meant(request, now, cordoned(now));
        boolean asMeant =
                switch (request.requested().request()) {
                    case GpuRequest.None _, GpuRequest.With _ -> false;
                    case GpuRequest.Count(int count, _) ->
                            gpus.size() == count
                                    && (then.containsAll(gpus) || still.containsAll(gpus));
                    case GpuRequest.All _, GpuRequest.Devices _ ->
                            gpus.equals(then) || gpus.equals(still);
                };
        assertTrue(asMeant, () -> request + " was given " + claim + ", and not of " + still);
        assertEquals(gpus.size(), claim.gpus().size(), () -> "a GPU twice: " + claim);
    }

    /** The UUIDs of the GPUs that a request may mean. */
    private Set<String> meant(Request request, List<Gpu> gpus, Set<String> cordoned) {
        Set<String> meant =
                world.lab.wanted(
                        request.requested().request(),
                        world.lab.allowed(request.requested().owner(), gpus));
        meant.removeAll(cordoned);
        return meant;
    }

    /** A lease lasts as long as its user wants and may, unless others have booked its GPUs. */
    private void lastsNoLonger(Request request, Claim claim) throws IOException {
        Optional<Duration> longest = world.lab.limits.time(request.requested().time());
        Optional<Lease> live = registry().liveOf(claim.id());
        if (live.isEmpty()) {
            return;
        }
        Lease lease = live.get();
        assertTrue(
                world.lab.limits.allows(request.requested().time()),
                () -> lease + " wants too much time");
        boolean free =
                request.requested().request() instanceof GpuRequest.With
                        || claim.gpus().stream()
                                .flatMap(gpu -> world.lab.bookings(gpu.uuid()))
                                .anyMatch(it -> it.booking().owner().uid() != claim.owner().uid());
        assertTrue(
                free
                        ? longest.isEmpty()
                                || lease.time()
                                        .filter(time -> time.compareTo(longest.get()) <= 0)
                                        .isPresent()
                        : lease.time().equals(longest),
                () -> lease + " is to last " + lease.time() + ", and not " + longest);
    }

    /** The user's GPU-hours were not used up when the request came. */
    private void notSpent(Claim claim, Before before) throws IOException {
        Instant at = before.at();
        assertTrue(
                world.machine.clockSet() != before.clockSet()
                        || before.steady().compareTo(SimulatedLimits.KNOWN) < 0
                        || !world.lab.limits.wasSpent(claim.owner(), at),
                () -> claim + " was given though the GPU-hours were used up");
    }

    /** Whoever names the GPUs, or their holder, may take them from unmanaged uses. */
    private static boolean isNamed(Request request) {
        return request.requested().request() instanceof GpuRequest.Devices
                || request.requested().request() instanceof GpuRequest.With;
    }

    /** What the user has already counts for no limit. */
    private void beside(Request request, Claim claim, Map<String, List<Lease>> held) {
        if (request.requested().request() instanceof GpuRequest.With) {
            assertTrue(world.wasGivenBefore(claim), () -> claim + " is beside nobody");
            besides++;
        } else {
            allowed(claim, held);
        }
        if (claim.share().isPresent()
                && claim.gpus().stream().anyMatch(gpu -> held.get(gpu.uuid()).size() > 1)) {
            shared++;
        }
    }

    /** A container was given GPUs by our OCI runtime, which does not query the engine. */
    void created(Request request, Claim claim, Before before) throws IOException {
        Map<String, List<Lease>> held = registry().holdings().held();
        world.given(claim);
        List<Claim> its =
                before.all().stream()
                        .map(Lease::claim)
                        .filter(it -> it.container().equals(claim.container()))
                        .toList();
        boolean again = its.stream().anyMatch(it -> uuids(it).containsAll(uuids(claim)));
        if (!again) {
            inTurn(request, claim, before, held);
        }
        if (!isNamed(request) || !world.lab.policy().allowUnmanaged()) {
            noUnmanagedUse(uuids(claim), before, world.uses.known());
        }
        // A container that is started again keeps its GPUs, whatever the rules have become.
        if (!again) {
            asRequested(request, claim, before);
            beside(request, claim, held);
            notKeptForAnother(claim);
            if (its.isEmpty()) {
                // Of a container that had GPUs the time goes on.
                lastsNoLonger(request, claim);
            }
            if (!(request.requested().request() instanceof GpuRequest.With)) {
                notSpent(claim, before);
            }
        }
    }

    /** No GPU is another's by a booking, and the lease ends before it becomes that. */
    private void notBookedForAnother(Claim claim) throws IOException {
        Holdings holdings = registry().holdings();
        for (Lease lease : registry().liveOf(claim.id()).stream().toList()) {
            for (ClaimedGpu gpu : claim.gpus()) {
                world.lab
                        .bookings(gpu.uuid())
                        .filter(it -> it.after() < lease.id())
                        .map(SimulatedLab.Booked::booking)
                        .filter(it -> it.owner().uid() != claim.owner().uid())
                        .filter(it -> it.until().isAfter(holdings.now()))
                        .forEach(it ->
                                assertTrue(
                                        lease.due()
                                                .filter(due -> !due.isAfter(it.from()))
                                                .isPresent(),
                                        () -> lease + " is of a GPU of " + it));
            }
        }
    }

    private boolean isBookedFor(Claim claim, ClaimedGpu gpu, Instant now) {
        return world.lab
                .bookings(gpu.uuid())
                .map(SimulatedLab.Booked::booking)
                .anyMatch(it -> it.isNow(now) && it.owner().uid() == claim.owner().uid());
    }

    /**
     * The last container on these GPUs was of the same user, or has stopped long enough ago. With
     * limits, it depends on what the user had then, too.
     */
    private void notKeptForAnother(Claim claim) throws IOException {
        notBookedForAnother(claim);
        Optional<Duration> hold = world.lab.policy().holdAfterStop();
        if (hold.isEmpty()) {
            return;
        }
        Instant now = registry().holdings().now();
        for (ClaimedGpu gpu : claim.gpus()) {
            for (Lease last : registry().history().pastOf(gpu.uuid(), 1)) {
                boolean kept =
                        SimulatedLab.keepsItsGpus(last)
                                && now.isBefore(last.end().orElseThrow().at().plus(hold.get()));
                assertTrue(
                        !kept
                                || last.claim().owner().uid() == claim.owner().uid()
                                || !world.lab.policy().limits().equals(Limits.NONE)
                                || isBookedFor(claim, gpu, now),
                        () -> claim + " has a GPU that is kept after " + last);
            }
        }
    }

    /** No waiting client has a better right to these GPUs. */
    private void inTurn(Request request, Claim claim, Before before, Map<String, List<Lease>> held)
            throws IOException {
        Set<String> gpus = uuids(claim);
        List<Ticket> earlier = earlier(request, before, held);
        Set<String> kept =
                new ModelQueue(
                                world.lab,
                                before.gpus(),
                                before.leases(),
                                before.used(),
                                world.lab.limits::mayBeSpent,
                                gpu -> Optional.ofNullable(before.aside().get(gpu)))
                        .kept(earlier, gpu -> !gpus.contains(gpu));
        Set<String> keptNow =
                new ModelQueue(
                                world.lab,
                                world.gpus(),
                                until(claim, held),
                                world.uses.used(),
                                world.lab.limits::mayBeSpent,
                                world.lab::setAside)
                        .kept(earlier, gpu -> !gpus.contains(gpu));
        kept.retainAll(keptNow);
        kept.retainAll(gpus);
        assertTrue(
                kept.isEmpty(),
                () -> request.client() + " was given " + kept + ", kept for one of " + earlier);
    }

    /** The leases held when a claim was given its GPUs: they are numbered in their order. */
    private static Map<String, List<Lease>> until(Claim claim, Map<String, List<Lease>> held) {
        List<Lease> all = held.values().stream().flatMap(List::stream).distinct().toList();
        long own =
                all.stream()
                        .filter(lease -> lease.claim().id().equals(claim.id()))
                        .mapToLong(Lease::id)
                        .findFirst()
                        .orElse(Long.MAX_VALUE);
        return Holdings.byGpu(all.stream().filter(lease -> lease.id() < own).toList());
    }

    /** The clients before one in the queue that have been given nothing either. */
    private List<Ticket> earlier(Request request, Before before, Map<String, List<Lease>> held)
            throws IOException {
        ProcessId client = request.client();
        Optional<Long> own =
                world.waiters
                        .place(client)
                        .or(() ->
                                before.queue().stream()
                                        .filter(it -> it.request().client().equals(client))
                                        .map(Ticket::id)
                                        .findFirst());
        int rank = world.lab.rank(request.requested().owner());
        Predicate<Ticket> isBefore =
                it ->
                        it.priority() > rank
                                || it.priority() == rank && (own.isEmpty() || it.id() < own.get());
        List<Long> still =
                queue().stream()
                        .filter(ticket ->
                                held.values().stream()
                                        .flatMap(List::stream)
                                        .noneMatch(lease ->
                                                lease.isReservation()
                                                        && lease.holder()
                                                                .process()
                                                                .equals(ticket.request().client())))
                        .filter(isBefore)
                        .map(Ticket::id)
                        .toList();
        return before.queue().stream()
                .filter(isBefore)
                .filter(it -> still.contains(it.id()))
                .sorted(Ticket.ORDER)
                .toList();
    }

    /** Docker has mounted a claim. */
    void mounted(String id, Before before) throws IOException {
        Optional<Lease> live = registry().liveOf(id);
        if (live.isEmpty()) {
            assertTrue(isGuest(id), "a claim is mounted without a lease: " + id);
            return;
        }
        Lease lease = live.get();
        if (before.held().contains(lease.id()) || isAgain(lease, before) || runs(id)) {
            return;
        }
        if (!world.lab.policy().allowUnmanaged() && !wasJustReserved(lease, before)) {
            noUnmanagedUse(uuids(lease.claim()), before, world.uses.known());
        }
        if (!before.reserved().contains(lease.id())) {
            notKeptForAnother(lease.claim());
            allowed(lease.claim(), registry().holdings().held());
            notSpent(lease.claim(), before);
            assertTrue(
                    world.lab.limits.time(lease.time()).equals(lease.time()),
                    () -> lease + " may last too long");
        }
    }

    /** Whether what docker starts has the volumes of a container that neither runs nor starts. */
    private boolean isGuest(String id) {
        List<SimulatedContainer> users =
                world.engine().containers.stream()
                        .filter(it -> it.settings.volume().filter(its -> isOf(id, its)).isPresent())
                        .toList();
        return users.size() > 1
                && users.stream()
                        .filter(it -> isLabelled(id, it))
                        .noneMatch(it -> it.isRunning() || it.isLocked());
    }

    private static boolean isOf(String id, String volume) {
        return ClaimNames.ofVolume(volume).filter(key -> key.id().equals(id)).isPresent();
    }

    private static boolean isLabelled(String id, SimulatedContainer container) {
        return ClaimNames.ofLabel(container.settings.labels())
                .filter(key -> key.id().equals(id))
                .isPresent();
    }

    /** Whether the scan for uses was at the reservation: later uses may have been missed. */
    private boolean wasJustReserved(Lease lease, Before before) {
        Duration age = Duration.between(lease.since(), before.at());
        return before.reserved().contains(lease.id()) && age.compareTo(SCAN_COUNTS) < 0;
    }

    /** Whether the claim's container lives: it uses its GPUs, and was recognized again. */
    private boolean runs(String claim) {
        return world.allContainers().stream()
                .anyMatch(it ->
                        it.claim().filter(claim::equals).isPresent() && it.lives(world.machine));
    }

    /** Whether an earlier lease of its container ended at the same moment. */
    private boolean isAgain(Lease lease, Before before) throws IOException {
        return registry().history().past(Long.MAX_VALUE, 1000).stream()
                .filter(it -> it.claim().id().equals(lease.claim().id()))
                .filter(it -> before.held().contains(it.id()))
                .anyMatch(it -> it.end().orElseThrow().at().equals(latest(it, lease)));
    }

    /** The clock may have been set back since. */
    private static Instant latest(Lease one, Lease other) {
        return one.since().isAfter(other.since()) ? one.since() : other.since();
    }

    private void noUnmanagedUse(Set<String> gpus, Before before, Set<SimulatedUses.Use> now) {
        for (SimulatedUses.Use use : now) {
            assertTrue(
                    !before.unmanaged().contains(use) || !gpus.contains(use.gpu()),
                    () -> "a lease of " + gpus + " has begun though " + use);
        }
    }

    private void allowed(Claim claim, Map<String, List<Lease>> held) {
        double has = world.lab.heldBy(claim.owner(), held);
        assertTrue(
                has <= 0.001 + world.lab.quota(claim.owner()),
                () -> claim + " gives more than " + world.lab.quota(claim.owner()));
        for (ClaimedGpu gpu : claim.gpus()) {
            assertTrue(
                    !world.lab.isCordoned(gpu.uuid()), () -> claim + " is of one that is cordoned");
            assertTrue(
                    world.lab.limits.allows(claim.owner(), gpu.uuid()),
                    () -> claim + " is of one that is not allowed");
        }
    }

    static Set<String> uuids(Claim claim) {
        Set<String> uuids = new HashSet<>();
        claim.gpus().forEach(gpu -> uuids.add(gpu.uuid()));
        return uuids;
    }
}
