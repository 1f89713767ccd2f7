package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Two hours of a lab in some seconds: students wait for GPUs, within their limits, and containers
 * come and go. Who has which GPU is seen from outside, by the containers' processes and their
 * nodes.
 */
class LabHoursTest extends OneEngineTest {
    private static final Pattern CONTAINER = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern USER = Pattern.compile("LAB_USER=([0-9]+)");

    /** A minute of the lab. */
    private static final long MINUTE_NANOS = 120_000_000;

    private static final String CONFIG =
            """
            [limits]
            61001 = { gpus = 3, priority = 1 }
            61002 = { gpus = 2 }
            61003 = { gpus = 2 }
            "*" = { gpus = 1, allowed = ["0-2"] }
            """;

    private static final Map<Integer, Integer> LIMITS = Map.of(61001, 3, 61002, 2, 61003, 2);

    /** The only GPUs of those who have no line of their own. */
    private static final Set<String> ALLOWED = Set.of("nvidia0", "nvidia1", "nvidia2");

    /**
     * A container that a student wants, all of it in minutes.
     *
     * @param user a uid
     */
    private record Wish(int minute, int user, int gpus, int minutes) {
        String name() {
            return "u" + user + "-" + minute;
        }
    }

    private static final List<Wish> PLAN =
            List.of(
                    new Wish(0, 61002, 2, 30),
                    new Wish(2, 61004, 1, 25),
                    new Wish(4, 61005, 1, 40),
                    new Wish(8, 61006, 1, 20),
                    new Wish(12, 61003, 2, 25),
                    new Wish(14, 61001, 3, 20),
                    new Wish(20, 61004, 1, 15),
                    new Wish(25, 61002, 1, 20),
                    new Wish(30, 61007, 1, 15),
                    new Wish(45, 61005, 1, 10),
                    new Wish(60, 61001, 1, 30),
                    new Wish(70, 61006, 1, 20),
                    new Wish(80, 61003, 2, 15));

    private final List<String> wrong = new ArrayList<>();
    private int seen;

    @AfterEach
    void noLimitIsLeft() {
        lab.configure("");
    }

    @Test
    void nobodyHasAnothersGpuNorMoreThanTheLimit() throws Exception {
        lab.configure(CONFIG);
        Map<Wish, Process> clients = new HashMap<>();
        long begun = System.nanoTime();
        for (Wish wish : PLAN) {
            while (System.nanoTime() - begun < wish.minute() * MINUTE_NANOS) {
                observe();
            }
            clients.put(wish, start(wish));
        }
        while (clients.values().stream().anyMatch(Process::isAlive)) {
            observe();
        }
        assertEquals(List.of(), wrong);
        for (Map.Entry<Wish, Process> client : clients.entrySet()) {
            assertEquals(0, client.getValue().exitValue(), client.getKey()::toString);
        }
        assertTrue(seen > 3 * PLAN.size(), "containers were seen " + seen + " times only");
        hoursAddUp(begun);
    }

    private static double seconds(Wish wish) {
        return wish.minutes() * MINUTE_NANOS / 1e9;
    }

    private static Process start(Wish wish) {
        String seconds = "" + seconds(wish);
        return lab.as(
                        wish.user(),
                        "run",
                        "--rm",
                        "--name",
                        wish.name(),
                        "--network",
                        "none",
                        "-e",
                        "LAB_USER=" + wish.user(),
                        "--gpus",
                        wish.gpus(),
                        "--gpu-wait",
                        "plain",
                        "sleep",
                        seconds)
                .start();
    }

    /** A process of a container, its user, and the GPUs whose nodes it has. */
    private record Holder(Path process, int user, Set<String> nodes) {
        boolean lives() {
            return !nodesOf(process).isEmpty();
        }
    }

    /** Scans all processes: those that still live then lived at one time. */
    private void observe() throws IOException {
        Map<String, Holder> holders = new HashMap<>();
        try (DirectoryStream<Path> processes =
                Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : processes) {
                Matcher container = CONTAINER.matcher(read(process.resolve("cgroup")));
                Set<String> nodes = container.find() ? nodesOf(process) : Set.of();
                Matcher user = USER.matcher(read(process.resolve("environ")));
                if (!nodes.isEmpty() && user.find()) {
                    int uid = Integer.parseInt(user.group(1));
                    holders.putIfAbsent(container.group(), new Holder(process, uid, nodes));
                }
            }
        }
        holders.values().removeIf(holder -> !holder.lives());
        seen += holders.size();
        check(holders.values());
        LockSupport.parkNanos(50_000_000);
    }

    private void check(Collection<Holder> holders) {
        Map<String, Holder> held = new HashMap<>();
        Map<Integer, Integer> counts = new HashMap<>();
        for (Holder holder : holders) {
            counts.merge(holder.user(), holder.nodes().size(), Integer::sum);
            for (String node : holder.nodes()) {
                Holder other = held.put(node, holder);
                if (other != null) {
                    wrong.add(node + " is held by " + other + " and " + holder);
                }
            }
            if (!LIMITS.containsKey(holder.user()) && !ALLOWED.containsAll(holder.nodes())) {
                wrong.add("not allowed: " + holder);
            }
        }
        counts.forEach((user, count) -> {
            if (count > LIMITS.getOrDefault(user, 1)) {
                wrong.add(user + " has " + count);
            }
        });
    }

    /** The nodes of GPUs in a process's own root; none of a process that is gone. */
    private static Set<String> nodesOf(Path process) {
        Set<String> nodes = new TreeSet<>();
        try (DirectoryStream<Path> found =
                Files.newDirectoryStream(process.resolve("root/dev"), "nvidia[0-9]*")) {
            found.forEach(node -> nodes.add(node.getFileName().toString()));
        } catch (IOException | DirectoryIteratorException e) {
            return Set.of();
        }
        return nodes;
    }

    /** Reads a file of a process; empty if that is gone. */
    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    /**
     * Nobody has fewer GPU-hours than the containers took, and all together no more than there are.
     */
    private static void hoursAddUp(long begun) {
        JsonNode users = lab.jnvdocker("gpu", "history", "--since", "1h", "--json").ok().json();
        Map<Integer, Double> seconds = new HashMap<>();
        double sum = 0;
        for (JsonNode user : users.path("users")) {
            seconds.put(user.path("uid").asInt(), 3600 * user.path("gpu_hours").asDouble());
            sum += 3600 * user.path("gpu_hours").asDouble();
        }
        Map<Integer, Double> least = new HashMap<>();
        for (Wish wish : PLAN) {
            least.merge(wish.user(), wish.gpus() * seconds(wish), Double::sum);
        }
        least.forEach((user, its) ->
                assertTrue(
                        seconds.getOrDefault(user, 0.0) >= its - 0.1,
                        () -> user + " had " + its + " s, and not " + seconds));
        assertTrue(sum <= 4 * (System.nanoTime() - begun) / 1e9, () -> "too many: " + seconds);
    }
}
