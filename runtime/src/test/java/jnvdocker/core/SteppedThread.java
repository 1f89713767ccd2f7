package jnvdocker.core;

import java.util.concurrent.Semaphore;

/**
 * A thread of a simulated daemon. It runs only while another thread waits for it to come to rest,
 * so that never more than one runs, in the order of the model.
 */
final class SteppedThread {
    private final SimulatedDaemon.Task task;
    private final Thread thread = Thread.ofVirtual().unstarted(this::run);
    private final Semaphore turn = new Semaphore(0);
    private final Semaphore rest = new Semaphore(0);
    private Throwable failure;
    private int depth;
    private boolean started;
    private boolean over;
    private boolean killed;
    private boolean resting = true;
    private boolean hasSlept;

    SteppedThread(SimulatedDaemon.Task task) {
        this.task = task;
    }

    /**
     * Whether this thread is running its own task.
     *
     * @param depth of the current task: something else may happen on this thread, too
     */
    boolean isCurrent(int depth) {
        return Thread.currentThread() == thread && this.depth == depth;
    }

    /** Whether it has finished its task, or was killed. */
    boolean isOver() {
        return over;
    }

    /** Whether it can go on. */
    boolean isResting() {
        return resting && !over;
    }

    boolean hasSlept() {
        return hasSlept;
    }

    /**
     * Runs it until it sleeps or is over; throws what it throws.
     *
     * @param depth of its task among the current ones
     */
    void goOn(int depth) throws Exception {
        this.depth = depth;
        if (!started) {
            started = true;
            thread.start();
        }
        resting = false;
        turn.release();
        rest.acquireUninterruptibly();
        resting = true;
        switch (failure) {
            case null -> {}
            case Error e -> throw e;
            case Exception e -> throw e;
            default -> throw new IllegalStateException(failure);
        }
    }

    /** Called by the thread itself: others have their turn until it goes on. */
    void sleep() {
        hasSlept = true;
        rest.release();
        turn.acquireUninterruptibly();
        if (killed) {
            throw new SimulatedDaemon.Killed();
        }
    }

    /** Ends it where it sleeps. */
    void kill() {
        if (started && !over) {
            killed = true;
            turn.release();
            rest.acquireUninterruptibly();
        }
        over = true;
    }

    private void run() {
        turn.acquireUninterruptibly();
        try {
            task.perform();
        } catch (Throwable e) {
            failure = e;
        } finally {
            over = true;
            rest.release();
        }
    }
}
