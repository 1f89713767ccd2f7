package jnvdocker.core;

import net.jqwik.api.Arbitrary;

import java.util.Optional;

/** {@link LeaseModelTest} where a kubelet runs pods besides everything else. */
class PodModelTest extends LeaseModelTest {
    @Override
    SimulatedFeature feature(SimulatedWorld world) {
        return new SimulatedPods(world);
    }

    @Override
    Optional<Arbitrary<Step>> featureSteps() {
        return Optional.of(PodSteps.steps());
    }
}
