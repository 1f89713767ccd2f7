package jnvdocker.core;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Tuple;

/** The steps that may happen in a simulated world with pods, besides all others. */
final class PodSteps {
    private PodSteps() {}

    /** What a kubelet does, and its pods do. */
    static Arbitrary<Step> steps() {
        return Arbitraries.frequencyOf(
                Tuple.of(
                        7,
                        Steps.maybe(
                                "admit a pod, of two GPUs",
                                Steps.SELDOM,
                                (world, i, so) -> of(world).admit(i, so ? 2 : 1))),
                Tuple.of(
                        8,
                        Steps.maybe(
                                "a pod starts, known",
                                Steps.MAYBE,
                                (world, i, so) -> of(world).start(i, so))),
                Tuple.of(2, Steps.which("main of a pod ends", (world, i) -> of(world).mainEnds(i))),
                Tuple.of(
                        4,
                        Steps.maybe(
                                "delete a pod, by force",
                                Steps.MAYBE,
                                (world, i, so) -> of(world).delete(i, so))),
                Tuple.of(3, Steps.one("leftover of a pod ends", world -> of(world).leftoverEnds())),
                Tuple.of(3, Steps.one("query the kubelet", world -> of(world).query())),
                Tuple.of(3, Steps.one("the kubelet answers", world -> of(world).answer())));
    }

    private static SimulatedPods of(SimulatedWorld world) {
        return (SimulatedPods) world.feature();
    }
}
