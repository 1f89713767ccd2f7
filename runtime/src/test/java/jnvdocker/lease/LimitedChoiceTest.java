package jnvdocker.lease;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.C;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.host.Gpu;
import jnvdocker.lease.text.Addressee;
import jnvdocker.lease.text.Refusals;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

class LimitedChoiceTest {
    private static final String KEY = "limits.alice.x";
    private static final GpuRequest EVERY = new GpuRequest.All();

    private static <T> List<Rule<T>> rules(String subject, T limit) {
        return List.of(new Rule<>(Subject.parse(subject), limit, KEY, "config.toml:7"));
    }

    private static Limits limits(List<Rule<Integer>> gpus, List<Rule<List<String>>> allowed) {
        return new Limits(
                gpus, List.of(), List.of(), List.of(), List.of(), List.of(), allowed, List.of());
    }

    private static GpuChoice choice(Limits limits, Allowances allowances, Lease... held) {
        return new GpuChoice(
                new Situation(
                        List.of(A, B, C),
                        GpuTraits.UNKNOWN,
                        TestingLeases.holdings(List.of(held), Map.of()),
                        UnmanagedUses.NONE,
                        new LeasePolicy(
                                limits,
                                1,
                                List.of(),
                                List.of(),
                                false,
                                Optional.empty(),
                                BookingRule.NONE),
                        allowances),
                List.of());
    }

    private static GpuChoice choice(Limits limits, Lease... held) {
        return choice(limits, Allowances.of(limits), held);
    }

    private static GpuRequest count(int gpus) {
        return new GpuRequest.Count(gpus);
    }

    private static GpuRequest device(String id) {
        return new GpuRequest.Devices(List.of(id));
    }

    private static List<Gpu> chosen(Outcome outcome) {
        return assertInstanceOf(Outcome.Chosen.class, outcome).gpus();
    }

    private static String refusal(Outcome outcome) {
        return switch (outcome) {
            case Outcome.Impossible why -> Refusals.of(why, Addressee.COMMAND).message();
            case Outcome.Busy busy -> Refusals.of(busy, Addressee.COMMAND).message();
            case Outcome.Chosen gpus -> gpus.toString();
        };
    }

    @Test
    void aUserGetsOnlyTheGpusThatAreAllowed() throws Exception {
        GpuChoice choice = choice(limits(List.of(), rules("alice", List.of("1", "2"))));
        String only =
                "alice may have only GPUs 1,2 (limits.alice.x); request these, or contact an"
                        + " administrator";
        assertEquals(
                "1 GPU requested, but " + only,
                refusal(choice.of(new Requested(device("0"), ALICE))));
        assertEquals(
                "3 GPUs requested, but " + only,
                refusal(choice.of(new Requested(count(3), ALICE))));
        assertEquals(List.of(B, C), chosen(choice.of(new Requested(count(2), ALICE))));
        assertEquals(List.of(B, C), chosen(choice.of(new Requested(EVERY, ALICE))));
        assertEquals(List.of(A, B, C), chosen(choice.of(new Requested(EVERY, BOB))));
        assertEquals(
                List.of(A), chosen(choice.of(new Requested(device("0"), Owner.guessed("alice")))));
    }

    /** What is kept for a waiting client is no GPU that it may not have. */
    @Test
    void onlyAllowedGpusAreKeptForAUser() throws Exception {
        Limits limits = limits(List.of(), rules("alice", List.of("1", "2")));
        Lease other = TestingLeases.held(1, BOB, "train", B);
        GpuChoice choice = choice(limits, other);
        choice = choice.keeping(TestingLeases.ticket(1, ALICE, count(2))).orElseThrow();
        assertEquals(List.of(A), chosen(choice.of(new Requested(count(1), BOB))));
        assertFalse(chosen(choice(limits, other).of(new Requested(count(2), BOB))).isEmpty());
        assertTrue(choice.keeping(TestingLeases.ticket(2, ALICE, count(3))).isEmpty());
    }

    @Test
    void aUserWhoMayHaveNoneIsSentToAnAdministrator() throws Exception {
        GpuChoice choice = choice(limits(rules("*", 0), List.of()));
        assertEquals(
                "1 GPU requested, but each user may have no GPU (limits.alice.x); contact an"
                        + " administrator",
                refusal(choice.of(new Requested(count(1), ALICE))));
        assertTrue(choice.scope(new Requested(count(1), ALICE)).isForbidden());
    }

    @Test
    void nothingIsGivenAsLongAsTheGroupsOfAUserAreUnknown() throws Exception {
        GpuChoice choice = choice(limits(rules("@students", 1), List.of()));
        assertEquals(
                "1 GPU requested, but it is not known whether alice is in a group that limits are"
                    + " for: the host's user database does not answer; try again when 'id' shows"
                    + " your groups",
                refusal(choice.of(new Requested(count(1), ALICE))));
        assertFalse(choice.scope(new Requested(count(1), ALICE)).isForbidden());
        assertEquals(1, chosen(choice.of(new Requested(count(1), Owner.guessed("alice")))).size());
    }

    @Test
    void hoursThatAreUsedUpComeAgain() throws Exception {
        Rule<Duration> week =
                new Rule<>(Subject.parse("@students"), Duration.ofHours(40), KEY, "config.toml:7");
        Allowance spent =
                Limits.NONE
                        .of(ALICE, Set.of())
                        .with(
                                Optional.of(
                                        new Allowance.Spent(
                                                week,
                                                false,
                                                Instant.parse("2024-01-08T12:00:00Z"))));
        Limits limits =
                new Limits(
                        List.of(),
                        List.of(),
                        List.of(week),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of());
        GpuChoice choice = choice(limits, new Allowances(limits, Map.of(ALICE, spent)));
        String refusal = refusal(choice.of(new Requested(count(1), ALICE)));
        assertTrue(
                refusal.matches(
                        "alice has used the 40 GPU-hours that each member of students has in a week"
                            + " \\(.*\\), and gets GPUs again from 2024-01-08 \\d\\d:00; wait with"
                            + " --gpu-wait"),
                refusal);
        assertTrue(choice.keeping(TestingLeases.ticket(1, ALICE, count(1))).isEmpty());
        assertFalse(choice.scope(new Requested(count(1), ALICE)).isForbidden());
    }

    /** All unknown users count as one; a name by a label does not have that user's limit. */
    @Test
    void aGuessIsNobody() {
        Limits limits = limits(rules("alice", 4), List.of());
        assertEquals(Optional.empty(), limits.of(Owner.guessed("alice"), Set.of()).gpus());
        assertEquals(Optional.empty(), limits.of(Owner.UNKNOWN, Set.of()).gpus());
        assertEquals(4, limits.of(ALICE, Set.of()).gpus().orElseThrow().limit());
        assertEquals(
                4,
                limits(rules("" + ALICE.uid(), 4), List.of())
                        .of(new Owner(ALICE.uid(), "uid 1001"), Set.of())
                        .gpus()
                        .orElseThrow()
                        .limit());
    }
}
