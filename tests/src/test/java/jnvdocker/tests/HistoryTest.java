package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.Lab;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * {@code jnvdocker gpu history}: which users have had GPUs for how long, and how long that is kept.
 */
class HistoryTest extends OneEngineTest {
    private static final String GPU_1 = "GPU-5c1a1003-1d2c-4e5f-8a9b-012345678901";
    private static final String GONE = "GPU-99999999-1d2c-4e5f-8a9b-012345678909";

    /** A test that has recorded nothing leaves nothing to forget. */
    @AfterEach
    void forgetTheHistory() {
        if (!lab.registry().hasClaims()) {
            return;
        }
        lab.startDaemon();
        lab.clear();
        lab.daemon().stop();
        for (String table : List.of("lease_gpu", "lease", "claim_gpu", "claim", "gpu")) {
            lab.registry().change("DELETE FROM " + table);
        }
        lab.daemon().config("");
    }

    private static JsonNode json(Object... options) {
        List<Object> words = new ArrayList<>(List.of("gpu", "history", "--json"));
        words.addAll(Arrays.asList(options));
        String text = lab.jnvdocker(words.toArray()).ok().out();
        try {
            return new ObjectMapper().readTree(text);
        } catch (JsonProcessingException e) {
            throw new AssertionError(text, e);
        }
    }

    /** Records a past lease as an earlier daemon would; no daemon may run meanwhile. */
    private static void past(String claim, String user, String gpu, Duration ago, Duration length) {
        long end = Instant.now().minus(ago).toEpochMilli();
        lab.registry()
                .change(
                        ("INSERT INTO claim (id, origin, engine, uid, owner, created, forgotten)"
                                        + " VALUES ('%s', 'engine', 'e', %d, '%s', 0, %d)")
                                .formatted(claim, user.hashCode() & 0xffff, user, end));
        lab.registry()
                .change(
                        ("INSERT INTO claim_gpu (claim, gpu, position, minor)"
                                        + " VALUES ('%s', '%s', 1, 1)")
                                .formatted(claim, gpu));
        lease(claim, gpu, ago, length);
    }

    private static void lease(String claim, String gpu, Duration ago, Duration length) {
        long end = Instant.now().minus(ago).toEpochMilli();
        lab.registry()
                .change(
                        ("INSERT INTO lease (claim, holder, boot, pid, start, since, until,"
                                        + " evidence) VALUES ('%s', 'held', 'b', 1, 1, %d, %d,"
                                        + " 'it is gone')")
                                .formatted(claim, end - length.toMillis(), end));
        lab.registry()
                .change(
                        ("INSERT INTO lease_gpu (lease, gpu, live)"
                                        + " SELECT max(id), '%s', 0 FROM lease")
                                .formatted(gpu));
        lab.registry()
                .change(
                        "INSERT OR IGNORE INTO gpu (uuid, idle_since) VALUES ('%s', %d)"
                                .formatted(gpu, end));
    }

    @Test
    void whatRunsCountsUntilNowAndWhatRanUntilItsEnd() {
        assertEquals(
                "nobody has held a GPU since",
                lab.jnvdocker("gpu", "history").ok().out().substring(0, 27));
        lab.run("train-7", 0);
        lab.run("train-8", 1);
        lab.docker("stop", "train-8").ok();
        lab.awaitHolders(Map.of(0, "train-7"));
        JsonNode first = json("--since", "1h");
        JsonNode user = first.path("users").path(0);
        assertEquals(1, first.path("users").size(), first::toString);
        assertEquals(2, user.path("leases").asInt(), first::toString);
        assertEquals(2, user.path("containers").asInt(), first::toString);
        assertEquals(1, user.path("gpus_now").asInt(), first::toString);
        assertEquals(1.0, user.path("share").asDouble(), first::toString);
        assertEquals(first.path("until"), user.path("last"));
        double hours = user.path("gpu_hours").asDouble();
        assertTrue(hours > 0 && hours < 0.1, first::toString);
        assertTrue(json().path("gpu_hours").asDouble() > hours, "time passes");
        lab.docker("stop", "train-7").ok();
        lab.awaitHolders(Map.of());
        assertEquals(json().path("gpu_hours"), json().path("gpu_hours"));
        String table = lab.jnvdocker("gpu", "history", "--user", "0").ok().out();
        assertTrue(
                table.startsWith("USER") && table.contains(" GPU-hours since "), table::toString);
    }

    /** On Debian each user has a group of the same name, which counts nobody together. */
    @Test
    void groupsAreThoseOfTheLimitsOrThoseThatAreGiven() throws IOException {
        lab.daemon().stop();
        past("aaaaaaaaaaaa", "daemon", GPU_1, Duration.ofHours(10), Duration.ofHours(4));
        lab.registry().change("UPDATE claim SET uid = 1");
        Path groups = Directories.make("groups").resolve("group");
        Files.writeString(
                groups,
                Files.readString(Path.of("/etc/group"))
                        + "students:x:60001:daemon\nstaff2:x:60002:bin,daemon\n");
        lab.daemon().config("[limits]\n'@staff2' = { gpus = 3 }\n'@students' = { gpus = 2 }\n");
        String mount = "mount --bind $0 /etc/group && exec \"$@\"";
        lab.daemon()
                .jnvdocker("gpu", "ls")
                .after("unshare", "--mount", "sh", "-c", mount, groups)
                .run()
                .ok();
        assertEquals("staff2", group());
        assertEquals("students", group("--groups", "none-such,students,staff2"));
        assertEquals("daemon", group("--groups", "none-such"));
        lab.daemon().stop();
        Directories.remove(groups.getParent());
    }

    private static String group(String... options) {
        List<Object> words = new ArrayList<>(List.of("--by", "group"));
        words.addAll(List.of(options));
        return json(words.toArray()).path("users").path(0).path("user").asText();
    }

    /** This includes a GPU that the host no longer has. */
    @Test
    void oneGpuIsShownWithItsLeases() {
        lab.daemon().stop();
        past("aaaaaaaaaaaa", "alice", GPU_1, Duration.ofHours(10), Duration.ofHours(4));
        past("bbbbbbbbbbbb", "bob", GPU_1, Duration.ofHours(5), Duration.ofHours(2));
        past("cccccccccccc", "carol", GONE, Duration.ofHours(1), Duration.ofHours(1));
        lab.startDaemon();
        lab.run("train-7", 1);
        JsonNode one = json("--gpu", "1");
        assertEquals(GPU_1, one.path("gpu").asText());
        assertEquals(
                List.of("held", "ended", "ended"), one.path("leases").findValuesAsText("state"));
        assertEquals(3, json("--gpu", GPU_1, "-n", "2").path("leases").size());
        assertEquals(2, json("--gpu", "GPU-5c1a1", "-n", "1").path("leases").size());
        assertEquals(
                List.of("bbbbbbbbbbbb"),
                json("--gpu", "1", "--user", "bob").path("leases").findValuesAsText("claim"));
        assertEquals(
                List.of("carol"), json("--gpu", "gpu-9999").path("users").findValuesAsText("user"));
        assertTrue(json().path("leases").isNull());
        String text = lab.jnvdocker("gpu", "history", "--gpu", "1").ok().out();
        assertTrue(text.contains("train-7") && text.contains("it is gone"), text::toString);
        assertEquals(125, lab.jnvdocker("gpu", "history", "--gpu", "9").exitCode());
        assertEquals(125, lab.jnvdocker("gpu", "history", "--gpu", "GPU-7").exitCode());
    }

    @ParameterizedTest
    @CsvSource({
        "--since 7, --since: '7' is not a duration; write one as in 90s",
        "--since 0d, --since: '0d' is not between 1m and 36500d; write another",
        "--since 2026-02-30, --since: '2026-02-30' is no date; write one as in",
        "--since 9999-01-01, --since: '9999-01-01' is not in the past; take",
        "--since 1h --until 2h, --until 2h is not after --since 1h; see",
        "--since, Missing required parameter for option '--since'",
        "-n 5, --limit is about the leases of one GPU; add --gpu",
        "--groups a, --groups are for --by group; see 'jnvdocker gpu history --help'",
        "--gpu 0 -n -1, --limit -1 is not between 0 and 100000",
        "--gpu 0 -n many, --limit: 'many' is not a whole number; see",
        "--gpu 0 -n 99999999999, --limit: '99999999999' is too large a number; see",
        "alice, unexpected argument: alice; see 'jnvdocker gpu history --help'",
        "--sinc 7d, unknown option: --sinc (did you mean --since?); see"
    })
    void wrongUsageIsReportedWithItsExitCode(String options, String message) {
        List<Object> words = new ArrayList<>(List.of("gpu", "history"));
        words.addAll(Arrays.asList(options.split(" ")));
        Command.Result result = lab.jnvdocker(words.toArray());
        assertEquals(2, result.exitCode(), result::toString);
        assertTrue(result.err().startsWith("jnvdocker: " + message), result::toString);
    }

    @Test
    void whatIsTooOldIsDeletedWhenTheDaemonStarts() {
        lab.run("train-7", 1);
        lab.docker("stop", "train-7").ok();
        lab.awaitHolders(Map.of());
        String claim = lab.registry().claims().iterator().next();
        lab.daemon().stop();
        past("aaaaaaaaaaaa", "alice", GPU_1, Duration.ofDays(40), Duration.ofHours(1));
        past("bbbbbbbbbbbb", "bob", GPU_1, Duration.ofDays(20), Duration.ofHours(1));
        lease(claim, GPU_1, Duration.ofDays(50), Duration.ofHours(1));
        lab.daemon().config("keep_history = '30d'");
        lab.startDaemon();
        Lab.await(() -> {
            int leases = json("--gpu", "1", "--since", "100d").path("leases").size();
            return leases == 2 ? List.of() : List.of("leases: " + leases);
        });
        JsonNode history = json("--since", "100d");
        assertEquals(
                List.of("bob", "root"),
                history.path("users").findValuesAsText("user").stream().sorted().toList());
        assertTrue(
                Instant.parse(history.path("kept_since").asText())
                        .isAfter(Instant.now().minus(Duration.ofDays(31))),
                history::toString);
        assertTrue(
                lab.jnvdocker("gpu", "history", "--since", "100d")
                        .ok()
                        .out()
                        .contains(" is not kept (keep_history)"));
        assertTrue(json("--since", "29d").path("kept_since").isNull());
        // Its claim is still valid.
        lab.docker("start", "train-7").ok();
        lab.awaitHolders(Map.of(1, "train-7"));
    }
}
