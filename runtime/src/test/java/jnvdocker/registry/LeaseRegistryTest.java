package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.DOCKERD;
import static jnvdocker.lease.TestingLeases.claim;
import static jnvdocker.lease.TestingLeases.part;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Holdings;
import jnvdocker.lease.Lease;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

class LeaseRegistryTest extends OneRegistryTest {
    private static final Claim ONE = claim("111111111111", ALICE, A);
    private static final Claim TWO = claim("222222222222", BOB, A, B);
    private static final ProcessId INIT = new ProcessId(5000, 200);

    LeaseRegistryTest() {
        super(TestingLeases.THEN);
    }

    @Test
    void aReservationHoldsAllOfItsGpus() throws Exception {
        reserve(TWO);
        Lease lease = registry.liveOf(TWO.id()).orElseThrow();
        assertEquals(Holder.reserved(CLIENT), lease.holder());
        assertEquals(TWO, lease.claim());
        assertEquals(now, lease.since());
        assertEquals("boot", lease.boot());
        assertEquals(Holdings.byGpu(List.of(lease)), registry.holdings().held());
    }

    @Test
    void observerIsNotifiedOfWhatIsOnDisk() throws Exception {
        List<String> reported = new ArrayList<>();
        registry.addListener(
                new LeaseEvents() {
                    @Override
                    public void granted(Lease lease) {
                        reported.add("granted " + lease.claim().id());
                    }

                    @Override
                    public void recovered(Lease lease) {
                        reported.add("recovered " + lease.claim().id());
                    }

                    @Override
                    public void released(Lease lease, Instant at, String evidence) {
                        reported.add("released " + lease.claim().id() + " " + at + " " + evidence);
                    }
                });
        reserve(ONE);
        assertThrows(RegistryException.class, () -> reserve(TWO));
        Lease lease = registry.liveOf(ONE.id()).orElseThrow();
        now = now.plusSeconds(60);
        TestingLeases.end(registry, lease, "gone");
        TestingLeases.end(registry, lease, "gone");
        registry.decide(leases -> leases.recover(ONE, lease.holder()));
        assertEquals(
                List.of(
                        "granted " + ONE.id(),
                        "released " + ONE.id() + " " + now + " gone",
                        "recovered " + ONE.id()),
                reported);
    }

    @Test
    void instanceIsKeptWithItsNodes() throws Exception {
        Claim instances = claim("333333333333", ALICE, part(A, 0), part(A, 1), B);
        reserve(instances);
        assertEquals(instances, registry.liveOf(instances.id()).orElseThrow().claim());
        assertTrue(registry.claims().wasClaimed(instances.key(), part(A, 1).uuid()));
        assertTrue(registry.claims().wasClaimed(instances.key(), A.uuid()));
        assertFalse(registry.claims().wasClaimed(instances.key(), C.uuid()));
    }

    @Test
    void gpuAndItsInstancesExcludeEachOther() throws Exception {
        Claim first = claim("333333333333", ALICE, part(A, 0));
        Claim second = claim("444444444444", BOB, part(A, 1));
        reserve(first);
        reserve(second);
        Lease lease = registry.liveOf(first.id()).orElseThrow();
        assertThrows(RegistryException.class, () -> reserve(ONE));
        assertEquals(
                List.of(lease, registry.liveOf(second.id()).orElseThrow()),
                registry.decide(leases -> leases.liveOn(ONE)));
        TestingLeases.end(registry, lease, "gone");
        TestingLeases.end(registry, registry.liveOf(second.id()).orElseThrow(), "gone");
        registry.claims().restore(ONE, true);
        granted(ONE, "use");
        assertEquals(
                List.of(registry.liveOf(ONE.id()).orElseThrow()),
                registry.decide(leases -> leases.liveOn(first)));
    }

    /** Each decides on the same facts, and one alone may write what it has decided. */
    @Test
    void oneOfManyGetsAGpuWholeOrInParts() throws Exception {
        List<Claim> claims = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            claims.add(claim("%012x".formatted(i), BOB, i % 2 == 0 ? A : part(A, 0)));
        }
        long granted =
                claims.parallelStream()
                        .filter(claim -> {
                            try {
                                return registry.decide(leases -> {
                                    boolean free = leases.liveOn(claim).isEmpty();
                                    if (free) {
                                        leases.add(claim, Optional.empty());
                                        leases.begin(claim, Holder.reserved(CLIENT));
                                    }
                                    return free;
                                });
                            } catch (IOException e) {
                                throw new UncheckedIOException(e);
                            }
                        })
                        .count();
        assertEquals(1, granted);
        assertEquals(1, registry.live().size());
    }

    @Test
    void aChoiceThatIgnoresWhoHoldsWhatFailsAsAWhole() throws Exception {
        reserve(ONE);
        assertThrows(RegistryException.class, () -> reserve(TWO));
        assertEquals(List.of(ONE), registry.claims().all());
        assertEquals(List.of(A.uuid()), List.copyOf(registry.holdings().held().keySet()));
    }

    @Test
    void theFirstMountMakesTheReservationTheContainers() throws Exception {
        reserve(ONE);
        long reserved = registry.liveOf(ONE.id()).orElseThrow().id();
        Lease lease = granted(ONE, "use");
        assertEquals(reserved, lease.id());
        assertEquals(Holder.of(DOCKERD, Optional.empty(), Optional.empty()), lease.holder());
        assertEquals(1, lease.mounts());
    }

    @Test
    void mountsAreCountedByTheirNames() throws Exception {
        reserve(ONE);
        granted(ONE, "use");
        granted(ONE, "use");
        assertEquals(2, live(ONE).mounts());
        registry.unmounted(ONE.id(), "another");
        assertEquals(2, live(ONE).mounts());
        registry.unmounted(ONE.id(), "use");
        assertEquals(1, live(ONE).mounts());
        registry.unmounted(ONE.id(), "use");
        registry.unmounted(ONE.id(), "use");
        assertEquals(0, live(ONE).mounts());
    }

    @Test
    void evidenceOfAnEarlierStateDoesNotEndALease() throws Exception {
        reserve(ONE);
        Lease reservation = live(ONE);
        Lease mounted = granted(ONE, "use");
        assertFalse(TestingLeases.end(registry, reservation, "seen"));
        granted(ONE, "use");
        assertFalse(TestingLeases.end(registry, mounted, "seen"));
        registry.unmounted(ONE.id(), "use");
        TestingLeases.start(registry, ONE, INIT, Optional.empty());
        assertFalse(TestingLeases.end(registry, mounted, "seen"));
        assertTrue(TestingLeases.end(registry, live(ONE), "seen"));
    }

    @Test
    void eachStartOfAContainerIsALeaseOfItsOwn() throws Exception {
        reserve(ONE);
        Lease first = granted(ONE, "use");
        TestingLeases.end(registry, first, "seen");
        Lease second = granted(ONE, "use");
        assertTrue(second.id() > first.id());
        assertEquals(1, second.mounts());
        TestingLeases.end(registry, second, "again");
        assertEquals(
                List.of("again", "seen"),
                registry.history().past(Long.MAX_VALUE, 9).stream()
                        .map(it -> it.end().orElseThrow().evidence())
                        .toList());
        assertEquals(
                registry.history().past(Long.MAX_VALUE, 9), registry.history().pastOf(A.uuid(), 9));
        assertEquals(List.of(), registry.history().pastOf(B.uuid(), 9));
        assertEquals(1, registry.history().past(Long.MAX_VALUE, 1).size());
    }

    private void assertStopped(Map<Gpu, Claim> last) throws Exception {
        Map<String, String> expected = new HashMap<>();
        last.forEach((gpu, claim) -> expected.put(gpu.uuid(), claim.id()));
        Map<String, String> stopped = new HashMap<>();
        registry.holdings().stopped().forEach((gpu, its) -> stopped.put(gpu, its.claim()));
        assertEquals(expected, stopped);
    }

    @Test
    void containerThatHadAGpuLastIsKnownUntilAnotherUserHasIt() throws Exception {
        registry.claims().restore(TWO, true);
        granted(TWO, "use");
        assertStopped(Map.of());
        TestingLeases.end(registry, live(TWO), "gone");
        assertStopped(Map.of(A, TWO, B, TWO));
        assertEquals(BOB, registry.holdings().stopped().get(A.uuid()).owner());
        // The same user's reservation comes to nothing.
        Claim another = claim("333333333333", BOB, B);
        reserve(another);
        TestingLeases.end(registry, live(another), "gone");
        assertStopped(Map.of(A, TWO, B, TWO));
        reserve(ONE);
        assertStopped(Map.of(B, TWO));
        TestingLeases.end(registry, live(ONE), "gone");
        assertStopped(Map.of(B, TWO));
        registry.decide(leases -> {
            leases.forgetStop(TWO.id());
            return null;
        });
        assertStopped(Map.of());
    }

    @Test
    void anEndIsWrittenOnce() throws Exception {
        reserve(ONE);
        Lease lease = live(ONE);
        now = now.plusSeconds(60);
        assertTrue(TestingLeases.end(registry, lease, "seen"));
        assertFalse(TestingLeases.end(registry, lease, "seen again"));
        Lease past = registry.history().past(Long.MAX_VALUE, 9).getFirst();
        assertEquals(Optional.of(new Lease.End(now, "seen")), past.end());
        assertEquals(Map.of(A.uuid(), now), registry.holdings().idleSince());
    }

    @Test
    void aClockThatIsSetBackDoesNotEndALeaseBeforeItBegan() throws Exception {
        reserve(ONE);
        Instant since = now;
        now = now.minus(Duration.ofDays(1));
        TestingLeases.end(registry, live(ONE), "seen");
        assertEquals(
                since,
                registry.history().past(Long.MAX_VALUE, 9).getFirst().end().orElseThrow().at());
        assertEquals(Map.of(A.uuid(), since), registry.holdings().idleSince());
    }

    @Test
    void theFirstProcessIsNotedOfALiveLeaseAlone() throws Exception {
        reserve(ONE);
        Lease lease = granted(ONE, "use");
        TestingLeases.start(registry, ONE, INIT, Optional.of("/sys/fs/cgroup/c"));
        assertEquals(
                Holder.of(DOCKERD, Optional.of(INIT), Optional.of("/sys/fs/cgroup/c")),
                live(ONE).holder());
        TestingLeases.end(registry, live(ONE), "seen");
        Holder late = lease.holder().startedAs(CLIENT, Optional.empty());
        assertEquals(Optional.empty(), registry.decide(leases -> leases.hold(lease, late)));
        assertEquals(
                Holder.of(DOCKERD, Optional.of(INIT), Optional.of("/sys/fs/cgroup/c")),
                registry.history().past(Long.MAX_VALUE, 1).getFirst().holder());
    }

    @Test
    void aForgottenClaimIsNoClaimButItsLeasesAreHistory() throws Exception {
        reserve(ONE);
        registry.claims().created(ONE.key());
        TestingLeases.end(registry, live(ONE), "seen");
        registry.claims().forget(ONE.id());
        assertEquals(Optional.empty(), registry.claims().claim(ONE.id()));
        assertFalse(registry.claims().hasVolume(ONE.id()));
        assertFalse(registry.claims().created(ONE.key()));
        assertEquals(List.of(), registry.claims().all());
        assertEquals(ONE, registry.history().past(Long.MAX_VALUE, 1).getFirst().claim());
        assertTrue(registry.claims().restore(ONE, true));
        assertEquals(List.of(ONE), registry.claims().withVolume());
    }

    @Test
    void claimReleasedByForceCountsAgainWhenItIsStarted() throws Exception {
        reserve(ONE);
        TestingLeases.end(
                registry, granted(ONE, "use"), "released by force: root, it hangs", Ground.FORCE);
        assertTrue(registry.claims().isReleased(ONE.id(), INIT));
        assertEquals(Optional.empty(), registry.liveOf(ONE.id()));
        granted(ONE, "use");
        assertFalse(registry.claims().isReleased(ONE.id(), INIT));
    }

    @Test
    void onlyClaimsWithoutContainerAndLeaseAreUnused() throws Exception {
        reserve(ONE);
        assertEquals(List.of(), registry.claims().unused());
        TestingLeases.end(registry, live(ONE), "seen");
        assertEquals(List.of(ONE), registry.claims().unused());
        registry.claims().named(ONE.id(), new Claim.ContainerRef("c".repeat(64), "train-7"));
        assertEquals(List.of(), registry.claims().unused());
    }

    @Test
    void everythingIsThereAfterOpeningItAgain() throws Exception {
        reserve(ONE);
        registry.claims().created(ONE.key());
        registry.claims().named(ONE.id(), new Claim.ContainerRef("c".repeat(64), "train-7"));
        Lease lease = granted(ONE, "use");
        TestingLeases.start(registry, ONE, INIT, Optional.of("/sys/fs/cgroup/c"));
        List<Lease> before = registry.live();
        close();
        open();
        assertEquals(before, registry.live());
        assertEquals("train-7", registry.claims().all().getFirst().displayName());
    }

    private void reserve(Claim claim) throws IOException {
        TestingLeases.reserve(registry, claim, CLIENT);
    }

    private Lease granted(Claim claim, String use) throws IOException {
        return TestingLeases.mount(registry, claim, use, DOCKERD);
    }

    private Lease live(Claim claim) throws IOException {
        return registry.liveOf(claim.id()).orElseThrow();
    }
}
