package jnvdocker.tests.world;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

/** Repeats the same command until it is stopped. */
public final class Rival implements AutoCloseable {
    private final List<Command.Result> attempts = new CopyOnWriteArrayList<>();
    private final Thread thread;
    private volatile boolean stopped;

    public Rival(Supplier<Command> command) {
        thread =
                Thread.ofVirtual()
                        .start(() -> {
                            while (!stopped) {
                                attempts.add(command.get().run());
                            }
                        });
    }

    /** Waits for the current attempt, and returns the results of all. */
    public List<Command.Result> stop() {
        close();
        return attempts;
    }

    @Override
    public void close() {
        stopped = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
