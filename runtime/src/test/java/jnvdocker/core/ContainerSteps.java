package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.core.SimulatedContainer.Settings;
import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.lease.Holder;
import jnvdocker.lease.Lease;
import jnvdocker.posix.ProcessId;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * The steps that docker's users, docker itself and chance take with a simulated world's containers.
 */
final class ContainerSteps {
    /** The longest time that an engine may be in the middle of a restart. */
    private static final Duration LONGEST = Duration.ofSeconds(60);

    private final SimulatedWorld world;
    private final List<ProcessId> lingering = new ArrayList<>();

    ContainerSteps(SimulatedWorld world) {
        this.world = world;
    }

    /** A container that docker can do something with and that meets the condition. */
    private Optional<SimulatedContainer> container(
            int index, Predicate<SimulatedContainer> condition) {
        if (!world.engine().serves()) {
            return Optional.empty();
        }
        List<SimulatedContainer> those =
                world.engine().containers.stream()
                        .filter(container -> !container.isLocked())
                        .filter(condition)
                        .toList();
        return those.isEmpty() ? Optional.empty() : Optional.of(those.get(index % those.size()));
    }

    boolean start(int index, boolean slowly) {
        return container(index, it -> !it.isRunning() && it.state != State.RESTARTING)
                .map(container -> {
                    world.say(
                            "start "
                                    + container
                                    + ": "
                                    + world.engine().start(container, slowly).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean finishStart(boolean fails) {
        Optional<SimulatedContainer> starting =
                world.engine().containers.stream()
                        .filter(it -> it.state == State.STARTING && !it.waiting)
                        .findFirst();
        starting.ifPresent(container -> {
            world.say("start of " + container + (fails ? " fails" : " is finished"));
            world.engine().finishStart(container, fails);
        });
        return starting.isPresent();
    }

    /**
     * Ends a first process by itself.
     *
     * @param linger whether another process of its container lives on
     */
    boolean end(int index, boolean linger) {
        return container(index, it -> it.init.filter(world.machine::lives).isPresent())
                .map(container -> {
                    world.say(container + " ends");
                    if (linger && world.unknownClaims.isEmpty()) {
                        linger(container);
                    }
                    world.engine().end(container, false, false);
                    return true;
                })
                .orElse(false);
    }

    private void linger(SimulatedContainer container) {
        if (container.init.filter(world.machine::lives).isPresent()) {
            Optional<String> cgroup = Optional.of(container.cgroup());
            ProcessId other = world.machine.spawn(container.claim(), cgroup);
            container.others.add(other);
            lingering.add(other);
        }
    }

    boolean handleEnd(int index) {
        List<SimulatedContainer> ended =
                world.engine().containers.stream().filter(world.engine()::hasToHandle).toList();
        if (ended.isEmpty()) {
            return false;
        }
        SimulatedContainer container = ended.get(index % ended.size());
        world.say("docker sees that " + container + " has ended");
        world.engine().handleEnd(container);
        return true;
    }

    boolean startAgain(int index) {
        List<SimulatedContainer> waiting =
                world.engine().containers.stream()
                        .filter(it -> it.state == State.RESTARTING && !it.isLocked())
                        .toList();
        if (waiting.isEmpty() || !world.engine().serves()) {
            return false;
        }
        SimulatedContainer container = waiting.get(index % waiting.size());
        boolean troubled = container.troubled || !canStart(container);
        Optional<String> error = world.engine().startAgain(container);
        world.say("docker starts " + container + " again: " + error.orElse("done"));
        assertTrue(
                troubled || error.isEmpty() || !world.daemon.isUp(),
                "a restart policy was refused: " + error.orElse(""));
        return true;
    }

    boolean stop(int index, boolean hangs, boolean shown) {
        return container(index, it -> it.isRunning() || it.state == State.RESTARTING)
                .map(container -> {
                    boolean seen = shown || !isLearnt(container);
                    world.say(
                            "stop "
                                    + container
                                    + (hangs ? ", which hangs" : "")
                                    + ": "
                                    + world.engine().stop(container, hangs, seen).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    /** Whether the registry knows the first process, so that it needs no other trace of it. */
    private boolean isLearnt(SimulatedContainer container) {
        return world.daemon.isUp()
                && container.claim().flatMap(world::liveLease).map(Lease::holder).stream()
                        .anyMatch(holder ->
                                holder.stage() == Holder.Stage.HELD
                                        && holder.init().equals(container.init));
    }

    boolean unhang(int index) {
        List<ProcessId> hanging = new ArrayList<>(world.machine.hanging());
        lingering.stream().filter(world.machine::lives).forEach(hanging::add);
        if (hanging.isEmpty()) {
            return false;
        }
        ProcessId process = hanging.get(index % hanging.size());
        world.say("pid " + process.pid() + " ends after all");
        world.machine.end(process);
        return true;
    }

    boolean restart(int index, boolean slowly) {
        Optional<SimulatedContainer> found = container(index, SimulatedContainer::isRunning);
        found.ifPresent(container -> {
            boolean holds =
                    container.lives(world.machine)
                            && !container.released
                            && !container.troubled
                            && world.daemon.isUp()
                            && canStart(container)
                            && world.course.isUndisturbed();
            container.mustComeBack = holds && world.daemon.isWatching();
            Optional<String> error = world.engine().restart(container, slowly);
            world.say("restart " + container + ": " + error.orElse(slowly ? "slowly" : "done"));
            assertTrue(!holds || error.isEmpty(), "a restart was refused: " + error.orElse(""));
        });
        return found.isPresent();
    }

    /**
     * No matter how long the engine was in the middle of it, no other container has got the GPUs.
     */
    boolean finishRestart(int index) {
        List<SimulatedContainer> those =
                world.engine().containers.stream()
                        .filter(it -> it.restarted.isPresent() && !it.waiting)
                        .toList();
        if (those.isEmpty() || !world.engine().serves()) {
            return false;
        }
        SimulatedContainer container = those.get(index % those.size());
        Duration gap = Duration.ofNanos(world.machine.nanos() - container.restarted.orElseThrow());
        boolean mustComeBack =
                container.mustComeBack
                        && !container.released
                        && !container.troubled
                        && world.daemon.isUp()
                        && world.daemon.isWatching()
                        && world.daemon.age().compareTo(gap) > 0
                        && gap.compareTo(LONGEST) < 0
                        && canStart(container)
                        && world.course.isUndisturbed();
        Optional<String> error = world.engine().finishRestart(container);
        world.say(container + " starts again after " + gap + ": " + error.orElse("done"));
        assertTrue(!mustComeBack || error.isEmpty(), "a restart was refused: " + error.orElse(""));
        return true;
    }

    /**
     * Whether no other container shares its claim, or could seem to, it ran with the claim before,
     * and its GPUs are still the same.
     */
    private boolean canStart(SimulatedContainer container) {
        boolean alone =
                container.settings.volume().map(world.engine()::using).map(List::size).orElse(1)
                        == 1;
        boolean same =
                container.gpus().entrySet().stream()
                        .allMatch(gpu ->
                                world.gpus().stream()
                                        .anyMatch(it ->
                                                it.uuid().equals(gpu.getKey())
                                                        && it.minor() == gpu.getValue()));
        boolean clear =
                !container.outlives(world.machine)
                        || world.engine().mood == SimulatedEngine.Mood.WELL;
        return alone && !container.guest && same && clear;
    }

    boolean remove(int index, boolean force) {
        return container(index, _ -> true)
                .map(container -> {
                    world.say(
                            "rm "
                                    + container
                                    + ": "
                                    + world.engine().remove(container, force).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean copyFiles(int index) {
        return container(index, _ -> true)
                .map(container -> {
                    world.say(
                            "cp "
                                    + container
                                    + ": "
                                    + world.engine().copyFiles(container).orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean pause(int index) {
        return container(index, it -> it.isRunning() && it.lives(world.machine))
                .map(container -> {
                    world.engine().pause(container);
                    return true;
                })
                .orElse(false);
    }

    boolean update(int index, boolean policy) {
        return container(index, it -> !it.settings.remove() && it.policy != policy)
                .map(container -> {
                    world.say("update " + container + (policy ? ": always" : ": no restart"));
                    world.engine().update(container, policy);
                    return true;
                })
                .orElse(false);
    }

    boolean rename(int index) {
        return container(index, _ -> true)
                .map(container -> {
                    world.engine().rename(container);
                    return true;
                })
                .orElse(false);
    }

    /**
     * Creates another container with the same volume, and with or without the same labels and
     * nodes.
     */
    boolean share(int index, boolean whole) {
        return derive(
                index,
                "share",
                it ->
                        new Settings(
                                whole ? it.labels() : Map.of(),
                                it.volume(),
                                whole ? it.gpus() : Map.of(),
                                whole && it.always(),
                                false));
    }

    /** {@code docker commit}, and a container of the image: it has only the labels. */
    boolean commit(int index) {
        return derive(
                index,
                "commit",
                it -> new Settings(it.labels(), Optional.empty(), Map.of(), false, false));
    }

    private boolean derive(int index, String what, UnaryOperator<Settings> settings) {
        return container(index, _ -> true)
                .map(container -> {
                    Settings derived = settings.apply(container.settings);
                    Optional<String> error = world.engine().create(derived, Map.of(), false);
                    world.say(what + " " + container + ": " + error.orElse("done"));
                    return true;
                })
                .orElse(false);
    }

    boolean pruneVolumes() {
        if (!world.engine().serves()) {
            return false;
        }
        for (String volume : List.copyOf(world.engine().volumes.keySet())) {
            if (world.engine().using(volume).isEmpty()) {
                world.say(
                        "volume rm "
                                + volume
                                + ": "
                                + world.engine().removeVolume(volume).orElse("done"));
            }
        }
        return true;
    }

    /** Ends the processes that have outlived their container's first process. */
    void endLingering() {
        lingering.forEach(world.machine::end);
    }

    /** The host has been restarted. */
    void forgetLingering() {
        lingering.clear();
    }
}
