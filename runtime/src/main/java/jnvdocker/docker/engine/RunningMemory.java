package jnvdocker.docker.engine;

import com.github.dockerjava.api.command.InspectContainerResponse;

import jnvdocker.holder.ContainerEngine;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.use.RunningContainer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.function.Predicate;

/**
 * Containers that were inspected. What one was given does not change as long as its first process
 * lives, so that it is inspected once for each of its starts.
 */
final class RunningMemory {
    private static final Logger LOG = LoggerFactory.getLogger(RunningMemory.class);

    private final Processes processes;
    private final Predicate<String> guarded;
    private final Map<String, RunningContainer> known = new ConcurrentHashMap<>();

    /**
     * @param guarded whether a runtime's program is ours
     */
    RunningMemory(Processes processes, Predicate<String> guarded) {
        this.processes = processes;
        this.guarded = guarded;
    }

    /** Inspects a container; empty when it does not run any more. */
    interface Question {
        Optional<RunningContainer> query(String id) throws EngineException;
    }

    /** The containers of the list that run; inspects all unknown ones at the same time. */
    List<RunningContainer> running(
            List<ContainerEngine.Listed> listed, Question question, ExecutorService threads) {
        forgetEnded();
        List<Future<Optional<RunningContainer>>> all = new ArrayList<>();
        for (ContainerEngine.Listed container : listed) {
            all.add(threads.submit(() -> find(container, question)));
        }
        List<RunningContainer> running = new ArrayList<>();
        for (Future<Optional<RunningContainer>> each : all) {
            try {
                each.get().ifPresent(running::add);
            } catch (ExecutionException e) {
                LOG.debug("a container is left out: {}", e.getCause().getMessage());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return running;
            }
        }
        return running;
    }

    /** The known containers that still run. */
    List<RunningContainer> known() {
        forgetEnded();
        return List.copyOf(known.values());
    }

    /** What the engine reports of a container that runs, or is about to run again. */
    Optional<RunningContainer> describe(InspectContainerResponse found, EngineRuntimes runtimes) {
        ContainerEngine.Inspected inspected = ContainerRecords.inspected(found);
        Optional<ProcessId> init =
                inspected.pid() == 0 ? Optional.empty() : processes.find(inspected.pid());
        return init.isPresent() || inspected.restarting()
                ? Optional.of(
                        new RunningContainer(
                                inspected.id(),
                                inspected.name(),
                                ContainerRecords.image(found),
                                init,
                                inspected.labels(),
                                inspected.volumes(),
                                AccessRecords.access(found, runtimes.paths(), guarded)))
                : Optional.empty();
    }

    private Optional<RunningContainer> find(ContainerEngine.Listed listed, Question question)
            throws EngineException {
        RunningContainer named = renamed(listed.id(), listed.name());
        return named != null ? Optional.of(named) : learn(listed.id(), question);
    }

    /** A container has this name now; returns what is known of it, or null. */
    RunningContainer renamed(String id, String name) {
        return known.computeIfPresent(id, (_, container) -> container.named(name));
    }

    /** Inspects a container, whatever is known of it. */
    Optional<RunningContainer> learn(String id, Question question) throws EngineException {
        Optional<RunningContainer> found = question.query(id);
        found.ifPresent(this::keep);
        return found;
    }

    /** Keeps what the engine has reported of a container, if it runs. */
    void keep(InspectContainerResponse found, EngineRuntimes runtimes) {
        describe(found, runtimes).ifPresent(this::keep);
    }

    private void keep(RunningContainer container) {
        if (container.init().isPresent()) {
            known.put(container.id(), container);
        }
    }

    /** Whether a container was inspected since its last start. */
    boolean knows(String id) {
        RunningContainer container = known.get(id);
        return container != null && isAlive(container.init().orElseThrow());
    }

    private void forgetEnded() {
        known.values().removeIf(container -> !isAlive(container.init().orElseThrow()));
    }

    private boolean isAlive(ProcessId init) {
        try {
            return processes.isAlive(init);
        } catch (UncheckedIOException e) {
            return true;
        }
    }
}
