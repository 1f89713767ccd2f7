package jnvdocker.core;

import jnvdocker.core.SimulatedClients.RunOptions;
import jnvdocker.core.SimulatedEngine.Mood;
import jnvdocker.request.GpuFilter;
import jnvdocker.request.GpuRequest;
import jnvdocker.request.MemorySize;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The steps that may happen, weighted for finding faults. Numbers choose among the things that
 * exist at that time.
 */
final class Steps {
    private static final int LENGTH = 200;
    private static final Arbitrary<Integer> WHICH = Arbitraries.integers().between(0, 7);
    static final Arbitrary<Boolean> MAYBE = Arbitraries.of(false, true);
    static final Arbitrary<Boolean> SELDOM =
            Arbitraries.frequency(Tuple.of(4, false), Tuple.of(1, true));

    /** How long a request says that it needs its GPUs. */
    private static final Arbitrary<Optional<Duration>> TIME =
            Arbitraries.frequency(
                    Tuple.of(4, Optional.empty()),
                    Tuple.of(1, Optional.of(Duration.ofSeconds(3))),
                    Tuple.of(1, Optional.of(Duration.ofSeconds(20))));

    private final Optional<Arbitrary<Step>> feature;

    /**
     * @param feature what else may happen in a world with a feature
     */
    Steps(Optional<Arbitrary<Step>> feature) {
        this.feature = feature;
    }

    /**
     * Half of the sequences mix everything; the others are about one kind of holder above all. Most
     * steps are impossible when their turn comes.
     */
    Arbitrary<List<Draw>> sequence() {
        return Arbitraries.frequencyOf(
                Tuple.of(2, sequence(drawn(List.of(any())))),
                Tuple.of(1, sequence(drawn(List.of(aboveAll(runtime()))))),
                feature(1, its -> sequence(drawn(List.of(aboveAll(its))))));
    }

    /**
     * Sequences of which more steps take effect: in place of one that is impossible others come.
     */
    Arbitrary<List<Draw>> denseSequence() {
        return Arbitraries.frequencyOf(
                Tuple.of(2, sequence(drawn(List.of(any(), follows(), follows(), follows())))),
                Tuple.of(1, sequence(denseAboveAll(docker()))),
                Tuple.of(1, sequence(denseAboveAll(runtime()))),
                feature(1, its -> sequence(denseAboveAll(its))));
    }

    private Arbitrary<Draw> denseAboveAll(Arbitrary<Step> some) {
        return drawn(List.of(aboveAll(some), some, some));
    }

    /** Every other sequence begins with limits: what they count takes its time. */
    private static Arbitrary<List<Draw>> sequence(Arbitrary<Draw> step) {
        return Combinators.combine(
                        drawn(List.of(limit())).optional(0.5),
                        step.list()
                                .ofMaxSize(LENGTH)
                                .withSizeDistribution(RandomDistribution.uniform()))
                .as((first, others) -> Stream.concat(first.stream(), others.stream()).toList());
    }

    private Arbitrary<Step> aboveAll(Arbitrary<Step> some) {
        return Arbitraries.frequencyOf(
                Tuple.of(70, some),
                Tuple.of(5, wait(150, 300, 6_000)),
                Tuple.of(20, again()),
                Tuple.of(3, one("kill the daemon", world -> world.daemonSteps.kill())),
                Tuple.of(
                        1,
                        one("lose the registry", world -> world.daemonSteps.loseRegistry(false))),
                Tuple.of(10, any()));
    }

    private Arbitrary<Step> any() {
        return Arbitraries.frequencyOf(
                Tuple.of(50, small()),
                Tuple.of(8, large()),
                Tuple.of(20, again()),
                Tuple.of(22, twoAtOnce()));
    }

    /** Steps of the feature with their weight, which is 0 if there is none. */
    private <T> Tuple.Tuple2<Integer, Arbitrary<? extends T>> feature(
            int weight, Function<Arbitrary<Step>, Arbitrary<T>> made) {
        return Tuple.of(
                feature.isPresent() ? weight : 0, made.apply(feature.orElseGet(Steps::runtime)));
    }

    private static Arbitrary<Draw> drawn(List<Arbitrary<Step>> steps) {
        return Combinators.combine(steps).as(Draw::new);
    }

    /** One thing happens during another, or the daemon is killed in the middle of it. */
    private Arbitrary<Step> twoAtOnce() {
        Arbitrary<Step> kill =
                Arbitraries.just(
                        new Step("kill the daemon", "", world -> world.daemonSteps.kill()));
        return Combinators.combine(
                        small(),
                        Arbitraries.integers().between(0, 12),
                        Arbitraries.frequencyOf(Tuple.of(4, small()), Tuple.of(1, kill)))
                .as(Step::with);
    }

    /** Mostly what goes on with that which is there. */
    private Arbitrary<Step> follows() {
        return Arbitraries.frequencyOf(
                Tuple.of(10, again()),
                Tuple.of(60, docker()),
                Tuple.of(6, waiterGoesOn()),
                Tuple.of(15, runtime()),
                feature(10, its -> its));
    }

    /** Steps that happen all the time. */
    private Arbitrary<Step> small() {
        return Arbitraries.frequencyOf(
                Tuple.of(24, runtime()),
                feature(16, its -> its),
                Tuple.of(100, docker()),
                Tuple.of(6, waitForGpus()),
                Tuple.of(9, waiterGoesOn()),
                Tuple.of(4, one("check the queue", world -> world.waiters.checkTheQueue())),
                Tuple.of(1, which("unplug", (world, i) -> world.host.unplug(i))),
                Tuple.of(3, which("waiter dies", (world, i) -> world.waiters.die(i))),
                Tuple.of(2, which("waiter retries", (world, i) -> world.waiters.retry(i))),
                Tuple.of(1, which("plain container", (world, i) -> world.uses.startPlain(i))),
                Tuple.of(1, which("process of the host", (world, i) -> world.uses.openOnHost(i))),
                Tuple.of(
                        3,
                        maybe(
                                "open inside, own",
                                MAYBE,
                                (world, i, so) -> world.uses.openInside(i, so))),
                Tuple.of(
                        1,
                        maybe(
                                "container of another state directory, claim of the same id",
                                MAYBE,
                                (world, i, so) -> world.uses.startElsewhere(i, so))),
                Tuple.of(1, which("forged mount", (world, i) -> world.uses.forge(i))),
                Tuple.of(4, which("unmanaged use ends", (world, i) -> world.uses.end(i))),
                Tuple.of(1, which("cordon", (world, i) -> world.lab.cordon(i))),
                Tuple.of(1, which("uncordon", (world, i) -> world.lab.uncordon(i))),
                Tuple.of(2, book()),
                Tuple.of(3, which("unbook", (world, i) -> world.lab.unbook(i))),
                Tuple.of(4, one("sweep", world -> world.daemonSteps.sweep())),
                Tuple.of(3, one("start refused", world -> world.daemonSteps.startRefused())),
                Tuple.of(1, one("reconcile twice", world -> world.daemonSteps.reconcileTwice())),
                Tuple.of(
                        4,
                        maybe(
                                "release, by force",
                                SELDOM,
                                (world, i, so) -> world.daemonSteps.release(i, so))),
                Tuple.of(
                        1,
                        which("release one's own", (world, i) -> world.daemonSteps.releaseOwn(i))),
                Tuple.of(8, wait(50, 100, 300, 1_000, 12_000)));
    }

    /** What clients and an engine do with containers that have volumes of claims. */
    private static Arbitrary<Step> docker() {
        return Arbitraries.frequencyOf(
                Tuple.of(10, run("", (world, options) -> world.clients.claim(options))),
                Tuple.of(14, run(", at once", (world, options) -> world.clients.run(options))),
                Tuple.of(12, clientGoesOn()),
                Tuple.of(2, which("client dies", (world, i) -> world.clients.die(i))),
                Tuple.of(1, which("client hangs up", (world, i) -> world.clients.hangUp(i))),
                Tuple.of(
                        6, maybe("start", SELDOM, (world, i, so) -> world.containers.start(i, so))),
                Tuple.of(3, finishStart()),
                Tuple.of(6, maybe("end", SELDOM, (world, i, so) -> world.containers.end(i, so))),
                Tuple.of(
                        8,
                        which("docker sees an end", (world, i) -> world.containers.handleEnd(i))),
                Tuple.of(
                        8,
                        which("docker starts again", (world, i) -> world.containers.startAgain(i))),
                Tuple.of(4, stop()),
                Tuple.of(3, which("hung process ends", (world, i) -> world.containers.unhang(i))),
                Tuple.of(
                        4,
                        maybe(
                                "restart, slowly",
                                MAYBE,
                                (world, i, so) -> world.containers.restart(i, so))),
                Tuple.of(
                        4,
                        which("restart goes on", (world, i) -> world.containers.finishRestart(i))),
                Tuple.of(
                        3, maybe("rm -f", MAYBE, (world, i, so) -> world.containers.remove(i, so))),
                Tuple.of(2, which("cp", (world, i) -> world.containers.copyFiles(i))),
                Tuple.of(1, which("pause", (world, i) -> world.containers.pause(i))),
                Tuple.of(1, which("rename", (world, i) -> world.containers.rename(i))),
                Tuple.of(
                        1,
                        maybe(
                                "share, whole",
                                MAYBE,
                                (world, i, so) -> world.containers.share(i, so))),
                Tuple.of(1, which("commit", (world, i) -> world.containers.commit(i))),
                Tuple.of(1, one("volume prune", world -> world.containers.pruneVolumes())),
                Tuple.of(10, handleEvent()),
                Tuple.of(8, which("later", (world, i) -> world.daemon.handleLater(i))),
                Tuple.of(
                        1,
                        maybe("update", MAYBE, (world, i, so) -> world.containers.update(i, so))));
    }

    /** Steps that happen now and then. */
    private Arbitrary<Step> large() {
        return Arbitraries.frequencyOf(
                Tuple.of(4, one("kill the daemon", world -> world.daemonSteps.kill())),
                Tuple.of(
                        2,
                        flag(
                                "lose the registry, damaged",
                                (world, so) -> world.daemonSteps.loseRegistry(so))),
                Tuple.of(3, one("back up", world -> world.daemonSteps.backUp())),
                Tuple.of(4, one("restore the backup", world -> world.daemonSteps.restoreBackup())),
                Tuple.of(
                        1, one("lose the state directory", world -> world.daemonSteps.loseState())),
                Tuple.of(2, one("write to disk", world -> world.host.writeToDisk())),
                Tuple.of(2, reboot()),
                Tuple.of(1, which("unplug", (world, i) -> world.host.unplug(i))),
                Tuple.of(
                        3,
                        flags(
                                "stop the engine, kindly, live-restore",
                                (world, one, other) -> world.host.stopEngine(one, other))),
                Tuple.of(3, mood()),
                Tuple.of(6, one("the engine lies once", world -> world.host.lie())),
                Tuple.of(2, setClock()),
                Tuple.of(4, configure()),
                Tuple.of(3, limit()));
    }

    private interface Run {
        boolean in(SimulatedWorld world, RunOptions options) throws IOException;
    }

    /** Steps that soon follow a large one by themselves. */
    private Arbitrary<Step> again() {
        return Arbitraries.frequencyOf(
                Tuple.of(3, one("start the daemon", world -> world.daemonSteps.start())),
                Tuple.of(3, startEngine()),
                Tuple.of(2, one("watch", world -> world.daemonSteps.watch())),
                Tuple.of(1, one("engine is WELL", world -> world.host.changeMood(Mood.WELL))));
    }

    private static Arbitrary<Step> run(String how, Run what) {
        Arbitrary<GpuRequest> request =
                Arbitraries.frequency(
                        Tuple.of(6, new GpuRequest.Count(1)),
                        Tuple.of(2, new GpuRequest.Count(2)),
                        Tuple.of(1, new GpuRequest.All()),
                        Tuple.of(1, new GpuRequest.Devices(List.of("1"))),
                        Tuple.of(1, new GpuRequest.Devices(List.of("0", "2"))),
                        Tuple.of(1, new GpuRequest.With("c0")),
                        Tuple.of(2, share(1, 10)),
                        Tuple.of(1, share(1, 25)),
                        Tuple.of(1, share(2, 15)),
                        Tuple.of(3, SimulatedWorld.OWN));
        return Combinators.combine(request, SELDOM, MAYBE, SELDOM, SELDOM, TIME)
                .as((wanted, createOnly, detached, always, remove, time) ->
                        new RunOptions(wanted, createOnly, detached, always, remove && !always)
                                .lasting(time))
                .map(options ->
                        new Step(
                                "request" + how, ": " + options, world -> what.in(world, options)));
    }

    /** What an engine does with our OCI runtime, and its containers do. */
    private static Arbitrary<Step> runtime() {
        return Arbitraries.frequencyOf(
                Tuple.of(7, create()),
                Tuple.of(7, which("first process", (world, i) -> world.runtime.begin(i))),
                Tuple.of(7, which("runtime ends", (world, i) -> world.runtime.leave(i))),
                Tuple.of(5, which("check it", (world, i) -> world.runtime.check(i))),
                Tuple.of(
                        2,
                        maybe("fork, mounted", MAYBE, (world, i, so) -> world.runtime.fork(i, so))),
                Tuple.of(5, which("first process ends", (world, i) -> world.runtime.end(i))),
                Tuple.of(3, which("others end", (world, i) -> world.runtime.endOthers(i))),
                Tuple.of(2, one("check ends", world -> world.runtime.sweep())));
    }

    private static Arbitrary<Step> create() {
        Arbitrary<GpuRequest> request =
                Arbitraries.frequency(
                        Tuple.of(6, new GpuRequest.Count(1)),
                        Tuple.of(2, new GpuRequest.Count(2)),
                        Tuple.of(1, new GpuRequest.All()),
                        Tuple.of(1, new GpuRequest.Devices(List.of("1"))),
                        Tuple.of(1, new GpuRequest.With("c0")),
                        Tuple.of(2, share(1, 10)),
                        Tuple.of(1, share(1, 25)),
                        Tuple.of(1, share(2, 15)),
                        Tuple.of(3, SimulatedWorld.OWN));
        return Combinators.combine(WHICH, request)
                .as((i, wanted) ->
                        new Step(
                                "create runtime container",
                                " " + i + " " + wanted,
                                world -> world.runtime.create(i, wanted)));
    }

    /** A request for so many gigabytes of each of so many GPUs. */
    private static GpuRequest share(int gpus, int amount) {
        return new GpuRequest.Count(
                gpus, GpuFilter.sharing(Optional.of(new MemorySize(amount, "G"))));
    }

    private static Arbitrary<Step> book() {
        return Combinators.combine(
                        WHICH,
                        Arbitraries.of(1, 2),
                        Arbitraries.of(0, 1, 4, 30),
                        Arbitraries.of(2, 8, 60))
                .as((user, count, ahead, time) ->
                        new Step(
                                "book",
                                " %d for user %d in %d s for %d s"
                                        .formatted(count, user, ahead, time),
                                world ->
                                        world.lab.book(
                                                count,
                                                SimulatedClients.user(user),
                                                Duration.ofSeconds(ahead),
                                                Duration.ofSeconds(time))));
    }

    private static Arbitrary<Step> waitForGpus() {
        Arbitrary<GpuRequest> request =
                Arbitraries.frequency(
                        Tuple.of(3, new GpuRequest.Count(1)),
                        Tuple.of(3, new GpuRequest.Count(2)),
                        Tuple.of(2, new GpuRequest.All()),
                        Tuple.of(2, new GpuRequest.Devices(List.of("1"))),
                        Tuple.of(1, new GpuRequest.Devices(List.of("0", "2"))),
                        Tuple.of(1, share(1, 25)),
                        Tuple.of(1, share(2, 15)));
        Arbitrary<Optional<Duration>> limit =
                Arbitraries.frequency(
                        Tuple.of(4, Optional.empty()),
                        Tuple.of(1, Optional.of(Duration.ofSeconds(20))));
        return Combinators.combine(request, limit, MAYBE, TIME)
                .as((wanted, until, detached, time) -> {
                    RunOptions options =
                            new RunOptions(wanted, false, detached, false, false).lasting(time);
                    return new Step(
                            "wait for GPUs",
                            ": " + options + " --gpu-wait" + until.map(it -> "=" + it).orElse(""),
                            world -> world.waiters.enter(options, until));
                });
    }

    private static Arbitrary<Step> waiterGoesOn() {
        return Combinators.combine(WHICH, Arbitraries.of(1, 4, 21))
                .as((i, moments) ->
                        new Step(
                                "waiter goes on",
                                " " + i + ", " + moments + " moments",
                                world -> world.waiters.goOn(i, moments)));
    }

    private static Arbitrary<Step> configure() {
        return Combinators.combine(
                        Arbitraries.integers().between(0, 3),
                        Arbitraries.integers().between(0, 3),
                        Arbitraries.integers().between(0, 5),
                        SELDOM,
                        SELDOM,
                        SELDOM,
                        SELDOM,
                        MAYBE)
                .as(SimulatedLab.Wish::new)
                .map(wish -> new Step("configure", " " + wish, world -> world.lab.configure(wish)));
    }

    private static Arbitrary<Step> limit() {
        return Combinators.combine(
                        Arbitraries.of(0, 0, 5, 30),
                        Arbitraries.of(0, 0, 8, 60),
                        Arbitraries.of(0, 0, 6, 25),
                        Arbitraries.of(0, 0, 1, 3, 5, 6))
                .as(SimulatedLimits.Wish::new)
                .map(wish -> new Step("limit", " " + wish, world -> world.lab.limit(wish)));
    }

    private static Arbitrary<Step> clientGoesOn() {
        return Combinators.combine(WHICH, SELDOM.tuple2(), SELDOM)
                .as((i, fails, slowly) -> {
                    boolean both = fails.get1() && fails.get2();
                    return new Step(
                            "client goes on",
                            " " + i + (both ? ", fails" : "") + (slowly ? ", slowly" : ""),
                            world -> world.clients.goOn(i, both, slowly));
                });
    }

    private static Arbitrary<Step> finishStart() {
        return SELDOM.map(fails ->
                new Step(
                        "finish start",
                        ", fails " + fails,
                        world -> world.containers.finishStart(fails)));
    }

    private static Arbitrary<Step> stop() {
        return Combinators.combine(WHICH, SELDOM, MAYBE)
                .as((i, hangs, shown) ->
                        new Step(
                                "stop",
                                " " + i + ", hangs " + hangs + ", shown " + shown,
                                world -> world.containers.stop(i, hangs, shown)));
    }

    private static Arbitrary<Step> handleEvent() {
        return Combinators.combine(WHICH, SELDOM)
                .as((i, again) ->
                        new Step(
                                "event",
                                " " + i + ", comes again " + again,
                                world ->
                                        world.daemon.isUp() && world.daemon.handleEvent(i, again)));
    }

    private static Arbitrary<Step> reboot() {
        return Combinators.combine(MAYBE, SELDOM, MAYBE)
                .as((powerLoss, recabled, daemonFirst) ->
                        new Step(
                                "reboot",
                                ", power loss "
                                        + powerLoss
                                        + ", recabled "
                                        + recabled
                                        + ", daemon first "
                                        + daemonFirst,
                                world -> world.host.reboot(powerLoss, recabled, daemonFirst)));
    }

    private static Arbitrary<Step> startEngine() {
        return Combinators.combine(SELDOM, MAYBE)
                .as((another, liveRestore) ->
                        new Step(
                                "start the engine",
                                ", another " + another + ", live-restore " + liveRestore,
                                world -> world.host.startEngine(another, liveRestore)));
    }

    private static Arbitrary<Step> mood() {
        return Arbitraries.of(Mood.FAILING, Mood.SLOW)
                .map(mood ->
                        new Step("engine is " + mood, "", world -> world.host.changeMood(mood)));
    }

    private static Arbitrary<Step> wait(Integer... millis) {
        return Arbitraries.of(millis)
                .map(it ->
                        new Step(
                                "wait", " " + it, world -> world.host.wait(Duration.ofMillis(it))));
    }

    private static Arbitrary<Step> setClock() {
        return Arbitraries.of(-1, 1)
                .map(days ->
                        new Step(
                                "set the clock",
                                " by days " + days,
                                world -> world.host.setClock(Duration.ofDays(days))));
    }

    static Arbitrary<Step> one(String name, Course.Interlude what) {
        return Arbitraries.just(new Step(name, "", what));
    }

    interface Which {
        boolean in(SimulatedWorld world, int which) throws IOException;
    }

    static Arbitrary<Step> which(String name, Which what) {
        return WHICH.map(i -> new Step(name, " " + i, world -> what.in(world, i)));
    }

    interface Maybe {
        boolean in(SimulatedWorld world, int which, boolean so) throws IOException;
    }

    static Arbitrary<Step> maybe(String name, Arbitrary<Boolean> flag, Maybe what) {
        return Combinators.combine(WHICH, flag)
                .as((i, so) -> new Step(name, " " + i + " " + so, world -> what.in(world, i, so)));
    }

    private interface Flag {
        boolean in(SimulatedWorld world, boolean so) throws IOException;
    }

    private static Arbitrary<Step> flag(String name, Flag what) {
        return MAYBE.map(so -> new Step(name, " " + so, world -> what.in(world, so)));
    }

    private interface Flags {
        boolean in(SimulatedWorld world, boolean one, boolean other) throws IOException;
    }

    private static Arbitrary<Step> flags(String name, Flags what) {
        return Combinators.combine(MAYBE, MAYBE)
                .as((one, other) ->
                        new Step(
                                name,
                                " " + one + " " + other,
                                world -> what.in(world, one, other)));
    }
}
