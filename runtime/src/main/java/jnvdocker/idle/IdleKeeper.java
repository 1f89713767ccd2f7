package jnvdocker.idle;

import jnvdocker.core.LeaseParts;
import jnvdocker.holder.Pace;
import jnvdocker.holder.Periodic;
import jnvdocker.holder.PresentGpus;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.nvml.GpuMonitor.Reading;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.IdleStore;
import jnvdocker.registry.LeaseRegistry;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Watches the GPUs that are held, and knows since when each is idle. It has a thread of its own,
 * which spends some percent of its time on that, and none while no GPU is held. What it knows goes
 * to the registry once a minute: the next daemon goes on from there. Where the limits of users want
 * that, it has a holder stopped when none of its GPUs has been used for long.
 */
public final class IdleKeeper implements IdleHolders, AutoCloseable {
    private static final Duration PERIOD = Duration.ofSeconds(5);

    /** The pause after a sample is this many times as long as the sample took. */
    private static final int SCAN_SHARE = 50;

    /**
     * The longest pause, however long a sample takes: half of the time for which a sample counts.
     */
    private static final Duration LONGEST = Stretch.GAP.dividedBy(2);

    private static final Duration BETWEEN_WRITES = Duration.ofMinutes(1);

    private final LeaseRegistry registry;
    private final PresentGpus inventory;
    private final IdleSampler sampler;
    private final Supplier<Optional<Duration>> warn;
    private final Stops stops;
    private final IdleWarning warning;
    private final IdleStops idleStops;
    private final HostClock clock;
    private final Pace pace;
    private final Periodic thread;
    private boolean restored;

    /** How long the last sample took. */
    private Duration cost = Duration.ZERO;

    private final Map<Key, HeldGpu> held = new HashMap<>();
    private final Set<Key> warned = new HashSet<>();

    private final IdleTime time = new IdleTime();
    private Optional<Long> sampled = Optional.empty();
    private long written;
    private volatile List<Watched> watched = List.of();

    /** A GPU under a lease, by its UUID and the lease's number. */
    record Key(long lease, String gpu) {}

    /**
     * A GPU as others may see it.
     *
     * @param isShared whether others hold it, too, who are not of the lease's party
     */
    private record Watched(Gpu gpu, Lease lease, boolean isShared, HeldGpu held) {}

    /** The policy for holders that leave their GPUs idle for long. */
    interface Stops {
        /** Returns how long the GPUs of a user may be idle; empty for ever. */
        Optional<Rule<Duration>> longest(Owner owner);

        /**
         * Has a holder stopped, without waiting for that.
         *
         * @param why for people: {@code its GPUs have been idle for 2h
         *     (limits.@students.idle_stop)}
         */
        void stop(Lease lease, String why);
    }

    IdleKeeper(
            LeaseRegistry registry,
            PresentGpus inventory,
            IdleSampler sampler,
            Supplier<Optional<Duration>> warn,
            Stops stops,
            IdleWarning.Log log,
            HostClock clock,
            Pace pace) {
        this.registry = registry;
        this.inventory = inventory;
        this.sampler = sampler;
        this.warn = warn;
        this.stops = stops;
        this.warning = new IdleWarning(log);
        this.idleStops = new IdleStops(stops, warning);
        this.clock = clock;
        this.pace = pace;
        this.thread =
                new Periodic("idle", this::pause, this::keep)
                        .in(pace)
                        .failing("cannot scan for idle GPUs");
    }

    /**
     * Watches from now on.
     *
     * @param readings what NVML last reported of each GPU, by PCI address
     * @param warn for how long a GPU is idle when that is logged; empty if it never is
     */
    public static IdleKeeper start(
            LeaseParts parts,
            LeaseParts.World world,
            Supplier<Map<String, Reading>> readings,
            Supplier<Optional<Duration>> warn) {
        Stops stops =
                new Stops() {
                    @Override
                    public Optional<Rule<Duration>> longest(Owner owner) {
                        return parts.supply().longestIdle(owner);
                    }

                    @Override
                    public void stop(Lease lease, String why) {
                        parts.stops().stop(lease, why);
                    }
                };
        IdleKeeper keeper =
                new IdleKeeper(
                        parts.registry(),
                        world.inventory(),
                        new IdleSampler(world.uses(), readings, parts.unmanagedScan()::isOf),
                        warn,
                        stops,
                        world.log()::idle,
                        world.clock(),
                        world.pace());
        keeper.thread.start();
        return keeper;
    }

    @Override
    public List<IdleHolder> idle(Duration least) {
        long now = now();
        Instant time = registry.now();
        return watched.stream()
                .flatMap(it -> holder(it, now, time).stream())
                .filter(it -> it.time(time).compareTo(least) >= 0)
                .sorted(
                        Comparator.comparing(IdleHolder::since)
                                .thenComparing(IdleHolder::gpu, Gpu.ORDER))
                .toList();
    }

    private Optional<IdleHolder> holder(Watched gpu, long now, Instant time) {
        HeldGpu held = gpu.held();
        return held.idle(now).stream()
                .findFirst()
                .map(source -> {
                    Stretch stretch = held.stretches().get(source);
                    return new IdleHolder(
                            gpu.gpu(),
                            gpu.lease(),
                            gpu.isShared(),
                            source,
                            time.minusMillis(now - stretch.since()),
                            stretch.atLeast(),
                            stops.longest(gpu.lease().claim().owner()),
                            held.memory(now));
                });
    }

    private long now() {
        return clock.sinceBoot().toMillis();
    }

    private Duration pause() {
        return min(max(cost.multipliedBy(SCAN_SHARE), PERIOD), LONGEST);
    }

    private void keep() throws IOException {
        long begun = pace.nanos();
        try {
            if (!restored) {
                restore();
                restored = true;
            }
            tick();
        } finally {
            cost = Duration.ofNanos(pace.nanos() - begun);
        }
    }

    /** Goes on from what the last daemon of this boot knew. */
    void restore() throws IOException {
        for (IdleStore.Idle idle : registry.idle().idle()) {
            Key key = new Key(idle.lease(), idle.gpu());
            Stretch stretch = new Stretch(true, idle.since(), idle.atLeast(), idle.last());
            HeldGpu gpu = held.getOrDefault(key, HeldGpu.UNKNOWN).with(idle.source(), stretch);
            if (isLong(stretch)) {
                // It was counted when this was written.
                gpu = gpu.countedUntil(idle.last());
            }
            if (warn.get().filter(it -> stretch.time().compareTo(it) >= 0).isPresent()) {
                warned.add(key);
            }
            held.put(key, gpu);
            sampled = Optional.of(Math.max(sampled.orElse(0L), idle.last()));
        }
        written = now();
    }

    private static boolean isLong(Stretch stretch) {
        return stretch.time().compareTo(LEAST) >= 0;
    }

    /** Takes one sample of the held GPUs. */
    void tick() throws IOException {
        Map<String, List<Lease>> leases =
                Holdings.byGpu(registry.live().stream().filter(IdleKeeper::hasStarted).toList());
        held.keySet().removeIf(key -> !isUnder(leases.getOrDefault(key.gpu(), List.of()), key));
        long now = now();
        List<Watched> seen = new ArrayList<>();
        if (!leases.isEmpty()) {
            Map<Gpu, List<Lease>> present = new HashMap<>();
            for (Gpu gpu : inventory.gpus()) {
                Optional.ofNullable(leases.get(gpu.uuid())).ifPresent(it -> present.put(gpu, it));
            }
            sampler.sample(present, PERIOD)
                    .forEach((gpu, samples) -> {
                        for (Lease lease : present.get(gpu)) {
                            seen.add(watch(gpu, lease, present.get(gpu), samples.get(lease), now));
                        }
                    });
        }
        sampled = Optional.of(now);
        watched = List.copyOf(seen);
        warn(seen, now);
        stopIdle(seen, now);
        if (now - written >= BETWEEN_WRITES.toMillis()) {
            write(now);
        }
    }

    private static boolean hasStarted(Lease lease) {
        return !lease.isReservation()
                && (!lease.isOfContainer() || lease.holder().init().isPresent());
    }

    private static boolean isUnder(List<Lease> leases, Key key) {
        return leases.stream().anyMatch(lease -> lease.id() == key.lease());
    }

    /**
     * @param all the leases of the GPU, the oldest first
     */
    private Watched watch(Gpu gpu, Lease lease, List<Lease> all, GpuSample figures, long now) {
        Key key = new Key(lease.id(), gpu.uuid());
        long begin = now - Duration.between(lease.since(), registry.now()).toMillis();
        HeldGpu next = held.computeIfAbsent(key, _ -> begun(begin, now)).after(figures, now);
        Optional<Stretch> idle = next.longest(now).filter(IdleKeeper::isLong);
        if (idle.isPresent()) {
            long from = Math.max(idle.get().since(), next.counted());
            List<Lease> party =
                    all.stream().filter(it -> it.claim().isBeside(lease.claim())).toList();
            // The GPU-hours of a party are those of the oldest of its leases, too.
            if (party.getFirst().id() == lease.id()) {
                time.add(key, begin, from, idle.get().last());
            }
            next = next.countedUntil(idle.get().last());
        }
        held.put(key, next);
        boolean isShared = all.stream().anyMatch(it -> !it.claim().isBeside(lease.claim()));
        return new Watched(gpu, lease, isShared, next);
    }

    /**
     * A GPU that was not under its lease at the last sample has come under it since; not known if
     * that sample is too old.
     */
    private HeldGpu begun(long begin, long now) {
        return sampled.filter(it -> now - it <= Stretch.GAP.toMillis())
                .map(it -> HeldGpu.begun(Math.max(begin, it)))
                .orElse(HeldGpu.UNKNOWN);
    }

    /** Logs once for each time that a GPU is idle for so long. */
    private void warn(List<Watched> seen, long now) {
        Optional<Duration> limit = warn.get();
        Map<Long, List<IdleHolder>> late = new TreeMap<>();
        Set<Key> still = new HashSet<>();
        Instant time = registry.now();
        for (Watched each : seen) {
            Key key = new Key(each.lease().id(), each.gpu().uuid());
            Optional<IdleHolder> idle = holder(each, now, time);
            if (idle.isPresent()
                    && limit.filter(it -> idle.get().time(time).compareTo(it) >= 0).isPresent()) {
                still.add(key);
                if (warned.add(key)) {
                    late.computeIfAbsent(key.lease(), _ -> new ArrayList<>()).add(idle.get());
                }
            }
        }
        warned.retainAll(still);
        late.values().forEach(gpus -> warning.log(gpus, time, ""));
    }

    private void stopIdle(List<Watched> seen, long now) {
        Instant time = registry.now();
        Map<Lease, List<IdleHolder>> idle = new HashMap<>();
        for (Watched each : seen) {
            holder(each, now, time)
                    .ifPresent(it ->
                            idle.computeIfAbsent(each.lease(), _ -> new ArrayList<>()).add(it));
        }
        idleStops.apply(idle, time, now);
    }

    private void write(long now) throws IOException {
        List<IdleStore.Idle> idle = new ArrayList<>();
        held.forEach((key, gpu) ->
                gpu.idle(now)
                        .forEach(source -> {
                            Stretch stretch = gpu.stretches().get(source);
                            idle.add(
                                    new IdleStore.Idle(
                                            key.lease(),
                                            key.gpu(),
                                            source,
                                            stretch.since(),
                                            stretch.atLeast(),
                                            stretch.last()));
                        }));
        registry.idle().write(idle, time.hours());
        time.clear();
        written = now;
    }

    private static Duration max(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    private static Duration min(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    /** Writes down what is known. */
    @Override
    public void close() throws IOException {
        if (thread.end(PERIOD)) {
            write(now());
        }
    }
}
