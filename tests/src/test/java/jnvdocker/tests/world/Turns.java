package jnvdocker.tests.world;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * Many jobs that take turns on GPUs while processes of the system die. Each job has a name that
 * ends with the number of its GPUs, and writes a line {@code NAME GPUS} to a file when it is done.
 */
public final class Turns implements AutoCloseable {
    /** How long a job may take, with all tries. */
    public static final Duration PATIENCE = Duration.ofMinutes(5);

    /** What a client of ours prints that has waited in vain. */
    public static final String GAVE_UP = "gave up after";

    /** What docker prints of a container that is refused its GPUs. */
    public static final String REFUSED = "jnvdocker: ";

    private final Path share = Directories.make("share");

    /** Odd while something is dead. */
    private final AtomicInteger deaths = new AtomicInteger();

    private final AtomicInteger tries = new AtomicInteger();

    public Turns() throws IOException {
        Files.createFile(share.resolve("done"));
    }

    /** A directory for all jobs, of which {@code done} is that file. */
    public Path share() {
        return share;
    }

    /** One of many jobs, by its number. */
    @FunctionalInterface
    public interface Job {
        void run(int number) throws Exception;
    }

    /** The death of something, and its return. */
    @FunctionalInterface
    public interface Deed {
        void run() throws Exception;
    }

    /** A try to get a job done. */
    @FunctionalInterface
    public interface Try {
        Command.Result run() throws Exception;
    }

    /**
     * Runs several workers, each of which takes the next of that many jobs when it has finished
     * one.
     */
    public static List<CompletableFuture<Void>> work(int workers, int count, Job job) {
        AtomicInteger next = new AtomicInteger();
        return Stream.generate(() ->
                        inBackground(() -> {
                            for (int number = next.getAndIncrement();
                                    number < count;
                                    number = next.getAndIncrement()) {
                                job.run(number);
                            }
                        }))
                .limit(workers)
                .toList();
    }

    /** Runs a deed on a thread of its own. */
    public static CompletableFuture<Void> inBackground(Deed deed) {
        return CompletableFuture.runAsync(
                () -> {
                    try {
                        deed.run();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                },
                Thread::startVirtualThread);
    }

    /**
     * Does something deadly once that many jobs are done, or all work is.
     *
     * @param check that is made all the time until then
     */
    public void dieWhen(CompletableFuture<Void> work, int jobs, Deed check, Deed deed)
            throws Exception {
        while (!work.isDone() && done().size() < jobs) {
            check.run();
            Thread.sleep(50);
        }
        deaths.incrementAndGet();
        deed.run();
        deaths.incrementAndGet();
    }

    /**
     * Retries as users and frameworks do, until a job is done.
     *
     * @param excuse words in the standard error of a try that may fail; the death of a process
     *     excuses one, too
     */
    public void untilDone(String name, String excuse, Try once) throws Exception {
        retry(
                name,
                () -> {
                    int before = deaths.get();
                    Command.Result result = once.run();
                    if (!isDone(name)) {
                        boolean excused = before % 2 == 1 || deaths.get() != before;
                        assertTrue(excused || result.err().contains(excuse), name + ": " + result);
                        tries.incrementAndGet();
                    }
                });
    }

    /** Does something until a job is done. */
    public void retry(String name, Deed deed) throws Exception {
        Instant end = Instant.now().plus(PATIENCE);
        while (!isDone(name)) {
            assertTrue(Instant.now().isBefore(end), name + " was not served");
            deed.run();
            Thread.sleep(100);
        }
    }

    public boolean isDone(String name) {
        return done().containsKey(name);
    }

    /** How often a job was tried again. */
    public int tries() {
        return tries.get();
    }

    /** Maps each job that is done to the number of GPUs that it had, the last time that it ran. */
    public Map<String, String> done() {
        Map<String, String> done = new HashMap<>();
        for (String line : lines()) {
            String[] words = line.split(" ");
            assertTrue(words.length == 2, line);
            assertTrue(words[0].endsWith("-" + words[1]), line);
            done.put(words[0], words[1]);
        }
        return done;
    }

    /** The lines of all jobs. */
    public List<String> lines() {
        try {
            return Files.readAllLines(share.resolve("done"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private record Turn(String gpu, Instant since, Instant until) {}

    /**
     * Asserts that no two leases had a GPU at once.
     *
     * @param leases that have ended, as {@code gpu leases --json} prints them
     * @return the number of turns that GPUs have had
     */
    public static int assertTurns(JsonNode leases) {
        List<Turn> turns = new ArrayList<>();
        for (JsonNode lease : leases) {
            Instant since = Instant.parse(lease.get("since").asText());
            Instant until = Instant.parse(lease.get("until").asText());
            for (JsonNode gpu : lease.get("gpus")) {
                turns.add(new Turn(gpu.get("uuid").asText(), since, until));
            }
        }
        Map<String, Turn> last = new HashMap<>();
        turns.sort(Comparator.comparing(Turn::since));
        for (Turn next : turns) {
            Turn before = last.put(next.gpu(), next);
            assertFalse(
                    before != null && before.until().isAfter(next.since()),
                    () -> "two at once: " + before + " and " + next);
        }
        return turns.size();
    }

    @Override
    public void close() {
        Directories.remove(share);
    }
}
