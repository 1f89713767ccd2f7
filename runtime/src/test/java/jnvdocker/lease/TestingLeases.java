package jnvdocker.lease;

import jnvdocker.host.Gpu;
import jnvdocker.host.Part;
import jnvdocker.posix.ProcessId;
import jnvdocker.registry.Ground;
import jnvdocker.registry.HostClock;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.registry.SeenEnd;
import jnvdocker.request.GpuRequest;
import jnvdocker.use.GpuAccess;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.use.RunningContainer;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** GPUs, claims and leases as the tests of this package need them. */
public final class TestingLeases {
    public static final Gpu A = gpu(0, "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901", 3);
    public static final Gpu B = gpu(1, "GPU-5c1a2006-1d2c-4e5f-8a9b-012345678902", 0);
    public static final Gpu C = gpu(2, "GPU-77777777-1d2c-4e5f-8a9b-012345678903", 1);
    public static final Gpu D = gpu(3, "GPU-88888888-1d2c-4e5f-8a9b-012345678904", 2);

    public static final Owner ALICE = new Owner(1001, "alice");
    public static final Owner BOB = new Owner(1002, "bob");

    /** A container of an engine that no test queries. */
    public static final Origin CUDA = new Origin.EngineContainer("engine", Optional.of("cuda"));

    public static final ProcessId CLIENT = new ProcessId(4711, 100);
    public static final ProcessId DOCKERD = new ProcessId(800, 20);

    /**
     * A time long ago, so that messages show the day; {@code 2024-01-02 09:12} in every time zone.
     */
    public static final Instant THEN = time(9, 12);

    /** For the keys of claims. */
    public static final RandomGenerator RANDOM = new Random();

    /** Nothing uses a GPU. */
    public static final GpuUses NO_USES =
            new GpuUses() {
                @Override
                public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
                    return List.of();
                }

                @Override
                public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
                    return List.of();
                }
            };

    private TestingLeases() {}

    public static Gpu gpu(int index, String uuid, int minor) {
        return new Gpu(index, uuid, minor, "0000:0" + index + ":00.0", "NVIDIA A100-SXM4-40GB");
    }

    /** A MIG instance of a GPU, with three of its seven slices. */
    public static Gpu part(Gpu whole, int number) {
        return part(whole, number, Optional.of(new Part.Slices(3, 7)));
    }

    /**
     * A MIG instance of a GPU.
     *
     * @param slices empty if NVML does not report them
     */
    public static Gpu part(Gpu whole, int number, Optional<Part.Slices> slices) {
        return new Gpu(
                whole.index(),
                "MIG-%d%d000000-1d2c-4e5f-8a9b-012345678901".formatted(whole.index(), number),
                whole.minor(),
                whole.pciAddress(),
                whole.model() + " MIG 3g.20gb",
                Optional.empty(),
                Optional.of(
                        new Part(
                                whole.uuid(),
                                number,
                                number + 1,
                                0,
                                21 + number,
                                22 + number,
                                slices)));
    }

    /** A clock that is never set, since a boot at the epoch. */
    public static HostClock steady(InstantSource clock) {
        return new HostClock() {
            @Override
            public Instant instant() {
                return clock.instant();
            }

            @Override
            public Duration sinceBoot() {
                return Duration.ofMillis(clock.millis());
            }
        };
    }

    public static Instant time(int hour, int minute) {
        return LocalDateTime.of(2024, 1, 2, hour, minute)
                .atZone(ZoneId.systemDefault())
                .toInstant();
    }

    /** The key of a new claim. */
    public static ClaimKey newKey() {
        return ClaimKey.make(RANDOM);
    }

    /** A key with this id: all claims of tests that have such keys have the same secret. */
    public static ClaimKey key(String id) {
        return new ClaimKey(id, "5ec2e7".repeat(5) + "00");
    }

    public static Claim claim(String id, Owner owner, Gpu... gpus) {
        return new Claim(
                key(id),
                CUDA,
                owner,
                Stream.of(gpus).map(ClaimedGpu::of).toList(),
                THEN,
                Optional.empty());
    }

    /** A lease that is held by a container. */
    public static Lease held(long id, Owner owner, String container, Gpu... gpus) {
        Claim claim = claim("%012x".formatted(id), owner, gpus);
        Claim named =
                new Claim(
                        claim.key(),
                        claim.origin(),
                        claim.owner(),
                        claim.gpus(),
                        claim.created(),
                        Optional.of(new Claim.ContainerRef("c".repeat(64), container)));
        Holder holder = Holder.of(DOCKERD, Optional.empty(), Optional.empty());
        return new Lease(id, named, holder, "boot", THEN, Optional.empty(), 1, Optional.empty());
    }

    /** The same lease of a share of its only GPU. */
    public static Lease sharing(Lease whole, Share share) {
        Claim claim = whole.claim();
        ClaimedGpu gpu = claim.gpus().getFirst();
        return new Lease(
                whole.id(),
                new Claim(
                        claim.key(),
                        claim.origin(),
                        claim.owner(),
                        List.of(
                                new ClaimedGpu(
                                        gpu.uuid(),
                                        gpu.index(),
                                        gpu.minor(),
                                        gpu.part(),
                                        Optional.of(share))),
                        claim.created(),
                        claim.container()),
                whole.holder(),
                whole.boot(),
                whole.since(),
                whole.time(),
                whole.mounts(),
                whole.end());
    }

    /** A lease that a client has reserved. */
    public static Lease reserved(long id, Owner owner, Gpu... gpus) {
        Claim claim = claim("%012x".formatted(id), owner, gpus);
        return new Lease(
                id,
                claim,
                Holder.reserved(CLIENT),
                "boot",
                THEN,
                Optional.empty(),
                0,
                Optional.empty());
    }

    /** A policy that allows everything but to take GPUs that others use. */
    public static final LeasePolicy POLICY =
            policy(OptionalInt.empty(), Optional.empty(), List.of(), false);

    /** A container that the engine shows. */
    public static RunningContainer running(
            String name, Map<String, String> labels, List<String> volumes) {
        return new RunningContainer(
                "d".repeat(64), name, "cuda", Optional.empty(), labels, volumes, GpuAccess.NONE);
    }

    public static Holdings holdings(List<Lease> leases, Map<Gpu, Instant> idleSince) {
        Map<String, Instant> idle = new HashMap<>();
        idleSince.forEach((gpu, since) -> idle.put(gpu.uuid(), since));
        return new Holdings(
                time(12, 0), Holdings.byGpu(leases), idle, Map.of(), Map.of(), List.of());
    }

    /** Holdings without a lease, in which one GPU gets no new holder. */
    public static Holdings cordoned(Gpu gpu, Cordon.ByCommand cordon) {
        return new Holdings(
                time(12, 0), Map.of(), Map.of(), Map.of(), Map.of(gpu.uuid(), cordon), List.of());
    }

    /** A choice for users without known groups and used hours. */
    public static GpuChoice choice(
            List<Gpu> gpus,
            GpuTraits traits,
            Holdings holdings,
            UnmanagedUses unmanaged,
            Collection<Ticket> waiting,
            LeasePolicy policy) {
        Allowances allowances = Allowances.of(policy.limits());
        return new GpuChoice(
                new Situation(gpus, traits, holdings, unmanaged, policy, allowances), waiting);
    }

    /** A request for a time. */
    static Requested requested(GpuRequest request, Owner owner, Optional<Duration> time) {
        return new Requested(request, owner, Set.of(), time, false);
    }

    /** Changes the registry in a directory by hand. */
    public static void sql(Path directory, String sql) {
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        } catch (SQLException e) {
            throw new AssertionError(sql, e);
        }
    }

    /** Reads a number from the registry in a directory. */
    public static int number(Path directory, String sql) {
        try (var connection =
                        DriverManager.getConnection(
                                "jdbc:sqlite:" + directory.resolve("registry.db"));
                var statement = connection.createStatement();
                var result = statement.executeQuery(sql)) {
            return result.getInt(1);
        } catch (SQLException e) {
            throw new AssertionError(sql, e);
        }
    }

    /** A place in the queue. */
    public static Ticket ticket(long id, Owner owner, GpuRequest request) {
        return new Ticket(
                id, new Request(request, Set.of(), owner, CLIENT, CUDA, Optional.empty()), THEN, 0);
    }

    /** Ends a lease as it was seen, though nothing finds that its holder is gone. */
    public static boolean end(LeaseRegistry registry, Lease seen, String why) throws IOException {
        return end(registry, seen, why, Ground.GONE);
    }

    /** Ends a lease likewise. */
    public static boolean end(LeaseRegistry registry, Lease seen, String why, Ground ground)
            throws IOException {
        return registry.decide(leases -> leases.end(new SeenEnd(seen, why, ground)));
    }

    /** Makes a claim and reserves its GPUs; fails where others have them. */
    public static void reserve(LeaseRegistry registry, Claim claim, ProcessId client)
            throws IOException {
        registry.decide(leases -> {
            leases.add(claim, Optional.empty());
            return leases.begin(claim, Holder.reserved(client));
        });
    }

    /** Docker mounts a claim: its lease begins, or goes on. */
    public static Lease mount(LeaseRegistry registry, Claim claim, String use, ProcessId engine)
            throws IOException {
        Holder holder = Holder.of(engine, Optional.empty(), Optional.empty());
        registry.decide(leases -> {
            if (leases.live(claim.id()).isEmpty()) {
                leases.begin(claim, holder);
            } else {
                leases.hold(leases.live(claim.id()).get(), holder);
            }
            leases.mount(claim, use);
            return null;
        });
        return registry.liveOf(claim.id()).orElseThrow();
    }

    /** The first process of a claim's container becomes known. */
    public static void start(
            LeaseRegistry registry, Claim claim, ProcessId init, Optional<String> cgroup)
            throws IOException {
        Lease lease = registry.liveOf(claim.id()).orElseThrow();
        registry.decide(leases -> leases.hold(lease, lease.holder().startedAs(init, cgroup)));
    }

    /** A policy with the usual number of waits, and the same limits for every user. */
    public static LeasePolicy policy(
            OptionalInt maxGpusPerUser,
            Optional<Duration> maxWait,
            List<String> cordon,
            boolean allowUnmanaged) {
        return new LeasePolicy(
                new Limits(
                        everybody(maxGpusPerUser.stream().boxed().findAny(), "limits.*.gpus"),
                        List.of(),
                        List.of(),
                        List.of(),
                        everybody(maxWait, "limits.*.max_wait"),
                        List.of(),
                        List.of(),
                        List.of()),
                LeasePolicy.WAITS_PER_USER,
                cordon,
                List.of(),
                allowUnmanaged,
                Optional.empty(),
                BookingRule.NONE);
    }

    private static <T> List<Rule<T>> everybody(Optional<T> value, String key) {
        return value.map(it -> new Rule<>(Subject.EVERYBODY, it, key, "config.toml")).stream()
                .toList();
    }
}
