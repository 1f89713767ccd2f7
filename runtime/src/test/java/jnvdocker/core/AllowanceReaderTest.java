package jnvdocker.core;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.ALICE;
import static jnvdocker.lease.TestingLeases.B;
import static jnvdocker.lease.TestingLeases.BOB;
import static jnvdocker.lease.TestingLeases.CLIENT;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.lease.Allowance;
import jnvdocker.lease.BookingRule;
import jnvdocker.lease.Claim;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.lease.Limits;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Rule;
import jnvdocker.lease.Subject;
import jnvdocker.lease.TestingLeases;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.supply.AllowanceReader;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Optional;

/** The GPU-hours of users in days and weeks, and the groups that they are in. */
class AllowanceReaderTest {
    /** A Monday. */
    private static final String MONDAY = "2024-01-08T";

    private static final Owner ROOT = new Owner(0, "root");

    @TempDir private Path directory;
    private LeaseRegistry registry;
    private Instant now = at("2024-01-05T00:00");

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> now), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    private static Instant at(String local) {
        return LocalDateTime.parse(local).atZone(ZoneId.systemDefault()).toInstant();
    }

    private void hold(Owner owner, String from, String until, Gpu... gpus) throws IOException {
        now = at(from);
        Claim claim = reserve(owner, gpus);
        now = at(until);
        TestingLeases.end(registry, registry.liveOf(claim.id()).orElseThrow(), "gone");
    }

    private Claim reserve(Owner owner, Gpu... gpus) throws IOException {
        Claim claim = TestingLeases.claim(TestingLeases.newKey().id(), owner, gpus);
        TestingLeases.reserve(registry, claim, CLIENT);
        return claim;
    }

    private static List<Rule<Duration>> hours(int hours) {
        return List.of(new Rule<>(Subject.EVERYBODY, Duration.ofHours(hours), "x", "y"));
    }

    private static LeasePolicy rules(Limits limits) {
        return rules(limits, Optional.empty());
    }

    private static LeasePolicy rules(Limits limits, Optional<Duration> afterStop) {
        return new LeasePolicy(limits, 1, List.of(), List.of(), false, afterStop, BookingRule.NONE);
    }

    private Optional<Instant> until(Owner owner, int perDay, int perWeek) throws IOException {
        Limits limits =
                new Limits(
                        List.of(),
                        hours(perDay),
                        hours(perWeek),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of());
        return new AllowanceReader(registry, AllowanceReader.Groups.OF_THIS_HOST, Pace.REAL)
                .of(rules(limits), List.of(owner))
                .of(owner)
                .spent()
                .map(Allowance.Spent::until);
    }

    @Test
    void hoursAreThoseOfADayAndOfAWeekThatBeginsOnMonday() throws IOException {
        hold(ALICE, "2024-01-07T20:00", MONDAY + "01:00", A, B);
        hold(BOB, MONDAY + "01:00", MONDAY + "03:00", A);
        now = at(MONDAY + "12:00");
        assertEquals(Optional.of(at("2024-01-09T00:00")), until(ALICE, 2, 9));
        assertEquals(Optional.of(at("2024-01-15T00:00")), until(ALICE, 9, 2));
        assertEquals(Optional.empty(), until(ALICE, 3, 3));
        assertEquals(Optional.empty(), until(BOB, 3, 9));
        now = at("2024-01-09T12:00");
        assertEquals(Optional.empty(), until(ALICE, 2, 9));
        assertEquals(Optional.of(at("2024-01-15T00:00")), until(ALICE, 2, 2));
    }

    @Test
    void whatRunsCountsUntilNow() throws IOException {
        now = at(MONDAY + "10:00");
        reserve(ALICE, A, B);
        now = at(MONDAY + "11:00");
        assertEquals(Optional.empty(), until(ALICE, 3, 9));
        now = at(MONDAY + "11:30");
        assertEquals(Optional.of(at("2024-01-09T00:00")), until(ALICE, 3, 9));
    }

    /** Guesses, and users without a name, are one. */
    @Test
    void hoursOfTheUnknownAreAddedUp() throws IOException {
        hold(Owner.UNKNOWN, MONDAY + "01:00", MONDAY + "02:00", A);
        hold(Owner.guessed("alice"), MONDAY + "02:00", MONDAY + "03:00", A);
        assertTrue(until(Owner.guessed("bob"), 2, 9).isPresent());
        assertTrue(until(Owner.UNKNOWN, 3, 9).isEmpty());
    }

    @Test
    void groupsAreThoseOfTheHost() throws IOException {
        Rule<Integer> group = new Rule<>(Subject.parse("@root"), 3, "x", "y");
        Rule<Integer> none = new Rule<>(Subject.parse("@no-such-group"), 1, "x", "y");
        Limits limits =
                new Limits(
                        List.of(none, group),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        List.of());
        AllowanceReader reader =
                new AllowanceReader(registry, AllowanceReader.Groups.OF_THIS_HOST, Pace.REAL);
        Owner nobody = new Owner(1_987_654_320, "uid 1987654320");
        reader.learn(limits, ROOT, Duration.ofSeconds(30));
        reader.learn(limits, nobody, Duration.ofSeconds(30));
        assertEquals(
                3, reader.of(rules(limits), List.of(ROOT)).of(ROOT).gpus().orElseThrow().limit());
        assertEquals(Optional.empty(), reader.of(rules(limits), List.of(nobody)).of(nobody).gpus());
    }
}
