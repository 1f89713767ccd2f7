package jnvdocker.core;

import java.io.IOException;

/**
 * Something that happens in a simulated world, if it is possible at that time.
 *
 * @param name with its parameters, as a failure shows it
 */
record Step(String name, Course.Interlude happening) implements Course.Interlude {

    /** Takes the step, with another event at one of the moments when the daemon reads the world. */
    Step with(int moment, Step other) {
        return new Step(
                name + " {at " + moment + ": " + other + "}",
                world -> {
                    world.course.during(moment, other);
                    return happening.in(world);
                });
    }

    @Override
    public boolean in(SimulatedWorld world) throws IOException {
        return world.course.make(name, happening);
    }

    @Override
    public String toString() {
        return name;
    }
}
