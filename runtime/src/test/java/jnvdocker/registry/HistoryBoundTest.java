package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.keeper.HistoryKeeper;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuTime;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The history does not grow without end, whatever users do all day. */
@Attack(by = "a member", what = "creates containers in a loop", result = "added up by the hour")
class HistoryBoundTest extends OneRegistryTest {
    private static final Instant START = Instant.parse("2024-01-02T00:00:00Z");
    private static final Duration AN_HOUR = Duration.ofHours(1);

    private int claims;

    HistoryBoundTest() {
        super(START);
    }

    /** A loop of {@code jnvdocker create} makes such reservations. */
    @Test
    void reservationsThatCameToNothingAreAddedUp() throws Exception {
        for (int i = 0; i < 100; i++) {
            abandoned(ALICE, A, B);
        }
        abandoned(BOB, A);
        now = now.plus(Duration.ofHours(2));
        abandoned(BOB, A);
        GpuTime before = registry.history().gpuTime(START, Optional.empty(), Optional.empty());
        GpuTime ofA = registry.history().gpuTime(START, Optional.empty(), Optional.of(A.uuid()));
        assertEquals(101, fold());
        assertEquals(0, fold());
        assertEquals(1, count("lease"));
        assertEquals(1, count("claim"));
        assertEquals(1, count("claim_gpu"));
        assertEquals(5, count("reserved"));
        assertEquals(before, registry.history().gpuTime(START, Optional.empty(), Optional.empty()));
        assertEquals(
                ofA, registry.history().gpuTime(START, Optional.empty(), Optional.of(A.uuid())));
        assertEquals(
                List.of(),
                registry.history()
                        .gpuTime(now.plusSeconds(9), Optional.empty(), Optional.empty())
                        .users());
    }

    @Test
    void sumsOfNamespacesStayApart() throws Exception {
        Owner one = new Owner(Owner.KUBERNETES.uid(), "kubernetes:one");
        Owner two = new Owner(Owner.KUBERNETES.uid(), "kubernetes:two");
        abandoned(one, A);
        abandoned(two, A, B);
        abandoned(one, B);
        now = now.plus(Duration.ofHours(2));
        GpuTime before = registry.history().gpuTime(START, Optional.empty(), Optional.empty());
        assertEquals(3, fold());
        GpuTime after = registry.history().gpuTime(START, Optional.empty(), Optional.empty());
        assertEquals(before, after);
        assertEquals(2, after.users().size());
    }

    @Test
    void sumsAreDeletedWithTheRest() throws Exception {
        abandoned(ALICE, A);
        now = now.plus(Duration.ofHours(2));
        fold();
        HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL);
        assertEquals(2, count("reserved"));
        now = now.plus(Duration.ofHours(9));
        HistoryKeeper.delete(registry, Duration.ofHours(9), Pace.REAL);
        assertEquals(0, count("reserved"));
    }

    @Test
    void reservationReleasedByForceOrUsedByAContainerIsNotAddedUp() throws Exception {
        Claim forced = reserve(ALICE, A);
        TestingLeases.end(
                registry, registry.liveOf(forced.id()).orElseThrow(), "released by force: root");
        Claim claim = reserve(BOB, B);
        TestingLeases.mount(registry, claim, "use", DOCKERD);
        TestingLeases.end(registry, registry.liveOf(claim.id()).orElseThrow(), "seen");
        reserve(BOB, B);
        now = now.plus(Duration.ofHours(2));
        assertEquals(0, fold());
    }

    /** Its container was created, and may be started in a year. */
    @Test
    void aClaimThatIsNotForgottenStays() throws Exception {
        Claim claim = reserve(ALICE, A);
        TestingLeases.end(
                registry, registry.liveOf(claim.id()).orElseThrow(), "docker run has ended");
        now = now.plus(Duration.ofHours(2));
        assertEquals(1, fold());
        assertEquals(Optional.of(claim), registry.claims().claim(claim.id()));
    }

    @Test
    void theOldestGoWhenThereAreTooMany() throws Exception {
        for (int i = 0; i < 10; i++) {
            abandoned(ALICE, A);
        }
        Claim held = reserve(BOB, B);
        List<Lease> latest = registry.history().past(Long.MAX_VALUE, 4);
        assertEquals(
                6,
                HistoryKeeper.inParts(() -> registry.history().deleteBeyond(4, 3), Pace.REAL) / 2);
        assertEquals(latest, registry.history().past(Long.MAX_VALUE, 9));
        assertEquals(4 + 1, count("claim"));
        assertTrue(registry.liveOf(held.id()).isPresent());
    }

    private int fold() throws IOException {
        return HistoryKeeper.inParts(() -> registry.history().fold(AN_HOUR, 7), Pace.REAL);
    }

    private Claim reserve(Owner owner, Gpu... gpus) throws IOException {
        Claim claim = TestingLeases.claim("%012x".formatted(++claims), owner, gpus);
        TestingLeases.reserve(registry, claim, CLIENT);
        return claim;
    }

    private void abandoned(Owner owner, Gpu... gpus) throws IOException {
        Claim claim = reserve(owner, gpus);
        now = now.plusMillis(125);
        TestingLeases.end(
                registry,
                registry.liveOf(claim.id()).orElseThrow(),
                "docker run (pid 1) has ended");
        registry.claims().forget(claim.id());
    }

    private int count(String table) throws Exception {
        return TestingLeases.number(directory, "SELECT count(*) FROM " + table);
    }
}
