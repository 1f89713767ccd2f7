package jnvdocker.core;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Something that happens in a simulated world, if it is possible at that time.
 *
 * @param kind which counts how often such steps took effect
 * @param details its parameters, as a failure shows them behind the kind
 */
record Step(String kind, String details, Course.Interlude happening) implements Course.Interlude {
    /** How many steps of each kind were drawn, and how many of them took effect. */
    private static final Map<String, int[]> COUNTS = new TreeMap<>();

    /** Takes the step, with another event at one of the moments when the daemon reads the world. */
    Step with(int moment, Step other) {
        return new Step(
                kind,
                details + " {at " + moment + ": " + other + "}",
                world -> {
                    world.course.during(moment, other);
                    return happening.in(world);
                });
    }

    @Override
    public boolean in(SimulatedWorld world) throws IOException {
        boolean done = world.course.make(toString(), happening);
        int[] counts = COUNTS.computeIfAbsent(kind, _ -> new int[2]);
        counts[0]++;
        counts[1] += done ? 1 : 0;
        return done;
    }

    /** The kinds of which no step that was drawn took effect. */
    static List<String> ineffective() {
        return COUNTS.entrySet().stream()
                .filter(kind -> kind.getValue()[1] == 0)
                .map(Map.Entry::getKey)
                .toList();
    }

    /** A line for each kind. */
    static String report() {
        StringBuilder text = new StringBuilder();
        COUNTS.forEach((kind, counts) ->
                text.append("  %6d of %6d  %s%n".formatted(counts[1], counts[0], kind)));
        return text.toString();
    }

    @Override
    public String toString() {
        return kind + details;
    }
}
