package jnvdocker.core;

import jnvdocker.core.SimulatedEngine.Answer;
import jnvdocker.core.SimulatedEngine.Event;
import jnvdocker.core.SimulatedEngine.Mood;
import jnvdocker.decision.DecisionLog;
import jnvdocker.holder.ContainerEngine;
import jnvdocker.holder.Pace;
import jnvdocker.host.Gpu;
import jnvdocker.host.GpuTroubles;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.LeasePolicy;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.recovery.Reconciler;
import jnvdocker.registry.Changes;
import jnvdocker.supply.AllowanceReader;
import jnvdocker.use.GpuUses;
import jnvdocker.use.MemoryUsers;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/**
 * The real parts that give out GPUs, in a simulated world. Work that the daemon does by itself, on
 * threads of its own, is done when the model says so. The daemon may be killed at any moment.
 */
final class SimulatedDaemon implements SimulatedEngine.Plugin {
    /** A verb may wait a few times for an end that is near, and for a quick list. */
    private static final Duration VERB_LIMIT = Duration.ofMillis(4 * (3000 + 200));

    private static final Answer AWAY = new Answer(Answer.Kind.AWAY, "the plugin does not answer");

    private static final Duration A_WHILE = Duration.ofMillis(100);
    private static final Duration QUICK = Duration.ofMillis(200);

    /** Whose a container is that was made again is worth a longer wait than a refused start. */
    private static final Duration OWNER_LIMIT = Duration.ofSeconds(2);

    /** Thrown wherever the daemon happens to be when it is killed. */
    @SuppressWarnings("serial")
    static final class Killed extends Error {
        Killed() {
            super("killed", null, false, false);
        }
    }

    /** The world around the daemon. */
    interface Surroundings {
        SimulatedEngine engine();

        List<Gpu> gpus();

        GpuTraits traits();

        /** What a feature brings to the world. */
        default SimulatedFeature feature() {
            return SimulatedFeature.NONE;
        }

        /** The current configuration. */
        LeasePolicy policy();

        /** The groups of users, on which limits depend. */
        default AllowanceReader.Groups groups() {
            return AllowanceReader.Groups.OF_THIS_HOST;
        }

        /** Stops a container on the daemon's behalf, and returns whether it is one that runs. */
        default boolean stop(String container) {
            return false;
        }

        /** The uses of GPUs, with or without a lease. */
        GpuUses uses();

        /**
         * Starts a container on the daemon's own behalf, and returns the error, if there is one.
         */
        Optional<String> startRefused(String container);

        /** Carries out a mount that an engine requests. */
        void mount(String volume, Task mount) throws Exception;

        void say(String what);

        /** A moment at which anything may happen. */
        void moment();
    }

    /** Something that the daemon does. */
    interface Task {
        void perform() throws Exception;
    }

    private record Later(long due, Task task) {}

    private final Path state;
    private final SimulatedMachine machine;
    private final Surroundings world;

    /** The same in each world, so that the same steps lead to the same state. */
    private final RandomGenerator random = new Random(1);

    private final List<Event> events = new ArrayList<>();
    private final List<Later> later = new ArrayList<>();

    /** The threads that wait for GPUs. */
    private final List<SteppedThread> threads = new ArrayList<>();

    private Optional<LeaseParts> parts = Optional.empty();
    private Connection connection;
    private int depth;
    private boolean inVerb;
    private boolean doomed;
    private boolean watching;
    private long opened;

    SimulatedDaemon(Path state, SimulatedMachine machine, Surroundings world) {
        this.state = state;
        this.machine = machine;
        this.world = world;
    }

    boolean isUp() {
        return parts.isPresent() && !doomed;
    }

    boolean isBusy() {
        return depth > 0;
    }

    /** Whether the engine answers the daemon. */
    boolean answers() {
        return world.engine().serves() && world.engine().mood == Mood.WELL;
    }

    boolean isWatching() {
        return watching;
    }

    /** How long the daemon has run. */
    Duration age() {
        return Duration.ofNanos(machine.nanos() - opened);
    }

    LeaseParts parts() {
        return parts.orElseThrow();
    }

    void start() throws IOException {
        opened = machine.nanos();
        connection = new Connection();
        events.clear();
        later.clear();
        watching = false;
        doomed = false;
        depth++;
        try {
            LeaseParts.World its =
                    new LeaseParts.World(
                            state,
                            machine.bootId(),
                            "nvidia-docker",
                            machine,
                            connection,
                            world::gpus,
                            world.uses(),
                            GpuTroubles.NONE,
                            MemoryUsers.UNKNOWN,
                            world::policy,
                            Set::of,
                            world::traits,
                            machine,
                            random,
                            new SimulatedPace(),
                            world.groups(),
                            new DecisionLog(Optional.empty()));
            parts = Optional.of(world.feature().open(its));
            world.feature().started(parts(), its.pace());
            parts().ociKeeper().remember();
        } catch (Killed e) {
            world.say("the daemon is killed while it starts");
            bury();
        } finally {
            depth--;
        }
    }

    /** Kills the daemon, which is gone when it has left everything that it is doing now. */
    void kill() throws IOException {
        doomed = true;
        if (depth == 0) {
            bury();
        }
    }

    private void bury() throws IOException {
        doomed = false;
        watching = false;
        events.clear();
        later.clear();
        threads.forEach(SteppedThread::kill);
        threads.clear();
        if (parts.isPresent()) {
            parts.get().close();
            parts = Optional.empty();
        }
    }

    /** Does something; a failure that the daemon would log is traced. */
    boolean perform(String what, Task task) throws IOException {
        return perform(what, task, false);
    }

    /** A thread for a task that takes its time, and sleeps meanwhile. */
    SteppedThread thread(Task task) {
        SteppedThread thread = new SteppedThread(task);
        threads.add(thread);
        return thread;
    }

    /** Lets a thread run until it sleeps, or is over. */
    void goOn(String what, SteppedThread thread) throws IOException {
        perform(what, () -> thread.goOn(depth));
        threads.removeIf(SteppedThread::isOver);
    }

    private boolean perform(String what, Task task, boolean verb) throws IOException {
        if (!isUp()) {
            return false;
        }
        boolean outer = inVerb;
        inVerb = verb;
        depth++;
        try {
            task.perform();
            world.moment();
            return true;
        } catch (Killed e) {
            doomed = true;
            return false;
        } catch (IOException | RefusedException e) {
            // The registry's rules are the last resort: nothing that is decided runs into them.
            if (e.getMessage().contains("SQLITE_CONSTRAINT")) {
                throw new AssertionError(what, e);
            }
            world.say(what + ": " + e.getMessage());
            return false;
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            inVerb = outer;
            depth--;
            if (doomed && depth == 0) {
                world.say("the daemon is gone");
                bury();
            }
        }
    }

    /** Called at any moment: leaves the work under way if the daemon was killed meanwhile. */
    void survive() {
        if (doomed) {
            throw new Killed();
        }
    }

    void watch() throws IOException {
        if (isUp() && !watching && answers()) {
            watching = true;
            perform(
                    "reconcile",
                    () -> {
                        connection.id = Optional.empty();
                        connection.followed = true;
                        try {
                            parts().reconciler().reconcile();
                        } catch (IOException e) {
                            leave();
                            throw e;
                        }
                    });
        }
    }

    /** The engine's events have ended. */
    void leave() {
        watching = false;
        if (connection != null) {
            connection.followed = false;
            connection.id = Optional.empty();
        }
    }

    void reported(Event event) {
        if (isUp() && watching) {
            events.add(event);
        }
    }

    /** Handles one of the events that it has received, in any order, or twice. */
    boolean handleEvent(int index, boolean again) throws IOException {
        if (events.isEmpty()) {
            return false;
        }
        int place = index % events.size();
        Event event = again ? events.get(place) : events.remove(place);
        world.say("event " + event.action() + " of " + event.container().substring(0, 4));
        Reconciler reconciler = parts().reconciler();
        return perform(
                event.action(),
                () -> {
                    switch (event.action()) {
                        case "create", "start" ->
                                reconciler.changed(event.container(), event.claim());
                        case "rename" -> rename(event.container());
                        case "die" -> reconciler.recheck(event.claim().id());
                        case "destroy" -> reconciler.destroyed(event.container(), event.claim());
                        default -> throw new IllegalArgumentException(event.action());
                    }
                });
    }

    private void rename(String container) throws IOException {
        Optional<SimulatedContainer> renamed = world.engine().container(container);
        if (renamed.isPresent()) {
            parts().reconciler().renamed(container, renamed.get().name);
        }
    }

    /** Does one of the tasks that were put off until now. */
    boolean handleLater(int index) throws IOException {
        List<Later> due = later.stream().filter(it -> it.due() <= machine.nanos()).toList();
        if (due.isEmpty()) {
            return false;
        }
        Later chosen = due.get(index % due.size());
        later.remove(chosen);
        return perform("later", chosen.task());
    }

    @Override
    public Answer get(String volume) {
        return verb(() -> parts().volumes().get(volume));
    }

    @Override
    public Answer create(String volume, Map<String, String> options) {
        return verb(() -> parts().volumes().create(volume, options));
    }

    @Override
    public Answer mount(String volume, String use, ProcessId engine) {
        Path[] directory = {Path.of("")};
        Answer answer =
                verb(() ->
                        world.mount(
                                volume,
                                () -> directory[0] = parts().volumes().mount(volume, use, engine)));
        return answer.isOk() && directory[0].endsWith("nothing") ? Answer.NOTHING : answer;
    }

    @Override
    public Answer unmount(String volume, String use) {
        return verb(() -> parts().volumes().unmount(volume, use));
    }

    @Override
    public Answer remove(String volume) {
        return verb(() -> parts().volumes().remove(volume));
    }

    private Answer verb(Task verb) {
        Answer[] answer = {AWAY};
        try {
            perform("verb", () -> answer[0] = answer(verb), true);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        // If it is killed before it could answer, its work is done all the same.
        return isUp() ? answer[0] : AWAY;
    }

    private Answer answer(Task verb) throws Exception {
        long begun = machine.nanos();
        try {
            verb.perform();
            return Answer.OK;
        } catch (RefusedException e) {
            return new Answer(Answer.Kind.ERR, e.getMessage());
        } catch (IOException e) {
            return new Answer(Answer.Kind.ERR, FileErrors.refusal(e).message());
        } finally {
            if (machine.nanos() - begun > VERB_LIMIT.toNanos()) {
                world.say("a verb took " + Duration.ofNanos(machine.nanos() - begun));
            }
        }
    }

    private final class SimulatedPace implements Pace {
        @Override
        public long nanos() {
            return machine.nanos();
        }

        @Override
        public void sleep(Duration duration) {
            long due = machine.nanos() + duration.toNanos();
            threads.stream()
                    .filter(thread -> thread.isCurrent(depth))
                    .findFirst()
                    .ifPresent(SteppedThread::sleep);
            meanwhile(due);
            machine.pass(Duration.ofNanos(Math.max(0, due - machine.nanos())));
            world.moment();
        }

        /** Does the tasks that fall due during a sleep. */
        private void meanwhile(long until) {
            while (true) {
                Optional<Later> next =
                        later.stream()
                                .filter(it -> it.due() <= until)
                                .min(Comparator.comparingLong(Later::due));
                if (next.isEmpty()) {
                    return;
                }
                later.remove(next.get());
                machine.pass(Duration.ofNanos(Math.max(0, next.get().due() - machine.nanos())));
                try {
                    perform("later", next.get().task());
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
                survive();
            }
        }

        /** No sleeper is woken: all oversleep. */
        @Override
        public void sleep(Duration longest, Changes changes, long seen) {
            sleep(longest.compareTo(A_WHILE) < 0 ? longest : A_WHILE);
        }

        @Override
        public void later(Duration delay, Runnable task) {
            later.add(new Later(machine.nanos() + delay.toNanos(), task::run));
        }
    }

    /** The daemon's side of the engine's API. */
    private final class Connection implements ContainerEngine {
        private Optional<String> id = Optional.empty();
        private boolean followed;

        @Override
        public boolean hasStarted() {
            return id.isPresent();
        }

        @Override
        public boolean isPodman(Duration limit) {
            return world.engine().isPodman;
        }

        @Override
        public Optional<String> knownId() {
            return id;
        }

        @Override
        public String id(Duration limit) throws IOException {
            if (id.isEmpty()) {
                String reported = query(limit, () -> world.engine().id);
                if (!followed) {
                    return reported;
                }
                id = Optional.of(reported);
            }
            return id.get();
        }

        @Override
        public List<Listed> labelled(String label, Duration limit) throws IOException {
            return query(
                    limit,
                    () ->
                            world.engine().containers.stream()
                                    .filter(it -> it.settings.labels().containsKey(label))
                                    .map(Connection::listed)
                                    .toList());
        }

        @Override
        public List<Listed> all(Duration limit) throws IOException {
            return query(
                    limit,
                    () -> world.engine().containers.stream().map(Connection::listed).toList());
        }

        @Override
        public List<Listed> using(Collection<String> volumes, Duration limit) throws IOException {
            return query(
                    limit,
                    OWNER_LIMIT,
                    () ->
                            volumes.stream()
                                    .flatMap(volume -> world.engine().using(volume).stream())
                                    .map(Connection::listed)
                                    .toList());
        }

        @Override
        public Optional<Inspected> inspect(String container, Duration limit) throws IOException {
            if (limit.compareTo(QUICK) > 0) {
                refuseInVerb();
            }
            Optional<SimulatedContainer> found = world.engine().container(container);
            if (found.filter(SimulatedContainer::isLocked).isPresent()) {
                throw silent(limit);
            }
            return query(
                    limit, () -> world.engine().container(container).map(Connection::inspected));
        }

        @Override
        public Optional<Map<String, String>> imageLabels(String image, Duration limit)
                throws IOException {
            return query(limit, () -> Optional.of(Map.of()));
        }

        @Override
        public Optional<Down> down(String container, Duration limit) throws IOException {
            refuseInVerb();
            Optional<SimulatedContainer> found = world.engine().container(container);
            if (found.filter(SimulatedContainer::isLocked).isPresent()) {
                throw silent(limit);
            }
            return query(
                    limit,
                    () ->
                            world.engine()
                                    .container(container)
                                    .filter(it -> !it.isRunning())
                                    .filter(it -> it.state != SimulatedContainer.State.RESTARTING)
                                    .map(Connection::down));
        }

        @Override
        public List<Down> ended(Duration limit) {
            return List.of();
        }

        @Override
        public boolean stop(String container, Duration limit) throws IOException {
            return world.stop(container);
        }

        @Override
        public void start(String container, Duration limit) throws IOException {
            refuseInVerb();
            Optional<String> error = query(limit, () -> world.startRefused(container));
            if (error.isPresent()) {
                throw new IOException(error.get());
            }
        }

        private static Down down(SimulatedContainer container) {
            return new Down(
                    container.id,
                    container.name,
                    container.policy ? "always" : "no",
                    container.error,
                    "" + container.ends,
                    container.settings.labels());
        }

        @Override
        public boolean removeVolume(String volume, Duration limit) throws IOException {
            refuseInVerb();
            if (!world.engine().using(volume).isEmpty()) {
                return query(limit, () -> false);
            }
            Optional<String> error = query(limit, () -> world.engine().removeVolume(volume));
            if (error.isPresent()) {
                throw new IOException(error.get());
            }
            return true;
        }

        private <T> T query(Duration limit, Supplier<T> question) throws IOException {
            return query(limit, QUICK, question);
        }

        private <T> T query(Duration limit, Duration longest, Supplier<T> question)
                throws IOException {
            if (inVerb && limit.compareTo(longest) > 0) {
                throw new AssertionError("a verb waits for the engine: " + limit);
            }
            world.moment();
            SimulatedEngine engine = world.engine();
            if (!engine.serves() || engine.mood == Mood.FAILING) {
                throw new IOException("connection refused");
            }
            if (engine.mood == Mood.SLOW) {
                throw silent(limit);
            }
            T answer = lie(engine, question.get());
            // The answer may be old by the time it is read.
            world.moment();
            return answer;
        }

        /** Engines have been seen to answer so in the middle of something. */
        @SuppressWarnings("unchecked")
        private <T> T lie(SimulatedEngine engine, T truth) {
            Object lie = truth;
            if (engine.lies && !engine.lied) {
                if (truth instanceof List<?> list && !list.isEmpty()) {
                    lie = list.subList(0, list.size() / 2);
                } else if (truth instanceof Optional<?> found
                        && found.isPresent()
                        && found.get() instanceof Inspected it) {
                    lie =
                            Optional.of(
                                    new Inspected(
                                            it.id(),
                                            it.name(),
                                            it.image(),
                                            0,
                                            false,
                                            it.labels(),
                                            it.volumes()));
                }
            }
            engine.lied = lie != truth;
            if (engine.lied) {
                engine.lies = false;
                world.say("the engine lies: " + lie);
            }
            return (T) lie;
        }

        private IOException silent(Duration limit) {
            machine.pass(limit);
            world.moment();
            return new IOException("no answer within " + limit);
        }

        private void refuseInVerb() {
            if (inVerb) {
                throw new AssertionError("a verb waits for the engine");
            }
        }

        private static Listed listed(SimulatedContainer container) {
            return new Listed(
                    container.id,
                    container.name,
                    container.shownState(),
                    container.settings.labels(),
                    List.copyOf(container.settings.volume().stream().toList()));
        }

        private static Inspected inspected(SimulatedContainer container) {
            return new Inspected(
                    container.id,
                    container.name,
                    "image",
                    container.isRunning() ? container.init.orElseThrow().pid() : 0,
                    container.state == SimulatedContainer.State.RESTARTING,
                    container.settings.labels(),
                    container.settings.volume().stream().toList());
        }
    }
}
