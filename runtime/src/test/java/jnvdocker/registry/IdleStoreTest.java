package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.claim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.lease.GpuTime;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.TestingLeases;
import jnvdocker.registry.IdleStore.Idle;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What is known of idle GPUs goes from one daemon to the next, and no further. */
class IdleStoreTest {
    private static final long LEASE = 7;
    private static final long TEN_MINUTES = Duration.ofMinutes(10).toMillis();

    @TempDir Path folder;
    private Instant now = TestingLeases.THEN;

    private LeaseRegistry open(String boot) throws IOException {
        return LeaseRegistry.open(folder, boot, HostClock.steady(() -> now));
    }

    private static Lease reserve(LeaseRegistry registry) throws IOException {
        var claim = claim("000000000001", ALICE, A, B);
        registry.reserve(registry.holdings(), new LeaseRegistry.Reservation(claim, CLIENT));
        return registry.liveOf(claim.id()).orElseThrow();
    }

    @Test
    void nextDaemonOfTheBootKnowsWhatIsIdle() throws Exception {
        Idle byNodes;
        try (LeaseRegistry registry = open("boot")) {
            long lease = reserve(registry).id();
            byNodes = new Idle(lease, A.uuid(), IdleSource.NODES, 5, true, 9);
            Idle byNvml = new Idle(lease, B.uuid(), IdleSource.NVML, 6, false, 8);
            registry.idle().write(List.of(byNodes, byNvml), Map.of());
            registry.idle().write(List.of(byNodes), Map.of());
        }
        try (LeaseRegistry registry = open("boot")) {
            assertEquals(List.of(byNodes), registry.idle().idle());
        }
        try (LeaseRegistry registry = open("another")) {
            assertEquals(List.of(), registry.idle().idle());
        }
    }

    @Test
    void endedLeaseIsNotIdle() throws Exception {
        try (LeaseRegistry registry = open("boot")) {
            Lease lease = reserve(registry);
            Idle idle = new Idle(lease.id(), A.uuid(), IdleSource.NODES, 5, false, 9);
            registry.idle().write(List.of(idle), Map.of());
            registry.end(lease, "seen");
            assertEquals(List.of(), registry.idle().idle());
        }
    }

    /** Its lease goes on, and its time from before counts as used. */
    @Test
    void registryOfTheSchemaBeforeIsBroughtUp() throws Exception {
        schema7();
        try (LeaseRegistry registry = open("boot")) {
            assertEquals(List.of(LEASE), registry.live().stream().map(Lease::id).toList());
            assertEquals(List.of(), registry.idle().idle());
            now = now.plus(Duration.ofHours(1));
            assertEquals(Duration.ZERO, use(registry).idle());
            registry.idle()
                    .write(List.of(), Map.of(new IdleStore.Hour(LEASE, A.uuid(), 0), TEN_MINUTES));
            assertEquals(Duration.ofHours(1), use(registry).time());
            assertEquals(Duration.ofMinutes(10), use(registry).idle());
        }
    }

    private static GpuTime.Use use(LeaseRegistry registry) throws IOException {
        return registry.history().gpuTime(Instant.EPOCH, Optional.empty()).users().getFirst();
    }

    private void schema7() throws Exception {
        String url = "jdbc:sqlite:" + folder.resolve("registry.db");
        try (var connection = DriverManager.getConnection(url);
                var statement = connection.createStatement()) {
            for (int version = 1; version <= 7; version++) {
                String file = "schema-" + version + ".sql";
                try (var in = LeaseRegistry.class.getResourceAsStream(file)) {
                    String schema = new String(in.readAllBytes(), StandardCharsets.UTF_8);
                    statement.executeUpdate("BEGIN;" + schema + ";COMMIT");
                }
            }
            statement.executeUpdate(
                    "INSERT INTO claim (id, origin, engine, uid, owner, created)"
                            + " VALUES ('000000000007', 'engine', 'e', 1001, 'alice', 0)");
            String gpu = "'" + A.uuid() + "'";
            statement.executeUpdate(
                    "INSERT INTO claim_gpu (claim, gpu, position, minor)"
                            + " VALUES ('000000000007', "
                            + gpu
                            + ", 0, 3)");
            statement.executeUpdate(
                    "INSERT INTO lease (id, claim, holder, boot, pid, start, since, since_up)"
                            + " VALUES (7, '000000000007', 'container', 'boot', 1, 1, %1$d, %1$d)"
                                    .formatted(now.toEpochMilli()));
            statement.executeUpdate("INSERT INTO lease_gpu (lease, gpu) VALUES (7, " + gpu + ")");
            statement.executeUpdate("PRAGMA user_version = 7");
        }
    }
}
