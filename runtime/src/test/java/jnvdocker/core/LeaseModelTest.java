package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.attack.Attack;

import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.PerProperty;
import net.jqwik.api.lifecycle.PropertyLifecycleContext;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Whatever happens to the host, its engine, its containers, its clients and the daemon, in any
 * order: a GPU has one holder, containers and clients that live keep their GPUs, GPUs without a
 * holder are available, the queue is served first come, first served, and no GPU is given out that
 * is used without a lease or that the lab does not allow. The registry and everything that works
 * with it are the real ones; see {@link ModelCheck}, {@link GrantCheck} and {@link RefusalCheck}.
 */
@Attack(
        by = "root, by mistake",
        what = "deletes registry and claims while containers are being created",
        result =
                "what is mounted and unknown keeps every GPU from others; what mounts its claim"
                        + " while the daemon starts has its lease")
@Attack(
        by = "a fault",
        what = "the clock jumps",
        result = "a day back and forth changes no holder; a suspended host is not covered")
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
        hasOneHolder(sequence);
    }

    /** The same where most steps take effect, which reaches states that are seldom reached. */
    @Property(seed = "20261121")
    @PerProperty(DenseEnough.class)
    void everyGpuHasOneHolderInDenseSequences(@ForAll("dense") List<Draw> sequence)
            throws IOException {
        hasOneHolder(sequence);
    }

    /** A failure can be made again: nothing but the steps decides what happens. */
    @Property(seed = "20261121", tries = 12)
    void theSameStepsHaveTheSameCourse(@ForAll("dense") List<Draw> sequence) throws IOException {
        assertEquals(hasOneHolder(sequence), hasOneHolder(sequence));
    }

    /** Returns the course of the sequence. */
    private String hasOneHolder(List<Draw> sequence) throws IOException {
        sequences++;
        Path state = Files.createTempDirectory("model");
        try (SimulatedWorld world = new SimulatedWorld(state, this::feature)) {
            // JUnit's limit is for its own tests, not for jqwik's.
            assertTimeoutPreemptively(LIMIT, () -> make(sequence, world));
            return world.course.trace();
        } finally {
            Files.delete(state);
        }
    }

    /** What a feature of another module brings to the world. */
    SimulatedFeature feature(SimulatedWorld world) {
        return SimulatedFeature.NONE;
    }

    /** What else may happen in a world with this feature. */
    Optional<Arbitrary<Step>> featureSteps() {
        return Optional.empty();
    }

    @Provide
    Arbitrary<List<Draw>> sequences() {
        return new Steps(featureSteps()).sequence();
    }

    @Provide
    Arbitrary<List<Draw>> dense() {
        return new Steps(featureSteps()).denseSequence();
    }

    private void make(List<Draw> sequence, SimulatedWorld world) {
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
            KeptFailure.keep(getClass(), world.state, world.course.trace());
            throw new AssertionError(e.getMessage() + ", after\n" + world.course.trace(), e);
        }
    }

    /** Many steps are impossible when their turn comes, and do not count. */
    static class Enough extends KeptFailure {
        private final int least;

        Enough() {
            this(28);
        }

        /**
         * @param least how many steps of a sequence take effect on average
         */
        Enough(int least) {
            this.least = least;
        }

        @Override
        public void before(PropertyLifecycleContext context) {
            super.before(context);
            sequences = 0;
            steps = 0;
        }

        @Override
        public void onSuccess() {
            System.out.printf(
                    "LeaseModelTest made %d steps, gave the GPUs of another %d times, and a share"
                            + " beside another %d times%n",
                    steps, GrantCheck.besides, GrantCheck.shared);
            assertTrue(
                    steps >= least * sequences,
                    () -> "only " + steps + " steps in " + sequences + " sequences");
        }
    }

    /** Each kind of step takes effect, too. */
    static final class DenseEnough extends Enough {
        DenseEnough() {
            super(45);
        }

        @Override
        public void onSuccess() {
            super.onSuccess();
            System.out.print(Step.report());
            assertTrue(
                    Step.ineffective().size() <= MOST_INEFFECTIVE,
                    () -> "none of these steps took effect: " + Step.ineffective());
        }
    }
}
