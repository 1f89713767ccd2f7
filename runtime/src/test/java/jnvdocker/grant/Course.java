package jnvdocker.grant;

import jnvdocker.registry.RegistryDatabase;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The course of a simulated world: what happens in it, also amid something else, and the trace of
 * that.
 */
final class Course {
    /** Something that happens, also while the daemon is about to do something else. */
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

    /** Something new begins. */
    void begin(String what) {
        trace.add(what);
    }

    /** Something comes of that. */
    void say(String what) {
        trace.add((interluded ? "    " : "  ") + what);
    }

    /** Notes what a step does, unless it does nothing. */
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
     * Has something happen during what is done next.
     *
     * @param moment how often the daemon looks at the world before that
     */
    void during(int moment, Interlude what) {
        interlude = Optional.of(what);
        moments = moment;
    }

    boolean isUndisturbed() {
        return interlude.isEmpty();
    }

    /** Nothing happens during what is done next. */
    void calm() {
        interlude = Optional.empty();
    }

    /** Anything may happen now. */
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

    /** Whether everybody else would have to wait until the daemon is done with what it does now. */
    private static boolean isLocked() {
        return WALKER.walk(frames ->
                frames.map(StackWalker.StackFrame::getDeclaringClass)
                        .anyMatch(it -> it == RegistryDatabase.class || it == WaitingQueue.class));
    }

    /** Looks at the world, while nothing happens in it. */
    void look(Runnable look) {
        calm();
        interluded = true;
        look.run();
        interluded = false;
    }
}
