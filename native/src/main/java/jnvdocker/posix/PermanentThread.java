package jnvdocker.posix;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.time.Duration;
import java.util.Optional;

/**
 * A thread that runs a loop for as long as the daemon lives. Whatever the loop throws, it begins
 * again after a pause: otherwise its end would go unnoticed, and leases would not end any more.
 */
public final class PermanentThread implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(PermanentThread.class);
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    private final Loop loop;
    private final Duration firstPause;
    private Optional<Class<?>> logged = Optional.empty();

    /** Work that is done over and over. */
    @FunctionalInterface
    public interface Loop {
        /** Returns, or is interrupted, when the thread is to end. */
        void run() throws Exception;
    }

    PermanentThread(Loop loop, Duration firstPause) {
        this.loop = loop;
        this.firstPause = firstPause;
    }

    /** Returns a platform thread that is not started yet, and keeps no JVM alive. */
    public static Thread platform(String name, Loop loop) {
        return Thread.ofPlatform()
                .daemon()
                .name(name)
                .unstarted(new PermanentThread(loop, FIRST_PAUSE));
    }

    /** Returns a virtual thread that is not started yet. */
    public static Thread virtual(String name, Loop loop) {
        return Thread.ofVirtual().name(name).unstarted(new PermanentThread(loop, FIRST_PAUSE));
    }

    /**
     * Interrupts a thread, and waits for its end; an interrupt of the caller is kept for later.
     *
     * @return whether it has ended
     */
    public static boolean end(Thread thread, Duration patience) {
        thread.interrupt();
        try {
            return thread.join(patience);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void run() {
        Duration pause = firstPause;
        while (true) {
            long begun = System.nanoTime();
            try {
                loop.run();
                return;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            } catch (Throwable e) { // An Error, too: it may have been about one thing alone.
                report(e);
            }
            boolean wasFine = System.nanoTime() - begun > LONGEST_PAUSE.toNanos();
            pause = wasFine ? firstPause : pause;
            try {
                Thread.sleep(pause);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
            pause = pause.multipliedBy(2);
            pause = pause.compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause;
        }
    }

    /** Once for each kind of failure in a row: it may fail again at once, for years. */
    private void report(Throwable failure) {
        try {
            String name = Thread.currentThread().getName();
            if (logged.filter(failure.getClass()::equals).isPresent()) {
                LOG.debug("thread {} has failed again: {}", name, failure.toString());
            } else {
                LOG.error("thread {} has failed and begins again", name, failure);
            }
            logged = Optional.of(failure.getClass());
        } catch (Throwable e) {
            // There may be no memory for a message.
        }
    }
}
