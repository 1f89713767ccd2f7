package jnvdocker.lease;

import jnvdocker.container.GpuRequest;
import jnvdocker.lease.SimulatedEngine.Mood;
import jnvdocker.lease.SimulatedWorld.RunOptions;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

/**
 * What may happen, as often in proportion as is good for finding faults. Numbers choose among what
 * there is at that time.
 */
final class Steps {
    private static final int LENGTH = 200;
    private static final Arbitrary<Integer> WHICH = Arbitraries.integers().between(0, 7);
    private static final Arbitrary<Boolean> MAYBE = Arbitraries.of(false, true);
    private static final Arbitrary<Boolean> SELDOM =
            Arbitraries.frequency(Tuple.of(4, false), Tuple.of(1, true));

    private Steps() {}

    static Arbitrary<List<Step>> sequence() {
        return any().list().ofMaxSize(LENGTH).withSizeDistribution(RandomDistribution.uniform());
    }

    private static Arbitrary<Step> any() {
        return Arbitraries.frequencyOf(
                Tuple.of(50, small()),
                Tuple.of(8, large()),
                Tuple.of(20, again()),
                Tuple.of(22, twoAtOnce()));
    }

    /** One thing happens during another, or the daemon is killed in the middle of it. */
    private static Arbitrary<Step> twoAtOnce() {
        Arbitrary<Step> kill =
                Arbitraries.just(new Step("kill the daemon", SimulatedWorld::killDaemon));
        return Combinators.combine(
                        small(),
                        Arbitraries.integers().between(0, 12),
                        Arbitraries.frequencyOf(Tuple.of(4, small()), Tuple.of(1, kill)))
                .as(Step::with);
    }

    /** What happens all the time. */
    private static Arbitrary<Step> small() {
        return Arbitraries.frequencyOf(
                Tuple.of(8, run("", SimulatedWorld::clientClaims)),
                Tuple.of(12, run(", at once", SimulatedWorld::run)),
                Tuple.of(14, clientGoesOn()),
                Tuple.of(2, which("client dies", SimulatedWorld::clientDies)),
                Tuple.of(1, which("client hangs up", SimulatedWorld::clientHangsUp)),
                Tuple.of(6, maybe("start", SELDOM, SimulatedWorld::start)),
                Tuple.of(3, finishStart()),
                Tuple.of(6, maybe("end", SELDOM, SimulatedWorld::end)),
                Tuple.of(6, which("docker sees an end", SimulatedWorld::handleEnd)),
                Tuple.of(4, which("docker starts again", SimulatedWorld::startAgain)),
                Tuple.of(4, stop()),
                Tuple.of(3, which("hung process ends", SimulatedWorld::unhang)),
                Tuple.of(3, which("restart", SimulatedWorld::restart)),
                Tuple.of(4, maybe("rm -f", MAYBE, SimulatedWorld::remove)),
                Tuple.of(3, which("cp", SimulatedWorld::copyFiles)),
                Tuple.of(1, which("pause", SimulatedWorld::pause)),
                Tuple.of(1, which("rename", SimulatedWorld::rename)),
                Tuple.of(1, maybe("share, whole", MAYBE, SimulatedWorld::share)),
                Tuple.of(1, which("commit", SimulatedWorld::commit)),
                Tuple.of(1, one("volume prune", SimulatedWorld::pruneVolumes)),
                Tuple.of(12, handleEvent()),
                Tuple.of(8, which("later", (world, i) -> world.daemon.handleLater(i))),
                Tuple.of(4, one("sweep", SimulatedWorld::sweep)),
                Tuple.of(1, one("reconcile twice", SimulatedWorld::reconcileTwice)),
                Tuple.of(2, maybe("release, by force", SELDOM, SimulatedWorld::release)),
                Tuple.of(8, wait(50, 100, 300, 1_000, 12_000)));
    }

    /** What happens now and then. */
    private static Arbitrary<Step> large() {
        return Arbitraries.frequencyOf(
                Tuple.of(4, one("kill the daemon", SimulatedWorld::killDaemon)),
                Tuple.of(2, flag("lose the registry, damaged", SimulatedWorld::loseRegistry)),
                Tuple.of(1, one("lose the state folder", SimulatedWorld::loseState)),
                Tuple.of(2, one("write to disk", SimulatedWorld::reachDisk)),
                Tuple.of(2, reboot()),
                Tuple.of(1, which("unplug", SimulatedWorld::unplug)),
                Tuple.of(
                        3,
                        flags("stop the engine, kindly, live-restore", SimulatedWorld::stopEngine)),
                Tuple.of(3, mood()),
                Tuple.of(2, setClock()));
    }

    private interface Run {
        boolean in(SimulatedWorld world, RunOptions options) throws IOException;
    }

    /** What is soon done by itself after something large. */
    private static Arbitrary<Step> again() {
        return Arbitraries.frequencyOf(
                Tuple.of(3, one("start the daemon", SimulatedWorld::startDaemon)),
                Tuple.of(3, startEngine()),
                Tuple.of(2, one("watch", SimulatedWorld::watch)),
                Tuple.of(1, one("engine is WELL", world -> world.changeMood(Mood.WELL))));
    }

    private static Arbitrary<Step> run(String how, Run what) {
        Arbitrary<GpuRequest> request =
                Arbitraries.frequency(
                        Tuple.of(6, new GpuRequest.Count(1)),
                        Tuple.of(2, new GpuRequest.Count(2)),
                        Tuple.of(1, new GpuRequest.All()),
                        Tuple.of(1, new GpuRequest.Devices(List.of("1"))),
                        Tuple.of(1, new GpuRequest.Devices(List.of("0", "2"))));
        return Combinators.combine(request, SELDOM, MAYBE, SELDOM, SELDOM)
                .as((wanted, createOnly, detached, always, remove) ->
                        new RunOptions(wanted, createOnly, detached, always, remove && !always))
                .map(options -> new Step(options + how, world -> what.in(world, options)));
    }

    private static Arbitrary<Step> clientGoesOn() {
        return Combinators.combine(WHICH, SELDOM.tuple2(), SELDOM)
                .as((i, fails, slowly) -> {
                    boolean both = fails.get1() && fails.get2();
                    return new Step(
                            "client goes on "
                                    + i
                                    + (both ? ", fails" : "")
                                    + (slowly ? ", slowly" : ""),
                            world -> world.clientGoesOn(i, both, slowly));
                });
    }

    private static Arbitrary<Step> finishStart() {
        return SELDOM.map(fails ->
                new Step("finish start, fails " + fails, world -> world.finishStart(fails)));
    }

    private static Arbitrary<Step> stop() {
        return Combinators.combine(WHICH, SELDOM, MAYBE)
                .as((i, hangs, shown) ->
                        new Step(
                                "stop " + i + ", hangs " + hangs + ", shown " + shown,
                                world -> world.stop(i, hangs, shown)));
    }

    private static Arbitrary<Step> handleEvent() {
        return Combinators.combine(WHICH, SELDOM)
                .as((i, again) ->
                        new Step(
                                "event " + i + ", comes again " + again,
                                world ->
                                        world.daemon.isUp() && world.daemon.handleEvent(i, again)));
    }

    private static Arbitrary<Step> reboot() {
        return Combinators.combine(MAYBE, SELDOM, MAYBE)
                .as((powerLoss, recabled, daemonFirst) ->
                        new Step(
                                "reboot, power loss "
                                        + powerLoss
                                        + ", recabled "
                                        + recabled
                                        + ", daemon first "
                                        + daemonFirst,
                                world -> world.reboot(powerLoss, recabled, daemonFirst)));
    }

    private static Arbitrary<Step> startEngine() {
        return Combinators.combine(SELDOM, MAYBE)
                .as((another, liveRestore) ->
                        new Step(
                                "start the engine, another "
                                        + another
                                        + ", live-restore "
                                        + liveRestore,
                                world -> world.startEngine(another, liveRestore)));
    }

    private static Arbitrary<Step> mood() {
        return Arbitraries.of(Mood.FAILING, Mood.SLOW)
                .map(mood -> new Step("engine is " + mood, world -> world.changeMood(mood)));
    }

    private static Arbitrary<Step> wait(Integer... millis) {
        return Arbitraries.of(millis)
                .map(it -> new Step("wait " + it, world -> world.wait(Duration.ofMillis(it))));
    }

    private static Arbitrary<Step> setClock() {
        return Arbitraries.of(-1, 1)
                .map(days ->
                        new Step(
                                "set the clock by days " + days,
                                world -> world.setClock(Duration.ofDays(days))));
    }

    private static Arbitrary<Step> one(String name, SimulatedWorld.Interlude what) {
        return Arbitraries.just(new Step(name, what));
    }

    private interface Which {
        boolean in(SimulatedWorld world, int which) throws IOException;
    }

    private static Arbitrary<Step> which(String name, Which what) {
        return WHICH.map(i -> new Step(name + " " + i, world -> what.in(world, i)));
    }

    private interface Maybe {
        boolean in(SimulatedWorld world, int which, boolean so) throws IOException;
    }

    private static Arbitrary<Step> maybe(String name, Arbitrary<Boolean> flag, Maybe what) {
        return Combinators.combine(WHICH, flag)
                .as((i, so) -> new Step(name + " " + i + " " + so, world -> what.in(world, i, so)));
    }

    private interface Flag {
        boolean in(SimulatedWorld world, boolean so) throws IOException;
    }

    private static Arbitrary<Step> flag(String name, Flag what) {
        return MAYBE.map(so -> new Step(name + " " + so, world -> what.in(world, so)));
    }

    private interface Flags {
        boolean in(SimulatedWorld world, boolean one, boolean other) throws IOException;
    }

    private static Arbitrary<Step> flags(String name, Flags what) {
        return Combinators.combine(MAYBE, MAYBE)
                .as((one, other) ->
                        new Step(
                                name + " " + one + " " + other,
                                world -> what.in(world, one, other)));
    }
}
