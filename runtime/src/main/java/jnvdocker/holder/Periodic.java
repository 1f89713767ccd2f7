package jnvdocker.holder;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.PermanentThread;
import jnvdocker.registry.Changes;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Work that a thread of its own does again and again until it is closed: at once, then after each
 * period, and earlier when something has changed. Whatever the work throws, it is done again: see
 * {@link PermanentThread}.
 */
public final class Periodic implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Periodic.class);
    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private final String name;
    private final Supplier<Duration> period;
    private final Task task;
    private Pace pace = Pace.REAL;
    private Changes changes = new Changes();
    private Optional<String> failing = Optional.empty();
    private boolean later;

    /** How many changes there were before the last time. */
    private long seen;

    private volatile Optional<Thread> thread = Optional.empty();

    /** The work of one time. */
    @FunctionalInterface
    public interface Task {
        void perform() throws IOException, InterruptedException;
    }

    /**
     * @param name of the thread
     * @param period as it is after each time
     */
    public Periodic(String name, Supplier<Duration> period, Task task) {
        this.name = name;
        this.period = period;
        this.task = task;
    }

    public Periodic(String name, Duration period, Task task) {
        this(name, () -> period, task);
    }

    /** By that clock. */
    public Periodic in(Pace its) {
        pace = its;
        return this;
    }

    /** Woken by these changes, too. */
    public Periodic after(Changes its) {
        changes = its;
        seen = its.count();
        return this;
    }

    /**
     * Files that cannot be read, say, are no fault of this program.
     *
     * @param what is the matter then, for people: {@code cannot serve the queue}
     */
    public Periodic failing(String what) {
        failing = Optional.of(what);
        return this;
    }

    /** Not at once: the first time is after a period, or after a change. */
    public Periodic later() {
        later = true;
        return this;
    }

    /** Begins, on a platform thread. */
    public Periodic start() {
        return start(PermanentThread.platform(name, this::repeat));
    }

    /** Begins, on a virtual thread. */
    public Periodic startVirtual() {
        return start(PermanentThread.virtual(name, this::repeat));
    }

    private Periodic start(Thread its) {
        thread = Optional.of(its);
        its.start();
        return this;
    }

    /** Something has changed: it is to be done now. */
    public void wake() {
        changes.add();
    }

    /** Whether the caller is its thread, or may do its work: the thread has not begun. */
    public boolean isOwn() {
        return thread.isEmpty() || thread.get() == Thread.currentThread();
    }

    private void repeat() throws IOException, InterruptedException {
        while (!Thread.currentThread().isInterrupted()) {
            if (later) {
                later = false;
                pace.sleep(period.get(), changes, seen);
            } else {
                seen = changes.count();
                perform();
                later = true;
            }
        }
    }

    private void perform() throws IOException, InterruptedException {
        try {
            task.perform();
        } catch (IOException e) {
            if (failing.isEmpty()) {
                throw e;
            }
            LOG.warn("{}: {}", failing.get(), FileErrors.describe(e));
        }
    }

    /**
     * Ends, and waits for that.
     *
     * @return whether it has ended
     */
    public boolean end(Duration patience) {
        return thread.isEmpty() || PermanentThread.end(thread.get(), patience);
    }

    @Override
    public void close() {
        end(PATIENCE);
    }
}
