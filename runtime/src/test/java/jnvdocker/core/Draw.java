package jnvdocker.core;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Steps of which the first one happens that is possible at that time: most are impossible at most
 * times.
 */
record Draw(List<Step> steps) implements Course.Interlude {
    Draw {
        steps = List.copyOf(steps);
    }

    @Override
    public boolean in(SimulatedWorld world) throws IOException {
        for (Step step : steps) {
            if (step.in(world)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        return steps.stream().map(Step::toString).collect(Collectors.joining(" | "));
    }
}
