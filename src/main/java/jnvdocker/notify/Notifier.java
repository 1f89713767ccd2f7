package jnvdocker.notify;

import jnvdocker.core.Leases;
import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.Periodic;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuInventory;
import jnvdocker.host.GpuTroubles;
import jnvdocker.host.NoDriverException;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PrivateFile;
import jnvdocker.screen.Json;
import jnvdocker.words.Quote;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Runs the programs of some directories for each event, one after the other, with the event in JSON
 * on standard input. Decisions only put theirs into a queue: a thread of its own runs the programs,
 * and scans the GPUs for {@link Troubles} every half minute, and whenever the driver reports a
 * fault. When the queue is full, events are dropped, those of the user with the most first.
 */
public final class Notifier implements DecisionLog.Lines, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Notifier.class);

    private static final int QUEUED = 256;
    private static final Duration BETWEEN_SCANS = Duration.ofSeconds(30);
    private static final Duration PATIENCE = Duration.ofSeconds(12);

    private final Supplier<List<Path>> directories;
    private final GpuInventory inventory;
    private final Leases leases;
    private final File file;
    private final EventQueue events = new EventQueue(QUEUED);
    private final AtomicLong dropped = new AtomicLong();
    private final Periodic thread = new Periodic("notify", Duration.ZERO, this::handle);

    private final Troubles troubles = new Troubles();

    /** Warnings that were logged: each is logged once. */
    private final Set<String> warned = new HashSet<>();

    private long scanned = System.nanoTime() - BETWEEN_SCANS.toNanos();

    /** Whether a GPU has a fault, or has it no more, since the last scan. */
    private volatile boolean faultsChanged;

    private Notifier(
            Supplier<List<Path>> directories, GpuInventory inventory, Leases leases, Path run) {
        this.directories = directories;
        this.inventory = inventory;
        this.leases = leases;
        file = run.resolve("event.json").toFile();
    }

    /**
     * Notifies from now on.
     *
     * @param directories of the programs, as the configuration has them at each moment
     * @param faults of GPUs
     * @param run the daemon's directory in /run
     */
    public static Notifier start(
            Supplier<List<Path>> directories,
            DecisionLog log,
            GpuInventory inventory,
            GpuTroubles faults,
            Leases leases,
            Path run) {
        Notifier notifier = new Notifier(directories, inventory, leases, run);
        log.read(notifier);
        faults.addListener(() -> notifier.faultsChanged = true);
        notifier.thread.start();
        return notifier;
    }

    @Override
    public void accept(String decision, String line, Map<String, String> fields) {
        if (!directories.get().isEmpty()) {
            add(Event.of(decision, Instant.now(), line, fields));
        }
    }

    private void add(Event event) {
        if (!events.add(event) && dropped.getAndIncrement() == 0) {
            LOG.warn("events come faster than the programs of notify end: some are dropped");
        }
    }

    private void handle() throws InterruptedException {
        try {
            Optional<Event> event = events.poll(1, TimeUnit.SECONDS);
            if (event.isPresent()) {
                runAll(event.get());
            } else if (dropped.getAndSet(0) > 0) {
                LOG.info("the programs of notify have caught up");
            }
            boolean isDue = System.nanoTime() - scanned >= BETWEEN_SCANS.toNanos();
            if ((isDue || faultsChanged) && !directories.get().isEmpty()) {
                faultsChanged = false;
                findTroubles();
                scanned = System.nanoTime();
            }
        } catch (IOException e) {
            warnOnce(FileErrors.describe(e));
        }
    }

    private void runAll(Event event) throws IOException {
        Files.deleteIfExists(file.toPath());
        // An event names other users and their containers.
        PrivateFile.open(file.toPath()).close();
        Files.writeString(file.toPath(), Json.line(event) + "\n");
        for (Path directory : directories.get()) {
            for (Path program : Programs.in(directory)) {
                run(program);
            }
        }
    }

    private void run(Path program) {
        try {
            Programs.run(program, file);
        } catch (RefusedException e) {
            warnOnce(e.getMessage());
        } catch (IOException e) {
            warnOnce(Quote.shown(FileErrors.describe(e)));
        }
    }

    private void warnOnce(String why) {
        if (warned.size() < QUEUED && warned.add(why)) {
            LOG.warn(why);
        }
    }

    private void findTroubles() throws IOException {
        troubles.next(leases.status(gpus()), Instant.now()).forEach(this::add);
    }

    /** Without a driver, GPUs that are held are missing. */
    private List<Gpu> gpus() throws IOException {
        try {
            return inventory.read().gpus();
        } catch (NoDriverException e) {
            return List.of();
        }
    }

    @Override
    public void close() {
        thread.end(PATIENCE);
    }
}
