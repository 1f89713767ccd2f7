package jnvdocker.docker.engine;

import com.github.dockerjava.api.model.Event;

import jnvdocker.claim.RefusedStarts;
import jnvdocker.holder.Periodic;
import jnvdocker.lease.ClaimKey;
import jnvdocker.lease.ClaimNames;
import jnvdocker.posix.FileErrors;
import jnvdocker.recovery.Reconciler;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Follows what happens to the engine's containers, for as long as there is an engine, and updates
 * the leases. Whatever may have been missed in between is made up for by reconciling.
 */
public final class EngineWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineWatch.class);
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final Duration RETRY = Duration.ofMillis(500);
    private static final Duration SWEEP = Duration.ofSeconds(5);

    /** The number of sweeps after which everything is compared, even without a reason. */
    private static final int SWEEPS = 60;

    /** Actions that concern containers without a claim, too: those of our OCI runtime. */
    private static final Set<String> OF_ALL = Set.of("start", "rename", "destroy");

    private final DockerEngine engine;
    private final Reconciler reconciler;
    private final RefusedStarts refusedStarts;
    private final AtomicBoolean starting = new AtomicBoolean();

    /** The events that are being handled, and whether they have happened again meanwhile. */
    private final Map<Happening, Boolean> again = new ConcurrentHashMap<>();

    /** The latest names of containers, until they are written down. */
    private final Map<String, String> names = new ConcurrentHashMap<>();

    private final Periodic thread;

    /** Why the engine was not followed the last time; null when it was. */
    private String obstacle;

    private EngineWatch(DockerEngine engine, Reconciler reconciler, RefusedStarts refusedStarts) {
        this.engine = engine;
        this.reconciler = reconciler;
        this.refusedStarts = refusedStarts;
        this.thread = new Periodic("watch", RETRY, this::watch);
    }

    /** Watches from now on; an engine that does not run is waited for. */
    public static EngineWatch start(
            DockerEngine engine, Reconciler reconciler, RefusedStarts refusedStarts) {
        EngineWatch watch = new EngineWatch(engine, reconciler, refusedStarts);
        watch.thread.startVirtual();
        return watch;
    }

    private void watch() throws InterruptedException {
        try {
            follow();
        } catch (IOException | RuntimeException e) {
            if (!Objects.equals(e.getMessage(), obstacle)) {
                LOG.info("not following the engine: {}", e.getMessage());
            }
            obstacle = e.getMessage();
        }
    }

    /** Returns when the engine's stream of events has ended. */
    private void follow() throws IOException, InterruptedException {
        EventStream events = new EventStream(this::handle);
        // First the stream, then the list: what happens in between is reported at least once.
        try (Closeable _ = engine.events(events)) {
            engine.memory().follow();
            reconciler.reconcile();
            engine.learnRuntimes(); // what the first run would wait for
            reconciler.named(engine.running(LIMIT));
            refusedStarts.follow();
            startRefused();
            LOG.info("following the engine at {}", engine.socket());
            obstacle = null;
            for (int sweep = 1; !events.awaitEnd(SWEEP); sweep++) {
                if (sweep % SWEEPS == 0) {
                    perform("reconcile", reconciler::reconcile);
                } else {
                    perform("sweep", reconciler::sweep);
                }
                perform("list", () -> reconciler.named(engine.running(LIMIT)));
                startRefused();
            }
        } finally {
            engine.memory().leave();
        }
        LOG.info("the engine at {} is gone", engine.socket());
    }

    /** On a thread of its own: a start may take long, and must not delay the next sweep. */
    private void startRefused() {
        if (starting.compareAndSet(false, true)) {
            Thread.ofVirtual()
                    .start(() -> {
                        try {
                            perform("find containers that are down", refusedStarts::learnOfMissed);
                            perform("start refused containers", refusedStarts::review);
                        } finally {
                            starting.set(false);
                        }
                    });
        }
    }

    /** Work that queries the engine; a later sweep makes up for a failure. */
    @FunctionalInterface
    private interface Task {
        void perform() throws IOException;
    }

    private static void perform(String what, Task task) {
        try {
            task.perform();
        } catch (IOException e) {
            LOG.debug("{}: {}", what, FileErrors.describe(e));
        } catch (RuntimeException | Error e) {
            LOG.error("{} failed", what, e);
        }
    }

    /** An event, and its container, if any. */
    private record Happening(String action, String container) {}

    private void handle(Event event) {
        String action = event.getAction();
        if ("reload".equals(action)) {
            engine.memory().forget();
        }
        var actor = Optional.ofNullable(event.getActor());
        Map<String, String> attributes = actor.map(it -> it.getAttributes()).orElse(Map.of());
        String container = actor.map(it -> it.getId()).orElse(null);
        if (container == null || action == null) {
            return;
        }
        // An image's label may be any text.
        Optional<ClaimKey> claim = ClaimNames.ofLabel(attributes);
        if (action.equals("rename") && attributes.get("name") != null) {
            names.put(container, attributes.get("name"));
        }
        if (claim.isPresent() || OF_ALL.contains(action)) {
            handle(new Happening(action, container), () -> happened(action, container, claim));
        }
    }

    /**
     * Runs a task on a thread of its own, so that no event waits for the engine's answers. Events
     * that repeat meanwhile, however often, run it once more.
     */
    private void handle(Happening what, Runnable task) {
        if (again.compute(what, (_, underWay) -> underWay != null)) {
            return;
        }
        Thread.ofVirtual()
                .start(() -> {
                    do {
                        task.run();
                    } while (again.computeIfPresent(what, (_, more) -> more ? false : null)
                            != null);
                });
    }

    private void happened(String action, String container, Optional<ClaimKey> claim) {
        switch (action) {
            case "create" -> claim.ifPresent(its -> changed(container, its));
            case "start" -> {
                perform(action, () -> reconciler.started(container));
                claim.ifPresent(its -> changed(container, its));
                perform("inspect a container", () -> engine.learn(container));
            }
            case "rename" -> renamed(container);
            case "die" ->
                    claim.ifPresent(its -> {
                        refusedStarts.ended(container);
                        perform(action, () -> reconciler.recheck(its.id()));
                    });
            case "destroy" -> {
                perform(action, () -> reconciler.destroyed(container));
                claim.ifPresent(its -> perform(action, () -> reconciler.destroyed(container, its)));
            }
            default -> {}
        }
    }

    private void changed(String container, ClaimKey claim) {
        perform("check a claim", () -> reconciler.changed(container, claim));
    }

    /** A holder is known by its container's id, with a label or without. */
    private void renamed(String container) {
        String name = names.remove(container);
        if (name != null) {
            engine.renamed(container, name);
            perform("rename", () -> reconciler.renamed(container, name));
        }
    }

    @Override
    public void close() {
        thread.end(Duration.ZERO);
    }
}
