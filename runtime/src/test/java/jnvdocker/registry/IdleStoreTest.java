package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.claim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.TestingLeases;
import jnvdocker.registry.IdleStore.Idle;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** What is known of idle GPUs goes from one daemon to the next, and no further. */
class IdleStoreTest {
    private static final long LEASE = 7;
    private static final long TEN_MINUTES = Duration.ofMinutes(10).toMillis();

    @TempDir Path directory;
    private Instant now = TestingLeases.THEN;

    private LeaseRegistry open(String boot) throws IOException {
        return LeaseRegistry.open(
                directory, boot, TestingLeases.steady(() -> now), TestingLeases.RANDOM);
    }

    private static Lease reserve(LeaseRegistry registry) throws IOException {
        var claim = claim("000000000001", ALICE, A, B);
        TestingLeases.reserve(registry, claim, CLIENT);
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
            TestingLeases.end(registry, lease, "seen");
            assertEquals(List.of(), registry.idle().idle());
        }
    }
}
