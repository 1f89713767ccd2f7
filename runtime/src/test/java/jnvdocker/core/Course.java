package jnvdocker.core;

import jnvdocker.grant.WaitingQueue;
import jnvdocker.registry.RegistryDatabase;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The course of a simulated world: the things that happen in it, also in the middle of others, and
 * their trace.
 */
final class Course {
    /** Something that happens, possibly while the daemon is doing something else. */
    interface Interlude {
        boolean in(SimulatedWorld world) throws IOException;
    }

    private static final StackWalker WALKER =
            StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private final SimulatedWorld world;
    private final List<String> trace = new ArrayList<>();
    private Optional<Interlude> interlude = Optional.empty();
    private int moments;
    private boolean interluded;

    Course(SimulatedWorld world) {
        this.world = world;
    }

    String trace() {
        return String.join("\n", trace);
    }

    /** Traces the beginning of something new. */
    void begin(String what) {
        trace.add(what);
    }

    /** Traces a result of it. */
    void say(String what) {
        trace.add((interluded ? "    " : "  ") + what);
    }

    /** Traces a step, unless it does nothing. */
    boolean make(String step, Interlude what) throws IOException {
        trace.add((interluded ? "    " : "") + step);
        int place = trace.size() - 1;
        boolean done = what.in(world);
        if (!done && place == trace.size() - 1) {
            trace.removeLast();
        }
        return done;
    }

    /**
     * Makes something happen during the next step.
     *
     * @param moment how often the daemon reads the world before that
     */
    void during(int moment, Interlude what) {
        interlude = Optional.of(what);
        moments = moment;
    }

    boolean isUndisturbed() {
        return interlude.isEmpty();
    }

    /** Lets nothing happen during the next step. */
    void calm() {
        interlude = Optional.empty();
    }

    /** A moment at which anything may happen. */
    void moment() {
        world.daemon.survive();
        if (interluded || !world.daemon.isBusy() || interlude.isEmpty() || isLocked()) {
            return;
        }
        if (moments-- > 0) {
            return;
        }
        Interlude now = interlude.get();
        interlude = Optional.empty();
        interluded = true;
        try {
            now.in(world);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            interluded = false;
        }
        world.daemon.survive();
    }

    /**
     * Whether everything else would have to wait until the daemon has finished its current work.
     */
    private static boolean isLocked() {
        return WALKER.walk(frames ->
                frames.map(StackWalker.StackFrame::getDeclaringClass)
                        .anyMatch(it -> it == RegistryDatabase.class || it == WaitingQueue.class));
    }

    /** Checks the world, while nothing happens in it. */
    void check(Runnable check) {
        calm();
        interluded = true;
        check.run();
        interluded = false;
    }
}
