package jnvdocker.grant;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** A sequence of steps in a simulated world, each of which is checked against a model. */
final class ModelRun {
    private ModelRun() {}

    /** What should be so, by the steps that were made. */
    interface Model<S> {
        void make(S step) throws Exception;

        /** Compares itself with the registry. */
        void check() throws IOException;

        /** Lets all end, and checks that nothing is left. */
        void settle() throws Exception;
    }

    /**
     * @throws AssertionError with the steps that were made
     */
    static <S> void of(Class<?> test, List<S> sequence, Function<SimulatedWorld, Model<S>> models)
            throws Exception {
        Path state = Files.createTempDirectory("model");
        List<S> made = new ArrayList<>();
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            Model<S> model = models.apply(world);
            try {
                for (S step : sequence) {
                    made.add(step);
                    model.make(step);
                    model.check();
                }
                model.settle();
            } catch (Exception | AssertionError e) {
                KeptFailure.keep(test, state, made.toString());
                throw new AssertionError(e.getMessage() + ", after\n" + made, e);
            }
        } finally {
            Files.delete(state);
        }
    }
}
