package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.PerProperty;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Whatever happens to the host, its engine, its containers, its clients and the daemon, in any
 * order: a GPU has one holder, containers and clients that live keep their GPUs, GPUs without a
 * holder are available, the queue is served first come, first served, and no GPU is given out that
 * is used without a lease or that the lab does not allow. The registry and everything that works
 * with it are the real ones; see {@link ModelCheck}, {@link GrantCheck} and {@link RefusalCheck}.
 */
class LeaseModelTest {
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** Of the steps that need several others first, some seeds have none that takes effect. */
    private static final int MOST_INEFFECTIVE = 3;

    private static int sequences;
    private static int steps;

    /**
     * The sequences of this seed are the same in every run, so that a failure points to the change.
     * Other seeds (Seeds) and more tries make more sequences.
     */
    @Property(seed = "20261121")
    @PerProperty(Enough.class)
    void everyGpuHasOneHolder(@ForAll("sequences") List<Draw> sequence) throws IOException {
        sequences++;
        Path state = Files.createTempDirectory("model");
        try (SimulatedWorld world = new SimulatedWorld(state)) {
            // JUnit's limit is for its own tests, not for jqwik's.
            assertTimeoutPreemptively(LIMIT, () -> make(sequence, world));
        } finally {
            Files.delete(state);
        }
    }

    @Provide
    Arbitrary<List<Draw>> sequences() {
        return Steps.sequence();
    }

    private static void make(List<Draw> sequence, SimulatedWorld world) {
        try {
            for (Draw step : sequence) {
                if (step.in(world)) {
                    steps++;
                    world.check();
                }
            }
            world.settle();
            world.end();
        } catch (IOException | RuntimeException | AssertionError e) {
            KeptFailure.keep(LeaseModelTest.class, world.state, world.course.trace());
            throw new AssertionError(e.getMessage() + ", after\n" + world.course.trace(), e);
        }
    }

    /** Many steps are impossible when their turn comes, and do not count. */
    static final class Enough extends KeptFailure {
        @Override
        public void onSuccess() {
            System.out.printf(
                    "LeaseModelTest made %d steps, gave the GPUs of another %d times, and a share"
                            + " beside another %d times%n",
                    steps, GrantCheck.besides, GrantCheck.shared);
            System.out.print(Step.report());
            assertTrue(
                    steps >= 45 * sequences,
                    () -> "only " + steps + " steps in " + sequences + " sequences");
            assertTrue(
                    Step.ineffective().size() <= MOST_INEFFECTIVE,
                    () -> "none of these steps took effect: " + Step.ineffective());
        }
    }
}
