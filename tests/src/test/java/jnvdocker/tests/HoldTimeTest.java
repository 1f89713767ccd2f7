package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.attack.Attack;
import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** How long GPUs may be held: the end is shown, and holders are stopped if the lab wants that. */
@Attack(
        by = "a member",
        what =
                "runs one-second containers on each GPU, with `hold_after_stop` and a limit of"
                        + " one GPU",
        result =
                "one GPU is kept, counts as used and takes GPU-hours; before, the member kept"
                        + " every GPU and `gpu limits` showed none")
class HoldTimeTest extends OneEngineTest {
    private static final int ALICE = 61001;
    private static final int BOB = 61002;

    @AfterEach
    void nothingIsLimited() {
        for (JsonNode booking : lab.jnvdocker("gpu", "book", "--json").json()) {
            lab.jnvdocker("gpu", "book", "--cancel", booking.path("number").asText()).ok();
        }
        lab.configure("");
    }

    private static Command hold(int user, int gpu, String name, String... options) {
        List<Object> words = new ArrayList<>(List.of("run", "-d", "--stop-signal", "KILL"));
        words.addAll(List.of("--gpus", "device=" + gpu, "--name", name));
        words.addAll(List.of(options));
        words.addAll(List.of("plain", "sleep", "1000"));
        return lab.as(user, words.toArray());
    }

    private static void assertRefused(String pattern, Command.Result result) {
        assertEquals(125, result.exitCode(), result::toString);
        Lab.assertMatches("jnvdocker: " + pattern + "\n", result.err());
    }

    @Test
    void everybodySeesWhenALeaseEndsAndItsUserExtendsItWithinTheLimit() {
        lab.configure("[limits]\n61001 = { max_hold = '8h' }\n");
        hold(ALICE, 0, "train", "--gpu-time", "2h").run().ok();
        lab.awaitHolders(Map.of(0, "train"));
        assertEquals(Optional.of(Duration.ofHours(2)), lab.timeOf("train"));
        assertFalse(lab.lease("train").path("overdue").asBoolean());
        String until = "until (\\S+ )?\\d\\d:\\d\\d";
        String shown = lab.jnvdocker("gpu", "ls").ok().out();
        assertTrue(shown.lines().anyMatch(line -> line.matches(".*train .* " + until)), shown);
        assertRefused(
                "GPU 0 \\(GPU-5c1a0000\\) is held by .*, " + until + "; wait with --gpu-wait.*",
                lab.as(BOB, "run", "--gpus", "device=0", "plain", "true").run());
        Lab.assertMatches(
                "GPU 0 \\(GPU-5c1a0000\\) of uid 61001's container train: " + until + "\n",
                lab.as(ALICE, "gpu", "extend", "train", "3h").run().ok().out());
        assertEquals(Optional.of(Duration.ofHours(5)), lab.timeOf("train"));
        lab.docker("restart", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
        assertTrue(lab.timeOf("train").orElseThrow().compareTo(Duration.ofHours(5)) <= 0);
        assertTrue(lab.timeOf("train").orElseThrow().compareTo(Duration.ofHours(4)) > 0);
        assertRefused(
                ".*'s container train has held its GPUs since .*, and 61001 may hold GPUs for 8h at"
                        + " most \\(limits.61001.max_hold\\); extend it until .* at most; root can"
                        + " extend it further",
                lab.as(ALICE, "gpu", "extend", "train", "4h").run());
        lab.jnvdocker("gpu", "extend", "train", "10h").ok();
        assertTrue(lab.timeOf("train").orElseThrow().compareTo(Duration.ofHours(14)) > 0);
    }

    @Test
    void timeIsLimitedToThatOfTheUser() {
        lab.configure("[limits]\n61001 = { max_hold = '8h' }\n");
        assertRefused(
                "9h requested, but 61001 may hold GPUs for 8h at most \\(limits.61001.max_hold\\);"
                        + " request a shorter time",
                hold(ALICE, 0, "long", "--gpu-time=9h").run());
        hold(ALICE, 0, "train").run().ok();
        hold(BOB, 1, "free").run().ok();
        lab.awaitHolders(Map.of(0, "train", 1, "free"));
        assertEquals(Optional.of(Duration.ofHours(8)), lab.timeOf("train"));
        assertEquals(Optional.empty(), lab.timeOf("free"));
        assertRefused(
                ".*'s container free may hold its GPUs as long as it runs; there is nothing to"
                        + " extend",
                lab.jnvdocker("gpu", "extend", "free", "1h"));
        assertRefused(
                "--gpu-time: 'soon' is not a duration; write one as in 90s, 30m or 1d12h",
                hold(BOB, 1, "soon", "--gpu-time", "soon").run());
    }

    @Test
    void gpusOfAStoppedContainerAreKeptForItsOwner() {
        String run = "run --rm --gpus device=1 --name train plain true";
        String other = "run --rm --gpus device=1 plain true";
        lab.keepNothing();
        lab.as(BOB, "create", "--gpus=device=1", "--name=later", "plain", "true").run().ok();
        lab.as(ALICE, (Object[]) run.split(" ")).run().ok();
        lab.configure("hold_after_stop = '10m'\n");
        lab.awaitHolders(Map.of());
        String kept =
                "kept for uid 61001 until (\\S+ )?\\d\\d:\\d\\d, since container train has stopped";
        for (boolean restarted : List.of(false, true)) {
            if (restarted) {
                lab.daemon().stop();
            }
            String shown = lab.jnvdocker("gpu", "ls").ok().out();
            assertTrue(shown.lines().anyMatch(line -> line.matches("1 .* FREE .* " + kept)), shown);
            assertRefused(
                    "GPU 1 \\(GPU-5c1a1003\\) is " + kept + "; wait with --gpu-wait.*",
                    lab.as(BOB, (Object[]) other.split(" ")).run());
        }
        Command.Result start = lab.docker("start", "later");
        assertTrue(
                start.err()
                        .replaceAll("\\s+", " ")
                        .matches(
                                ".*GPU 1 \\(GPU-5c1a1003\\) is "
                                        + kept
                                        + "; start this container again when it is free.*"),
                start::toString);
        String why = lab.jnvdocker("gpu", "why", "1").ok().out();
        assertTrue(why.contains("kept for uid 61001 until "), why);
        lab.as(ALICE, (Object[]) run.split(" ")).run().ok();
        lab.awaitHolders(Map.of());
        String beginning = lab.registry().claimOf("train").substring(0, 5);
        lab.as(ALICE, "run", "--rm", "--gpus=device=2", "--name", beginning, "plain", "true")
                .run()
                .ok();
        lab.awaitHolders(Map.of());
        assertRefused(
                "'"
                        + beginning
                        + "' matches more than one claim: .* "
                        + beginning
                        + ".*; type more of its claim's id",
                lab.as(ALICE, "gpu", "release", beginning).run());
        String released = lab.as(ALICE, "gpu", "release", "train").run().ok().out();
        assertTrue(released.contains("the GPUs of train are no longer kept for uid 61001\n"));
        lab.docker("start", "later").ok();
        lab.awaitHolders(Map.of());
    }

    /** One second of each GPU is not enough to have them all for ten minutes. */
    @Test
    void keptGpusCountForTheLimitOfTheirOwner() {
        lab.keepNothing();
        lab.configure("hold_after_stop = '10m'\nlimits.'*'.gpus = 1\n");
        for (int gpu = 0; gpu < 4; gpu++) {
            String run = "run --rm --name t" + gpu + " --gpus device=" + gpu + " plain true";
            lab.as(ALICE, (Object[]) run.split(" ")).run().ok();
            lab.awaitHolders(Map.of());
        }
        String shown = lab.jnvdocker("gpu", "ls").ok().out();
        assertEquals(
                List.of("3"),
                shown.lines()
                        .filter(line -> line.contains("kept for uid 61001"))
                        .map(line -> line.substring(0, 1))
                        .toList(),
                shown);
        String limits = lab.as(ALICE, "gpu", "limits").run().ok().out();
        assertTrue(limits.lines().anyMatch(line -> line.matches("gpus +1 +1 .*")), limits);
        assertRefused(
                "GPU 3 .* is kept for uid 61001 until .*",
                lab.as(BOB, "run", "--rm", "--gpus", "device=3", "plain", "true").run());
        lab.as(BOB, "run", "--rm", "--gpus", "device=0", "plain", "true").run().ok();
        lab.as(ALICE, "run", "--rm", "--gpus", "device=1", "plain", "true").run().ok();
        lab.awaitHolders(Map.of());
        lab.as(BOB, "run", "--rm", "--gpus", "device=3", "plain", "true").run().ok();
        lab.awaitHolders(Map.of());
    }

    private static final String WHEN = "(\\S+ )?\\d\\d:\\d\\d";

    @Test
    void bookedGpuIsItsUsersFromTheBeginningOn() {
        assertRefused(
                "GPUs cannot be booked on this host; an administrator can allow it \\(bookings\\)",
                lab.as(ALICE, "gpu", "book", "1", "--for", "1h").run());
        lab.configure("bookings = 'end'\n");
        String other = "run --rm --gpus device=1 plain true";
        lab.as(BOB, "create", "--gpus=device=1", "--name=later", "plain", "true").run().ok();
        String made = lab.as(ALICE, "gpu", "book", "device=1", "--for", "1h").run().ok().out();
        Lab.assertMatches(
                "booking \\d+: GPU 1 for uid 61001 from " + WHEN + " until " + WHEN + "\n", made);
        String number = number(made);
        String booked = "booked for uid 61001 until " + WHEN;
        for (boolean restarted : List.of(false, true)) {
            if (restarted) {
                lab.daemon().stop();
            }
            String shown = lab.jnvdocker("gpu", "ls").ok().out();
            assertTrue(
                    shown.lines().anyMatch(line -> line.matches("1 .* FREE .* " + booked)), shown);
            assertRefused(
                    "GPU 1 \\(GPU-5c1a1003\\) is " + booked + "; wait with --gpu-wait.*",
                    lab.as(BOB, (Object[]) other.split(" ")).run());
        }
        Command.Result start = lab.docker("start", "later");
        assertTrue(start.err().replaceAll("\\s+", " ").matches(".* is " + booked + "; .*"));
        hold(ALICE, 1, "own").run().ok();
        lab.awaitHolders(Map.of(1, "own"));
        assertEquals(Optional.empty(), lab.timeOf("own"));
        lab.docker("rm", "-f", "own").ok();
        lab.awaitHolders(Map.of());
        assertEquals(
                "cancelled booking %s of GPU 1\n".formatted(number),
                lab.jnvdocker("gpu", "book", "--cancel", number).ok().out());
        lab.docker("start", "later").ok();
        lab.awaitHolders(Map.of());
        assertRefused(
                "there is no booking %s; 'jnvdocker gpu book' lists the bookings".formatted(number),
                lab.jnvdocker("gpu", "book", "--cancel", number));
    }

    private static String number(String made) {
        return made.replaceAll("(?s)booking (\\d+).*", "$1");
    }

    /** As libc reads it, UTC+3 is west of UTC. */
    @Test
    void timesAreThoseOfTheUsersZone() {
        lab.configure("bookings = 'end'\n");
        String day = LocalDate.now(ZoneOffset.UTC).plusDays(3).toString();
        for (String zone : List.of("WEST+3", "<EAST>-3", ":Asia/Tokyo")) {
            String made =
                    lab.daemon()
                            .jnvdocker(
                                    "gpu",
                                    "book",
                                    "device=1",
                                    "--from=" + day + " 10:00",
                                    "--for=1h")
                            .with("TZ", zone)
                            .run()
                            .ok()
                            .out();
            String name = zone.startsWith("W") ? "WEST" : zone.startsWith("<") ? "EAST" : "JST";
            Lab.assertMatches(
                    "booking \\d+: GPU 1 for .* from "
                            + day
                            + " 10:00 "
                            + (name + " until " + day + " 11:00 " + name + "\n.*\n"),
                    made);
            lab.jnvdocker("gpu", "book", "--cancel", number(made)).ok();
        }
    }

    @Test
    void leasesOfOthersEndWhenTheBookingBegins() {
        lab.configure("bookings = 'end'\n");
        hold(BOB, 1, "old").run().ok();
        lab.awaitHolders(Map.of(1, "old"));
        List<Object> book = new ArrayList<>(List.of("gpu", "book", "device=1,2", "--for", "8h"));
        book.addAll(List.of("--from", "tomorrow 23:59", "--for-user", "61001"));
        String made = lab.jnvdocker(book.toArray()).ok().out();
        Lab.assertMatches(
                "booking \\d+: GPUs 1,2 for uid 61001 from "
                        + WHEN
                        + " until "
                        + WHEN
                        + "\n"
                        + "GPU 1 \\(GPU-5c1a1003\\) is held by uid 61002's container old with"
                        + " no end time; contact uid 61002\n"
                        + "others who get them before then are overdue from then on, and not"
                        + " stopped \\(stop_overdue\\)\n",
                made);
        String number = number(made);
        hold(BOB, 2, "next").run().ok();
        hold(ALICE, 0, "own").run().ok();
        lab.awaitHolders(Map.of(0, "own", 1, "old", 2, "next"));
        assertTrue(lab.timeOf("next").orElseThrow().compareTo(Duration.ofDays(2)) <= 0);
        assertEquals(Optional.empty(), lab.timeOf("old"));
        assertRefused(
                ".*'s container next has a GPU that is booked for uid 61001 from .* until .*;"
                        + " extend it until .* at most; root can extend it further",
                lab.as(BOB, "gpu", "extend", "next", "49h").run());
        assertRefused(
                "1 GPU requested from .* until .*, but none can be booked for that time: GPU 2"
                    + " \\(GPU-5c1a2006\\) is booked for uid 61001 from .* until .*; choose another"
                    + " time, or fewer GPUs; 'jnvdocker gpu book' lists the bookings",
                lab.as(BOB, "gpu", "book", "device=2", "--from", "tomorrow 23:58", "--for", "2m")
                        .run());
        Command.Result until =
                lab.as(BOB, "gpu", "book", "device=2", "--from=tomorrow 23:00", "--until=23:59")
                        .run()
                        .ok();
        Lab.assertMatches(
                "booking \\d+: GPU 2 for .* 23:00 until .* 23:59\nothers who get it before .*\n",
                until.out());
        lab.jnvdocker("gpu", "book", "--cancel", number(until.out())).ok();
        String list = lab.jnvdocker("gpu", "book").ok().out();
        Lab.assertMatches(
                "NUMBER +USER +GPUS +FROM +UNTIL\n" + number + " +uid 61001 +1,2 .*\n", list);
        JsonSchemas.check("gpu-book", lab.jnvdocker("gpu", "book", "--json").ok().out());
        lab.docker("rm", "-f", "next", "old").ok();
        lab.awaitHolders(Map.of(0, "own"));
        lab.configure("bookings = 'refuse'\n");
        assertRefused(
                "GPU 1 \\(GPU-5c1a1003\\) is booked for uid 61001 from .* until .*; wait with"
                        + " --gpu-wait, say with --gpu-time that you need less, .*",
                hold(BOB, 1, "long").run());
        lab.jnvdocker("gpu", "book", "--cancel", number).ok();
        hold(BOB, 1, "long").run().ok();
        lab.awaitHolders(Map.of(0, "own", 1, "long"));
    }

    @Test
    void bookingThatCannotBeKeptIsRefused() {
        lab.configure(
                "bookings = 'end'\nstop_overdue = true\n[limits]\n61001 = { max_hold = '2h' }\n");
        assertRefused(
                "no GPU is requested, and a booking needs one; write how many, as in 'gpu book 2"
                        + " --for 8h'",
                lab.as(ALICE, "gpu", "book", "0", "--for", "1h").run());
        assertRefused(
                "3h requested, but .* may hold GPUs for 2h at most \\(limits.61001.max_hold.*\\);"
                        + " book them for less time",
                lab.as(ALICE, "gpu", "book", "1", "--for", "3h").run());
        String made =
                lab.as(ALICE, "gpu", "book", "1", "--for", "2h", "--from", "tomorrow 9:00")
                        .run()
                        .ok()
                        .out();
        // With stop_overdue, the others are stopped.
        Lab.assertMatches("booking \\d+: GPU \\d for uid 61001 from .* until .*\n", made);
        lab.jnvdocker("gpu", "book", "--cancel", number(made)).ok();
    }

    @Test
    void clientThatWaitsIsServedWhenTheBookingIsOver() throws Exception {
        lab.configure("bookings = 'end'\n");
        lab.as(ALICE, "gpu", "book", "4", "--for", "3s").run().ok();
        assertEquals(
                0,
                lab.as(BOB, "run", "--rm", "--gpus=1", "--gpu-wait=1m", "plain", "true")
                        .run()
                        .exitCode());
        lab.awaitHolders(Map.of());
    }

    /** A created container has its time at each start. */
    @Test
    void holderOfAnOverdueLeaseIsStoppedOnlyIfTheLabWantsThat() {
        String create =
                "create --restart always --gpu-time 1s --stop-signal KILL --gpus device=0 --name"
                        + " train plain sleep 1000";
        lab.as(ALICE, (Object[]) create.split(" ")).run().ok();
        lab.docker("start", "train").ok();
        lab.awaitHolders(Map.of(0, "train"));
        Lab.await(() ->
                lab.lease("train").path("overdue").asBoolean()
                        ? List.of()
                        : List.of("it is not overdue"));
        String why = lab.jnvdocker("gpu", "why", "0").ok().out();
        assertTrue(why.contains("It is overdue since "), why);
        assertTrue(lab.jnvdocker("gpu", "ls").ok().out().contains("overdue since "));
        Lab.await(() -> log().contains("the time of the lease is over") ? List.of() : List.of("-"));
        lab.awaitHolders(Map.of(0, "train"));
        lab.configure("stop_overdue = true\n");
        lab.awaitHolders(Map.of());
        assertEquals("exited\n", state("train"));
        assertTrue(log().contains("the lease is overdue"));
        assertSaysWhy(lab.jnvdocker("gpu", "why", "train"));
    }

    @Test
    void processesOfAnOverdueProgramAreEnded() throws Exception {
        lab.configure("stop_overdue = true\n");
        Process program =
                lab.daemon()
                        .jnvdocker(
                                "gpu",
                                "run",
                                "--gpu-time",
                                "1s",
                                "--",
                                "sh",
                                "-c",
                                "trap '' TERM; sleep 1000 & sleep 1000; wait")
                        .start();
        assertEquals(137, program.waitFor());
        lab.awaitHolders(Map.of());
        assertSaysWhy(lab.jnvdocker("gpu", "leases", "--all"));
    }

    private static void assertSaysWhy(Command.Result past) {
        assertTrue(
                past.ok().out().contains("jnvdocker stopped it: the lease is overdue"),
                past::toString);
    }

    private static String log() {
        try {
            return Files.readString(lab.daemon().log());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String state(String container) {
        return lab.docker("inspect", "--format", "{{.State.Status}}", container).ok().out();
    }
}
