package jnvdocker.registry;

import static jnvdocker.lease.TestingLeases.A;
import static jnvdocker.lease.TestingLeases.CLIENT;
import static jnvdocker.lease.TestingLeases.THEN;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;
import jnvdocker.lease.Claim;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimedGpu;
import jnvdocker.lease.Lease;
import jnvdocker.lease.LeaseBar;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.TestingLeases;
import jnvdocker.words.ForeignText;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Whatever others name their containers: a row has some kilobytes at most. */
@Attack(
        by = "a member",
        what =
                "names containers with 900,000 characters, and lists the leases, or queries the"
                        + " chart over the socket",
        result =
                "a name has 255 characters, and a lease some kilobytes; before, 0.9 MB each, and"
                        + " lists of such leases took more memory than the daemon has")
@Attack(
        by = "a member",
        what = "has 20,000 leases, each with a name of its own of 255 characters",
        result = "the chart has a million characters of names, and all bars")
class LongNamesTest {
    private static final String LONG = "n".repeat(900_000);
    private static final Owner OWNER = new Owner(1001, LONG);
    private static final int ROWS = 20;

    @TempDir Path directory;
    private LeaseRegistry registry;

    @BeforeEach
    void open() throws IOException {
        registry =
                LeaseRegistry.open(
                        directory, "boot", TestingLeases.steady(() -> THEN), TestingLeases.RANDOM);
    }

    @AfterEach
    void close() throws IOException {
        registry.close();
    }

    /** All of it is in one file then. */
    private long sizeAtRest() throws IOException {
        registry.close();
        open();
        return size();
    }

    private long size() {
        return directory.resolve("registry.db").toFile().length();
    }

    static Stream<Origin> origins() {
        Optional<String> image = Optional.of(LONG);
        return Stream.of(
                new Origin.EngineContainer("engine", image),
                new Origin.HostProcess(LONG),
                new Origin.MesosTask(LONG),
                new Origin.OciContainer("/run/runc", image),
                new Origin.Pod("uid", LONG, LONG));
    }

    private static Claim claim(int number, Origin origin) {
        return new Claim(
                ClaimKey.secretless("%012x".formatted(number)),
                origin,
                OWNER,
                List.of(ClaimedGpu.of(A)),
                THEN,
                Optional.of(new Claim.ContainerRef("c" + number, LONG)));
    }

    @ParameterizedTest
    @MethodSource("origins")
    void aLeaseTakesLittle(Origin origin) throws Exception {
        for (int i = 0; i < ROWS; i++) {
            Claim claim = claim(i, origin);
            TestingLeases.reserve(registry, claim, CLIENT);
            Lease lease = registry.liveOf(claim.id()).orElseThrow();
            registry.decide(leases -> {
                leases.name(claim.id(), new Claim.ContainerRef("c", claim.id() + LONG));
                return leases.end(SeenEnd.gone(lease, LONG));
            });
        }
        assertTrue(sizeAtRest() < 600 << 10, () -> size() + " bytes");
        List<Lease> past = registry.history().past(Long.MAX_VALUE, ROWS);
        assertEquals(ROWS, past.size());
        assertEquals(ForeignText.NAME, past.getFirst().claim().owner().name().length());
        assertEquals(ForeignText.LINE, past.getFirst().end().orElseThrow().evidence().length());
    }

    @Test
    void whatIsNoLeaseTakesLittleToo() throws Exception {
        registry.cordon(A.uuid(), OWNER, LONG);
        Claim claim = claim(1, TestingLeases.CUDA);
        TestingLeases.reserve(registry, claim, CLIENT);
        TestingLeases.mount(registry, claim, "u", CLIENT);
        registry.claims()
                .refusedStart(claim.id(), new Refusal("GPU 0 is held by " + LONG, LONG), true);
        registry.claims().missedStart(claim.id(), LONG, LONG);
        assertTrue(sizeAtRest() < 600 << 10, () -> size() + " bytes");
        String what = registry.claims().refusedStarts().getFirst().what();
        assertEquals(ForeignText.LINE, what.length());
    }

    /** Each with a name of its own. */
    @Test
    void aChartHasNotMoreTextThanItMay() throws Exception {
        registry.close();
        String numbers =
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) ";
        TestingLeases.sql(
                directory,
                "INSERT INTO claim (id, origin, engine, uid, owner, created, container, name) "
                        + numbers
                        + "SELECT format('%012x', i), 'engine', 'e', 1000, 'alice', 0, 'c',"
                        + " format('%0255d', i) FROM n");
        TestingLeases.sql(
                directory,
                "INSERT INTO claim_gpu (claim, gpu, position, minor)"
                        + " SELECT id, 'GPU-a', 0, 0 FROM claim");
        TestingLeases.sql(
                directory,
                "INSERT INTO lease (claim, holder, boot, pid, start, since, until, evidence) "
                        + numbers
                        + "SELECT format('%012x', i), 'held', 'b', 1, 1, i, i + 1, 'gone' FROM n");
        TestingLeases.sql(
                directory,
                "INSERT INTO lease_gpu (lease, gpu, live) SELECT id, 'GPU-a', 0 FROM lease");
        open();
        List<LeaseBar> bars = registry.timeline().bars(Instant.EPOCH, 30_000);
        assertEquals(20_000, bars.size());
        assertEquals("…", bars.getLast().name());
        assertEquals(255, bars.getFirst().name().length());
        int text = bars.stream().mapToInt(bar -> bar.name().length()).sum();
        assertTrue(text < TimelineRows.MOST_TEXT + bars.size(), () -> text + " characters");
    }
}
