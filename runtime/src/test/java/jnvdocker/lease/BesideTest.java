package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;
import static jnvdocker.lease.TestingLeases.POLICY;
import static jnvdocker.lease.TestingLeases.THEN;
import static jnvdocker.lease.TestingLeases.held;
import static jnvdocker.lease.TestingLeases.holdings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.Refusal;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** {@code --gpus with=NAME}: the GPUs that another container of the same user holds. */
class BesideTest {
    private static final Instant NOON = TestingLeases.time(12, 0);
    private static final Lease TRAIN = held(1, ALICE, "train-7", A, B);
    private static final Lease BOBS = held(2, BOB, "bobs", C);

    private static Outcome of(String name, Owner owner, LeasePolicy policy, Lease... all)
            throws RefusedException {
        return TestingLeases.choice(
                        List.of(A, B, C),
                        GpuTraits.UNKNOWN,
                        holdings(List.of(all), Map.of()),
                        UnmanagedUses.NONE,
                        List.of(),
                        policy)
                .of(new Requested(new GpuRequest.With(name), owner));
    }

    private static void assertRefused(String why, String name, Owner owner, Lease... all)
            throws RefusedException {
        Outcome.Impossible outcome =
                assertInstanceOf(Outcome.NotBeside.class, of(name, owner, POLICY, all));
        assertEquals(
                "--gpus with=" + name + ": " + why,
                Refusals.of(outcome, Addressee.COMMAND).message());
    }

    @Test
    void aContainerIsNamedAsDockerNamesItOrByItsClaim() throws RefusedException {
        for (String name : List.of("train-7", "cccccccccccc", "c".repeat(64), TRAIN.claim().id())) {
            assertEquals(
                    new Outcome.Chosen(List.of(A, B), Optional.of(TRAIN), Map.of()),
                    of(name, ALICE, POLICY, TRAIN));
        }
        assertRefused(
                "no container or process of that name holds a GPU; start that one first"
                        + " ('jnvdocker gpu ls' shows the holders)",
                "ccc",
                ALICE,
                TRAIN,
                BOBS);
    }

    @Test
    void gpusOfOthersAreRefused() throws RefusedException {
        assertRefused(
                "GPU 2 (GPU-77777777) is held by bob's container bobs since 2024-01-02 09:12, and"
                        + " cannot be given to this one, too; name a container or process of your"
                        + " own whose GPUs this one may have",
                "bobs",
                ALICE,
                TRAIN,
                BOBS);
    }

    /** Whoever does as the refusal says is not refused for the same reason again. */
    @Test
    void refusalSaysHowBothGetAnOwner() throws RefusedException {
        Owner guess = Owner.guessed("alice");
        Lease unknown = held(3, Owner.UNKNOWN, "any", C);
        Lease guessed = held(3, guess, "any", C);
        Lease known = held(3, ALICE, "any", C);
        String trust = "have an administrator add 'directory' to trust_owner below [runtime]";
        String then = ": then containers of compose belong to the owner of its directory";
        assertNoOwner(trust + then, guess, known);
        assertNoOwner(trust + ", and start any again" + then, guess, guessed);
        // The administrator has done so meanwhile.
        assertNoOwner(
                "start any again: with 'directory' in trust_owner its owner is known from then on",
                ALICE,
                guessed);
        String run = "'jnvdocker run' shows whose a container is; make ";
        assertNoOwner(run + "this one with it", Owner.UNKNOWN, known);
        assertNoOwner(run + "any with it", ALICE, unknown);
        assertNoOwner(run + "both with it", Owner.UNKNOWN, unknown);
        assertNoOwner(run + "both with it", Owner.UNKNOWN, guessed);
    }

    private static void assertNoOwner(String advice, Owner owner, Lease lease)
            throws RefusedException {
        assertRefused(
                "GPU 2 (GPU-77777777) is held by "
                        + lease.claim().owner().name()
                        + "'s container any since 2024-01-02 09:12, and nothing shows that both"
                        + " belong to one user; "
                        + advice,
                "any",
                owner,
                TRAIN,
                lease);
    }

    @Test
    void ofOneNameTheUsersOwnCounts() throws RefusedException {
        Lease bobs = held(2, BOB, "train-7", C);
        assertEquals(
                new Outcome.Chosen(List.of(A, B), Optional.of(TRAIN), Map.of()),
                of("train-7", ALICE, POLICY, bobs, TRAIN));
        Lease second = held(3, ALICE, "train-7", C);
        assertRefused(
                "several of your containers and processes have that name; write the id of one"
                        + " claim ('jnvdocker gpu leases' shows them)",
                "train-7",
                ALICE,
                TRAIN,
                second);
    }

    @Test
    void whatASchedulerHasGivenIsTheSchedulers() throws RefusedException {
        Claim task =
                new Claim(
                        TestingLeases.key("000000000009"),
                        new Origin.MesosTask("train"),
                        ALICE,
                        List.of(ClaimedGpu.of(A)),
                        THEN,
                        Optional.of(new Claim.ContainerRef("task", "train-7")));
        Lease lease =
                new Lease(
                        9,
                        task,
                        Holder.of(new ProcessId(1, 1), ""),
                        "boot",
                        THEN,
                        Optional.empty(),
                        0,
                        Optional.empty());
        assertInstanceOf(Outcome.NotBeside.class, of("train-7", ALICE, POLICY, lease));
    }

    @Test
    void aSickGpuGetsNoOtherHolder() throws RefusedException {
        Gpu sick = A.with(new Refusal("it is lost", "check it"));
        GpuChoice choice =
                TestingLeases.choice(
                        List.of(sick, B, C),
                        GpuTraits.UNKNOWN,
                        holdings(List.of(TRAIN), Map.of()),
                        UnmanagedUses.NONE,
                        List.of(),
                        POLICY);
        Outcome outcome = choice.of(new Requested(new GpuRequest.With("train-7"), ALICE));
        assertEquals(sick, assertInstanceOf(Outcome.Barred.class, outcome).gpu().gpu());
    }

    /** The user has these GPUs already. */
    @Test
    void limitsCountAGpuOnce() throws RefusedException {
        LeasePolicy two =
                TestingLeases.policy(OptionalInt.of(2), Optional.empty(), List.of(), false);
        assertEquals(
                new Outcome.Chosen(List.of(A, B), Optional.of(TRAIN), Map.of()),
                of("train-7", ALICE, two, TRAIN));
        Lease other = beside(TRAIN, "222222222222");
        Holdings both = holdings(List.of(TRAIN, other), Map.of());
        assertEquals(2, new Quota(Allowances.of(two.limits()), both.held()).has(ALICE));
    }

    private static Lease beside(Lease first, String id) {
        Claim claim = first.claim();
        return new Lease(
                8,
                new Claim(
                        TestingLeases.key(id),
                        claim.origin(),
                        claim.owner(),
                        claim.gpus(),
                        claim.created(),
                        Optional.empty(),
                        claim.party()),
                first.holder(),
                "boot",
                THEN,
                Optional.of(Duration.ofHours(4)),
                0,
                Optional.empty());
    }

    @Test
    void aPartyHoldsGpusTogether() {
        Lease other = beside(TRAIN, "222222222222");
        Holdings both = holdings(List.of(TRAIN, other), Map.of());
        assertEquals(Optional.of(TRAIN), both.of(A));
        assertEquals(List.of(TRAIN, other), both.allOf(A.uuid()));
        assertEquals(List.of(), both.on(TRAIN.claim()));
        assertEquals(List.of(other), both.beside(TRAIN.claim()));
        assertEquals(List.of(TRAIN), both.beside(other.claim()));
        Holdings one = both.without(lease -> lease.id() == TRAIN.id());
        assertEquals(Optional.of(other), one.of(A));
    }

    /** Else a user could have GPUs for ever, by containers of which each takes them over. */
    @Test
    void noneLastsLongerThanTheOneBesideIt() {
        Lease other = beside(TRAIN, "222222222222");
        Holdings held = holdings(List.of(other), Map.of());
        Duration left = other.left(NOON).orElseThrow();
        assertEquals(Optional.of(left), held.time(TRAIN.claim(), Optional.empty()));
        assertEquals(Optional.of(left), held.time(TRAIN.claim(), Optional.of(Duration.ofDays(9))));
        assertEquals(
                Optional.of(Duration.ofSeconds(1)),
                held.time(TRAIN.claim(), Optional.of(Duration.ofSeconds(1))));
        assertEquals(Optional.empty(), held.time(BOBS.claim(), Optional.empty()));
    }
}
