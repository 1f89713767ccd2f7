package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertFalse;

import jnvdocker.host.Gpu;
import jnvdocker.lease.AfterStop;
import jnvdocker.lease.Booking;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.Connections;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Kept;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.lease.TestingLeases;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The rules of a simulated lab, and its administrator, who changes them. */
final class SimulatedLab {
    /** The uid of the user who may have a limit of its own. */
    static final int LIMITED = SimulatedClients.NOBODYS_UID;

    static final String FILE = "/etc/jnvdocker/config.toml";
    private static final Duration MAX_WAIT = Duration.ofSeconds(15);
    private static final Duration HOLD = Duration.ofSeconds(8);
    private static final BookingRule BOOKINGS =
            new BookingRule(BookingRule.Kind.END, Duration.ofHours(1));
    private static final BookingRule STRICT =
            new BookingRule(BookingRule.Kind.REFUSE, Duration.ofHours(1));
    private static final Owner ROOT = new Owner(0, "root");

    /** Of each GPU, in bytes. */
    static final long MEMORY = 40L << 30;

    /** All but 512 MiB. */
    static final long MOST_SHARED = MEMORY - (512L << 20);

    private final SimulatedWorld world;
    final SimulatedLimits limits;

    /** The GPUs cordoned by command. Empty when only the registry can know. */
    private Optional<Set<String>> cordoned = Optional.of(new HashSet<>());

    /** The bookings, and those that are over. Empty when only the registry can know. */
    private Optional<List<Booked>> booked = Optional.of(new ArrayList<>());

    private LeasePolicy policy = TestingLeases.POLICY;
    private OptionalInt quota = OptionalInt.empty();
    private OptionalInt ownQuota = OptionalInt.empty();
    private boolean prefers = true;

    SimulatedLab(SimulatedWorld world) {
        this.world = world;
        limits = new SimulatedLimits(world);
        policy = withLimits(List.of(), Optional.empty(), BOOKINGS);
    }

    LeasePolicy policy() {
        return policy;
    }

    /** How many GPUs a user may have; the limits of users are not for pods. */
    int quota(Owner owner) {
        if (owner.isKubernetes()) {
            return Integer.MAX_VALUE;
        }
        boolean own = ownQuota.isPresent() && owner.uid() == LIMITED;
        return (own ? ownQuota : quota).orElse(Integer.MAX_VALUE);
    }

    /** How long a client may wait. */
    Optional<Duration> maxWait() {
        return policy.limits().waits().stream().map(Rule::limit).findFirst();
    }

    boolean isCordoned(String gpu) {
        return policy.cordon().contains(gpu) || isCordonedByCommand(gpu);
    }

    boolean isCordonedByCommand(String gpu) {
        return cordoned().contains(gpu);
    }

    private Set<String> cordoned() {
        if (cordoned.isEmpty()) {
            try {
                cordoned =
                        Optional.of(
                                new HashSet<>(
                                        world.daemon
                                                .parts()
                                                .registry()
                                                .holdings()
                                                .cordoned()
                                                .keySet()));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        return cordoned.get();
    }

    /**
     * Whether a GPU that nobody holds is kept for another user.
     *
     * @param wanted how long the request says that it needs the GPU
     */
    boolean isKeptFrom(Owner owner, String gpu, Optional<Duration> wanted) {
        return isKeptFrom(owner, gpu, wanted, setAside(gpu));
    }

    /**
     * The same for a GPU of which it was known why it was kept before it was given to anybody.
     *
     * @param aside what {@link #setAside} was
     */
    boolean isKeptFrom(Owner owner, String gpu, Optional<Duration> wanted, Optional<Kept> aside) {
        Optional<Instant> end = limits.time(owner, wanted).map(now()::plus);
        return aside.filter(it -> it.owner().uid() != owner.uid()).isPresent()
                || barredLater(gpu)
                        .filter(it -> end.filter(at -> !at.isAfter(it.from())).isEmpty())
                        .anyMatch(it -> it.owner().uid() != owner.uid());
    }

    /** The bookings that bar a GPU for requests that do not say how long they need it. */
    Stream<Booking> barredLater(String gpu) {
        Instant now = now();
        return policy.bookings().kind() == BookingRule.Kind.REFUSE
                ? bookings(gpu).map(Booked::booking).filter(it -> it.until().isAfter(now))
                : Stream.of();
    }

    /** The GPUs that a user may have, whoever has them now. */
    List<Gpu> allowed(Owner owner, List<Gpu> gpus) {
        return gpus.stream().filter(gpu -> limits.allows(owner, gpu.uuid())).toList();
    }

    /** Sets the limits other than numbers of GPUs, and restarts the daemon to read them. */
    boolean limit(SimulatedLimits.Wish wish) throws IOException {
        limits.set(wish);
        policy = withLimits(policy.limits().gpus(), policy.holdAfterStop());
        world.daemonSteps.kill();
        return world.daemonSteps.start();
    }

    private Instant now() {
        return world.daemon.parts().registry().now();
    }

    /**
     * Why a GPU that nobody holds is kept: it is booked, or the registry, which alone knows which
     * container was the last, keeps it for the owner of that.
     */
    Optional<Kept> setAside(String gpu) {
        try {
            Holdings holdings = world.daemon.parts().registry().holdings();
            AfterStop stopped = world.daemon.parts().supply().afterStop(holdings).get(gpu);
            return bookings(gpu)
                    .map(Booked::booking)
                    .filter(booking -> booking.isNow(holdings.now()))
                    .map(Kept.class::cast)
                    .findFirst()
                    .or(() -> Optional.ofNullable(stopped));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Whether the GPUs of a lease that has ended may be kept for the next start. */
    static boolean keepsItsGpus(Lease ended) {
        return ended.holder().stage() == Holder.Stage.HELD
                && !ended.claim().origin().isScheduled()
                && ended.claim().share().isEmpty()
                && !ended.end().orElseThrow().evidence().contains("force");
    }

    /**
     * A booking that was made.
     *
     * @param after the number of the last live lease then
     */
    record Booked(Booking booking, long after) {}

    /** The bookings of a GPU, and those that are over. */
    Stream<Booked> bookings(String gpu) {
        return booked().stream().filter(it -> it.booking().gpus().contains(gpu));
    }

    private List<Booked> booked() {
        if (booked.isEmpty()) {
            try {
                long last = lastLease();
                booked =
                        Optional.of(
                                new ArrayList<>(
                                        world.daemon.parts().registry().holdings().booked().stream()
                                                .map(it -> new Booked(it, last))
                                                .toList()));
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        return booked.get();
    }

    private long lastLease() throws IOException {
        return world.daemon.parts().registry().live().stream().mapToLong(Lease::id).max().orElse(0);
    }

    /** Books GPUs that nobody has booked for a part of that time. */
    boolean book(int count, Owner owner, Duration ahead, Duration time) throws IOException {
        if (!world.daemon.isUp()) {
            return false;
        }
        return world.daemon.perform(
                "book",
                () -> {
                    Instant from = now().plus(ahead);
                    try {
                        Booking made =
                                world.daemon
                                        .parts()
                                        .leases()
                                        .bookings()
                                        .book(new GpuRequest.Count(count), owner, from, time, true)
                                        .booking();
                        // It is there already when only the registry could know. Those that are
                        // over are deleted, and do not come back with the clock.
                        Instant now = now();
                        booked().removeIf(it -> it.booking().id() == made.id());
                        booked().removeIf(it -> !it.booking().until().isAfter(now));
                        boolean twice =
                                booked().stream()
                                        .map(Booked::booking)
                                        .filter(it -> it.overlaps(made.from(), made.until()))
                                        .anyMatch(it ->
                                                !Collections.disjoint(it.gpus(), made.gpus()));
                        assertFalse(twice, () -> made + " is booked already: " + booked());
                        booked().add(new Booked(made, lastLease()));
                    } catch (RefusedException e) {
                        // Too few can be booked for that time, or the user may not have as many.
                    }
                });
    }

    /** Cancels a booking. */
    boolean unbook(int index) throws IOException {
        if (!world.daemon.isUp() || booked().isEmpty()) {
            return false;
        }
        Booked which = booked().get(index % booked().size());
        return world.daemon.perform(
                "unbook",
                () -> {
                    world.daemon.parts().leases().bookings().cancel(which.booking());
                    booked().remove(which);
                });
    }

    /** The registry is lost. */
    void forget() {
        cordoned = Optional.of(new HashSet<>());
        booked = Optional.of(new ArrayList<>());
    }

    /** The registry may have fallen back to an earlier state. */
    void readNames() {
        cordoned = Optional.empty();
        booked = Optional.empty();
    }

    /** How many GPUs a user holds: of a party one, of shares as many as they are of the memory. */
    double heldBy(Owner owner, Map<String, List<Lease>> held) {
        return held.entrySet().stream()
                .mapToDouble(gpu ->
                        gpu.getValue().stream()
                                .filter(it -> it.claim().owner().uid() == owner.uid())
                                .mapToDouble(it -> part(it.claim().share()))
                                .reduce(0, (one, other) -> Math.min(1, one + other)))
                .sum();
    }

    /** As how many GPUs one counts. */
    static double part(Optional<MemorySize> share) {
        return share.map(amount -> (double) amount.bytes() / MEMORY).orElse(1.0);
    }

    /** How much memory of each GPU is requested, if not all of it. */
    static Optional<MemorySize> share(GpuRequest request) {
        return request instanceof GpuRequest.Count(_, GpuFilter filter)
                ? filter.share()
                : Optional.empty();
    }

    /** The driver's report of the memory of each GPU. */
    GpuTraits traits() {
        return new GpuTraits(
                Connections.UNKNOWN,
                world.gpus.all().stream().collect(Collectors.toMap(gpu -> gpu, _ -> MEMORY)));
    }

    /** The GPUs that may be shared: all but the first. */
    List<String> shareable() {
        return world.gpus.all().stream().skip(1).toList();
    }

    /**
     * Whether a GPU with these leases could have one more.
     *
     * @param share how much of it that needs; empty for all
     */
    boolean hasRoom(String gpu, List<Lease> leases, Optional<MemorySize> share) {
        if (share.isEmpty() || leases.stream().anyMatch(it -> it.claim().share().isEmpty())) {
            return leases.isEmpty();
        }
        long promised =
                leases.stream().mapToLong(it -> it.claim().share().orElseThrow().bytes()).sum();
        return shareable().contains(gpu) && promised + share.get().bytes() <= MOST_SHARED;
    }

    double counted(GpuRequest request, List<Gpu> gpus) {
        return number(request, gpus) * part(share(request));
    }

    private int number(GpuRequest request, List<Gpu> gpus) {
        return switch (request) {
            case GpuRequest.None _, GpuRequest.With _ -> 0;
            case GpuRequest.All _ ->
                    (int) gpus.stream().filter(gpu -> !isCordoned(gpu.uuid())).count();
            case GpuRequest.Count(int count, _) -> count;
            case GpuRequest.Devices(List<String> ids) -> ids.size();
        };
    }

    /** The UUIDs of the GPUs that must not be given to others, so that a request is served. */
    Set<String> wanted(GpuRequest request, List<Gpu> gpus) {
        if (request instanceof GpuRequest.With) {
            return new HashSet<>();
        }
        if (share(request).isPresent()) {
            List<String> shareable = shareable();
            return gpus.stream()
                    .map(Gpu::uuid)
                    .filter(shareable::contains)
                    .collect(Collectors.toSet());
        }
        if (!(request instanceof GpuRequest.Devices(List<String> ids))) {
            return gpus.stream().map(Gpu::uuid).collect(Collectors.toSet());
        }
        Set<String> wanted =
                gpus.stream()
                        .filter(gpu -> ids.contains("" + gpu.index()) || ids.contains(gpu.uuid()))
                        .map(Gpu::uuid)
                        .collect(Collectors.toSet());
        return wanted.size() == ids.size() ? wanted : new HashSet<>();
    }

    /**
     * The content of the configuration file.
     *
     * @param quota of each user; none when 0
     * @param own that of one user, which comes first; none when 0
     * @param cordon which GPU; none when there are fewer
     * @param holdsAfterStop whether GPUs are kept for the owners of stopped containers
     * @param isStrict whether nobody gets a GPU that is booked for later
     * @param prefers whether one user comes before all others in the queue
     */
    record Wish(
            int quota,
            int own,
            int cordon,
            boolean limitsWait,
            boolean allowUnmanaged,
            boolean holdsAfterStop,
            boolean isStrict,
            boolean prefers) {}

    /** Changes the file, and restarts the daemon to read it. */
    boolean configure(Wish wish) throws IOException {
        List<String> all = world.gpus.all();
        quota = wish.quota() == 0 ? OptionalInt.empty() : OptionalInt.of(wish.quota());
        ownQuota = wish.own() == 0 ? OptionalInt.empty() : OptionalInt.of(wish.own());
        policy =
                TestingLeases.policy(
                        quota,
                        wish.limitsWait() ? Optional.of(MAX_WAIT) : Optional.empty(),
                        wish.cordon() < all.size() ? List.of(all.get(wish.cordon())) : List.of(),
                        wish.allowUnmanaged());
        prefers = wish.prefers();
        List<Rule<Integer>> gpus = new ArrayList<>();
        ownQuota.ifPresent(it ->
                gpus.add(
                        new Rule<>(
                                Subject.parse("" + LIMITED),
                                it,
                                "limits." + LIMITED + ".gpus",
                                FILE)));
        gpus.addAll(policy.limits().gpus());
        policy =
                withLimits(
                        gpus,
                        wish.holdsAfterStop() ? Optional.of(HOLD) : Optional.empty(),
                        wish.isStrict() ? STRICT : BOOKINGS);
        world.daemonSteps.kill();
        return world.daemonSteps.start();
    }

    /** Writes the configuration with a limit for each namespace. */
    void namespaces(OptionalInt most) {
        Limits limits = policy.limits();
        List<Rule<Integer>> gpus = new ArrayList<>(limits.gpus());
        gpus.removeIf(rule -> rule.subject().equals(Subject.NAMESPACES));
        most.ifPresent(
                it -> gpus.add(new Rule<>(Subject.NAMESPACES, it, "max_gpus_per_namespace", FILE)));
        policy = withLimits(gpus, policy.holdAfterStop());
    }

    private LeasePolicy withLimits(List<Rule<Integer>> gpus, Optional<Duration> hold) {
        return withLimits(gpus, hold, policy.bookings());
    }

    private LeasePolicy withLimits(
            List<Rule<Integer>> gpus, Optional<Duration> hold, BookingRule bookings) {
        List<Rule<Duration>> wait = policy.limits().waits();
        Limits own =
                new Limits(
                        gpus,
                        List.of(),
                        List.of(),
                        List.of(),
                        wait,
                        List.of(),
                        List.of(),
                        priority());
        return new LeasePolicy(
                limits.with(own, policy),
                policy.maxWaitsPerUser(),
                policy.cordon(),
                shareable(),
                policy.allowUnmanaged(),
                hold,
                bookings);
    }

    private List<Rule<Integer>> priority() {
        return prefers
                ? List.of(new Rule<>(Subject.parse("" + LIMITED), 1, "limits." + LIMITED, FILE))
                : List.of();
    }

    /** The priority of a user's requests. */
    int rank(Owner owner) {
        return prefers && owner.uid() == LIMITED ? 1 : 0;
    }

    boolean cordon(int index) throws IOException {
        List<Gpu> gpus = world.gpus();
        if (!world.daemon.isUp() || gpus.isEmpty()) {
            return false;
        }
        Gpu gpu = gpus.get(index % gpus.size());
        return world.daemon.perform(
                "cordon",
                () -> {
                    world.daemon.parts().leases().cordons().add(List.of(gpu), ROOT, "fan");
                    cordoned().add(gpu.uuid());
                });
    }

    boolean uncordon(int index) throws IOException {
        List<Gpu> gpus = world.gpus();
        if (!world.daemon.isUp() || gpus.isEmpty()) {
            return false;
        }
        Gpu gpu = gpus.get(index % gpus.size());
        return world.daemon.perform(
                "uncordon",
                () -> {
                    world.daemon.parts().leases().cordons().remove(List.of(gpu));
                    cordoned().remove(gpu.uuid());
                });
    }

    /** Lifts every cordon by command. */
    void uncordon() throws IOException {
        for (int i = 0; i < world.gpus().size(); i++) {
            uncordon(i);
        }
    }

    private void cancelBookings() throws IOException {
        while (unbook(0)) {
            // Until there is none.
        }
    }

    /** Lifts every cordon and all limits but numbers of GPUs, and cancels what is booked. */
    void liftCordons() throws IOException {
        limits.set(SimulatedLimits.Wish.NONE);
        policy =
                new LeasePolicy(
                        limits.with(policy.limits(), policy),
                        policy.maxWaitsPerUser(),
                        List.of(),
                        policy.shareable(),
                        policy.allowUnmanaged(),
                        policy.holdAfterStop(),
                        policy.bookings());
        world.daemonSteps.kill();
        world.daemonSteps.start();
        uncordon();
        cancelBookings();
    }

    /** Lifts every restriction. */
    void allowAll() throws IOException {
        limits.set(SimulatedLimits.Wish.NONE);
        configure(new Wish(0, 0, world.gpus.all().size(), false, false, false, false, false));
        uncordon();
        cancelBookings();
    }
}
