package jnvdocker.core;

import jnvdocker.core.SimulatedContainer.Settings;
import jnvdocker.core.SimulatedContainer.State;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.posix.ProcessId;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Does what dockerd does, as far as claims notice: when it calls which verb of a volume plugin,
 * what it keeps and for how long, and which events it reports. An operation returns the error that
 * docker's user sees, or nothing.
 */
final class SimulatedEngine {
    private static final Optional<String> DONE = Optional.empty();
    private static final Optional<String> LOCKED = Optional.of("something else goes on with it");
    private static final Optional<String> AWAY = Optional.of("the engine does not answer");

    /** A volume plugin as an engine sees it. */
    interface Plugin {
        Answer get(String volume);

        Answer create(String volume, Map<String, String> options);

        Answer mount(String volume, String use, ProcessId engine);

        Answer unmount(String volume, String use);

        Answer remove(String volume);
    }

    /** The answer of a plugin; {@code AWAY} when there is none. */
    record Answer(Kind kind, String error) {
        enum Kind {
            OK,
            ERR,
            AWAY
        }

        static final Answer OK = new Answer(Kind.OK, "");

        /** An empty directory in place of the claim's. */
        static final Answer NOTHING = new Answer(Kind.OK, "nothing");

        boolean isOk() {
            return kind == Kind.OK;
        }
    }

    /** An engine's report about one of its containers. */
    record Event(String action, String container, ClaimKey claim) {}

    /** The receiver of the events. */
    interface Listener {
        void happened(Event event);

        /** A container's claim was mounted for a start of it. */
        void mounted(SimulatedContainer container);
    }

    /** How it answers questions. */
    enum Mood {
        WELL,
        FAILING,
        SLOW
    }

    final String id;
    final List<SimulatedContainer> containers = new ArrayList<>();

    /** Removed containers, whose processes may live on. */
    final List<SimulatedContainer> removed = new ArrayList<>();

    final Map<String, Map<String, String>> volumes = new HashMap<>();
    Optional<ProcessId> process = Optional.empty();
    Mood mood = Mood.WELL;

    /** Whether its next answer about containers lies: half a list, or that one does not run. */
    boolean lies;

    /** Whether its last answer was a lie: no two are, one after the other. */
    boolean lied;

    /** Whether the API is podman's. */
    boolean isPodman;

    private final SimulatedMachine machine;
    private final Plugin plugin;
    private final Listener listener;
    private boolean serving;
    private int made;
    private int uses;

    /**
     * @param made the number of the last container, so that no other engine's has the same
     */
    SimulatedEngine(
            String id, int made, SimulatedMachine machine, Plugin plugin, Listener listener) {
        this.id = id;
        this.made = made;
        this.machine = machine;
        this.plugin = plugin;
        this.listener = listener;
    }

    boolean runs() {
        return process.isPresent();
    }

    /** Whether its API answers, which is a while after it began to run. */
    boolean serves() {
        return serving;
    }

    /** By its id or its name, as docker does. */
    Optional<SimulatedContainer> container(String word) {
        return containers.stream()
                .filter(container -> container.id.equals(word) || container.name.equals(word))
                .findFirst();
    }

    List<SimulatedContainer> using(String volume) {
        return containers.stream()
                .filter(container -> container.settings.volume().equals(Optional.of(volume)))
                .toList();
    }

    /**
     * {@code docker create}.
     *
     * @param options of its volume, should docker have to make it
     * @param fails whether something else goes wrong, after the volume
     */
    Optional<String> create(Settings settings, Map<String, String> options, boolean fails) {
        if (!serving) {
            return AWAY;
        }
        if (settings.volume().isPresent()) {
            String volume = settings.volume().get();
            if (!plugin.get(volume).isOk()) {
                Answer created = plugin.create(volume, options);
                if (!created.isOk()) {
                    return Optional.of(created.error());
                }
            }
            volumes.putIfAbsent(volume, options);
        }
        if (fails) {
            return Optional.of("network not found");
        }
        SimulatedContainer container = new SimulatedContainer(++made, settings);
        containers.add(container);
        emit("create", container);
        return DONE;
    }

    /**
     * {@code docker start}.
     *
     * @param slowly whether the claim is mounted, and the first process is yet to come
     */
    Optional<String> start(SimulatedContainer container, boolean slowly) {
        if (!serving) {
            return AWAY;
        }
        if (!containers.contains(container)) {
            return Optional.of("no such container");
        }
        if (container.isRunning() || container.isLocked()) {
            return Optional.of("it runs already");
        }
        container.stoppedByHand = false;
        return startNow(container, slowly);
    }

    /** A container that was mounted slowly gets its first process, or fails after all. */
    void finishStart(SimulatedContainer container, boolean fails) {
        if (fails) {
            unmount(container);
            notStarted(container);
        } else {
            run(container);
        }
    }

    /** A container's first process ends, or is killed and hangs. */
    void end(SimulatedContainer container, boolean hangs, boolean shown) {
        container
                .init
                .filter(machine::lives)
                .ifPresent(init -> {
                    if (hangs) {
                        machine.hang(init, shown);
                    } else {
                        machine.end(init);
                    }
                });
    }

    /** Whether there is an end that the engine has to handle. */
    boolean hasToHandle(SimulatedContainer container) {
        return runs()
                && container.isRunning()
                && !container.isLocked()
                && container.init.filter(machine::lives).isEmpty();
    }

    /** The engine notices that a first process has ended. */
    void handleEnd(SimulatedContainer container) {
        unmount(container);
        boolean again = container.policy && !container.stoppedByHand;
        container.ends++;
        container.state = again ? State.RESTARTING : State.EXITED;
        emit("die", container);
        if (!again && container.settings.remove()) {
            forget(container);
        }
    }

    /** Starts it again after the delay of its restart policy. */
    Optional<String> startAgain(SimulatedContainer container) {
        return startNow(container, false);
    }

    /** {@code docker update --restart=no}, or always. */
    void update(SimulatedContainer container, boolean policy) {
        container.policy = policy;
    }

    /** {@code docker stop} or {@code kill}. */
    Optional<String> stop(SimulatedContainer container, boolean hangs, boolean shown) {
        if (!serving) {
            return AWAY;
        }
        if (container.isLocked()) {
            return LOCKED;
        }
        container.stoppedByHand = true;
        if (container.state == State.RESTARTING) {
            container.state = State.EXITED;
        }
        end(container, hangs, shown);
        if (hasToHandle(container)) {
            handleEnd(container);
        }
        return DONE;
    }

    /**
     * {@code docker restart}.
     *
     * @param slowly whether it is yet to be started when this returns
     */
    Optional<String> restart(SimulatedContainer container, boolean slowly) {
        if (!serving) {
            return AWAY;
        }
        if (container.isLocked()) {
            return LOCKED;
        }
        container.stoppedByHand = true;
        end(container, false, false);
        if (hasToHandle(container)) {
            unmount(container);
            container.ends++;
            container.state = State.EXITED;
            emit("die", container);
        }
        container.stoppedByHand = false;
        if (slowly) {
            container.restarted = Optional.of(machine.nanos());
            return DONE;
        }
        return startNow(container, false);
    }

    /** Goes on with a restart, whatever it had to wait for. */
    Optional<String> finishRestart(SimulatedContainer container) {
        container.restarted = Optional.empty();
        return startNow(container, false);
    }

    /** {@code docker rm}, with or without {@code -f}. */
    Optional<String> remove(SimulatedContainer container, boolean force) {
        if (!serving) {
            return AWAY;
        }
        if (container.isLocked()) {
            return LOCKED;
        }
        if (!force && (container.isRunning() || container.state == State.RESTARTING)) {
            return Optional.of("it runs; stop it first");
        }
        if (container.isRunning()) {
            stop(container, false, false);
            if (!containers.contains(container)) {
                return DONE;
            }
            if (container.isRunning()) {
                return Optional.of("it was killed and does not end");
            }
        }
        forget(container);
        return DONE;
    }

    /** {@code docker cp} out of it. */
    Optional<String> copyFiles(SimulatedContainer container) {
        if (!serving) {
            return AWAY;
        }
        if (container.isLocked()) {
            return LOCKED;
        }
        Optional<String> error = mount(container);
        if (error.isEmpty()) {
            unmount(container);
        }
        return error;
    }

    void pause(SimulatedContainer container) {
        container.state = container.state == State.PAUSED ? State.RUNNING : State.PAUSED;
    }

    void rename(SimulatedContainer container) {
        container.name += "x";
        emit("rename", container);
    }

    /** {@code docker volume rm}: the error, if it is refused. */
    Optional<String> removeVolume(String volume) {
        if (!using(volume).isEmpty()) {
            return Optional.of("volume is in use");
        }
        if (!volumes.containsKey(volume) && !plugin.get(volume).isOk()) {
            return DONE;
        }
        Answer removed = plugin.remove(volume);
        if (!removed.isOk()) {
            return Optional.of(removed.error());
        }
        volumes.remove(volume);
        return DONE;
    }

    /**
     * Begins to run, and starts the containers that are always to run before it answers any
     * request.
     *
     * @param liveRestore whether it leaves containers alone that still run
     */
    void begin(boolean liveRestore) {
        process = Optional.of(machine.spawn());
        mood = Mood.WELL;
        volumes.keySet().removeIf(it -> plugin.get(it).kind() == Answer.Kind.ERR);
        for (SimulatedContainer container : containers) {
            container.use = Optional.empty();
            container.mounts = 0;
            if (container.isRunning() && !liveRestore) {
                end(container, false, false);
            }
            boolean lives = container.init.filter(machine::lives).isPresent();
            if (container.isRunning() && !lives || container.state == State.RESTARTING) {
                container.state = State.EXITED;
                container.ends++;
            }
            if (container.state == State.STARTING) {
                container.state = container.before;
            }
        }
        for (SimulatedContainer container : List.copyOf(containers)) {
            if (container.state == State.EXITED && container.policy) {
                container.stoppedByHand = false;
                container.refusedByItself |= startNow(container, false).isPresent();
            }
        }
        serving = true;
        for (SimulatedContainer container : List.copyOf(containers)) {
            if (container.state == State.EXITED && container.settings.remove()) {
                forget(container);
            }
        }
    }

    /** Ends in order: it stops its containers first, unless they are to live on. */
    void finish(boolean liveRestore) {
        serving = false;
        for (SimulatedContainer container : List.copyOf(containers)) {
            container.restarted = Optional.empty();
            if (container.state == State.STARTING) {
                finishStart(container, true);
            }
            if (!liveRestore && container.isRunning()) {
                end(container, false, false);
                unmount(container);
                container.ends++;
                container.state = State.EXITED;
                emit("die", container);
            }
        }
        die();
    }

    /** Ends at once, and its containers do not. */
    void die() {
        serving = false;
        containers.forEach(container -> container.restarted = Optional.empty());
        process.ifPresent(machine::end);
        process = Optional.empty();
    }

    private Optional<String> startNow(SimulatedContainer container, boolean slowly) {
        container.before = container.state;
        container.state = State.STARTING;
        Optional<String> error = mount(container);
        if (error.isPresent()) {
            container.error = "error while mounting volume '': " + error.get();
            notStarted(container);
            return error;
        }
        if (!container.guest) {
            listener.mounted(container);
        }
        if (!slowly) {
            run(container);
        }
        return DONE;
    }

    /** Whether a policy starts this container, or another one with its claim. */
    private boolean isAnyRestarting(SimulatedContainer container) {
        return container.settings.volume().stream()
                .flatMap(volume -> using(volume).stream())
                .anyMatch(it -> it.shown() == State.RESTARTING);
    }

    private void run(SimulatedContainer container) {
        container.state = State.RUNNING;
        container.error = "";
        container.refusedByItself = false;
        Optional<String> cgroup = Optional.of(container.cgroup());
        container.init = Optional.of(machine.spawn(container.claim(), cgroup));
        emit("start", container);
    }

    private void notStarted(SimulatedContainer container) {
        boolean first = container.before == State.CREATED;
        container.state = first ? State.CREATED : State.EXITED;
        if (container.settings.remove()) {
            forget(container);
        }
    }

    private void forget(SimulatedContainer container) {
        containers.remove(container);
        removed.add(container);
        emit("destroy", container);
    }

    private Optional<String> mount(SimulatedContainer container) {
        if (container.settings.volume().isEmpty()) {
            return DONE;
        }
        String volume = container.settings.volume().get();
        String use = container.use.orElseGet(() -> id + "-use-" + ++uses);
        boolean restarts = isAnyRestarting(container);
        container.waiting = true;
        Answer answer = get(volume);
        if (answer.isOk()) {
            answer = plugin.mount(volume, use, process.orElseThrow());
        }
        container.waiting = false;
        if (!answer.isOk()) {
            // An engine that does not answer cannot be distinguished from one that is starting, and
            // the mount for a copy, or for docker cp, not from the restart of another container
            // with the claim.
            container.refusedByItself |=
                    mood != Mood.WELL || restarts || isAnyRestarting(container);
            return Optional.of(answer.error());
        }
        container.guest = answer.equals(Answer.NOTHING);
        container.use = Optional.of(use);
        container.mounts++;
        return DONE;
    }

    /** If the plugin fails to unmount, docker goes on all the same, and keeps the name. */
    private void unmount(SimulatedContainer container) {
        if (container.use.isEmpty()) {
            return;
        }
        String volume = container.settings.volume().orElseThrow();
        container.waiting = true;
        boolean done = get(volume).isOk() && plugin.unmount(volume, container.use.get()).isOk();
        container.waiting = false;
        if (done) {
            container.mounts--;
        }
        if (container.mounts == 0) {
            container.use = Optional.empty();
        }
    }

    /** An Err makes docker forget what it knew of the volume. */
    private Answer get(String volume) {
        Answer found = plugin.get(volume);
        if (found.kind() == Answer.Kind.ERR) {
            volumes.put(volume, Map.of());
        }
        return found;
    }

    private void emit(String action, SimulatedContainer container) {
        ClaimNames.ofLabel(container.settings.labels())
                .ifPresent(claim -> listener.happened(new Event(action, container.id, claim)));
    }
}
