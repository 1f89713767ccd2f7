package jnvdocker.doctor;

import jnvdocker.docker.engine.EngineException;
import jnvdocker.host.NoDriverException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A check that cannot harm the others: it fails alone, and is waited for only up to a limit. */
final class Examination {
    private static final Logger LOG = LoggerFactory.getLogger(Examination.class);

    private final Check check;
    private CompletableFuture<List<Finding>> current;

    Examination(Check check) {
        this.check = check;
    }

    /**
     * Starts the check, unless an earlier run has not ended: a check that hangs never runs twice.
     * It runs on a thread of its own, since a hang in the kernel would block a virtual thread's
     * carrier.
     */
    synchronized CompletableFuture<List<Finding>> start() {
        if (current == null || current.isDone()) {
            current =
                    CompletableFuture.supplyAsync(
                            this::findings,
                            task -> Thread.ofPlatform().daemon().name(check.name()).start(task));
        }
        return current;
    }

    /** Returns the findings once the check ends, or at the limit. */
    List<Diagnosis> result(CompletableFuture<List<Finding>> future, Duration limit) {
        return found(future, limit).stream()
                .map(finding -> new Diagnosis(check.name(), finding))
                .toList();
    }

    private static List<Finding> found(CompletableFuture<List<Finding>> future, Duration limit) {
        try {
            return future.get(Math.max(0, limit.toMillis()), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return List.of(unknown("this check did not end in time"));
        } catch (ExecutionException e) {
            LOG.warn("a check of 'gpu doctor' failed", e.getCause());
            return List.of(unknown("this check failed, and the daemon's log says why"));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return List.of(unknown("this check was interrupted"));
        }
    }

    private List<Finding> findings() {
        Findings found = new Findings();
        try {
            check.query().examine(found);
            return found.all();
        } catch (NoDriverException e) {
            return List.of(unknown("no NVIDIA driver is loaded"));
        } catch (EngineException e) {
            return List.of(unknown(Finding.failure(e)));
        } catch (IOException | UncheckedIOException e) {
            return List.of(unknown("it cannot be checked: " + Finding.failure(e)));
        }
    }

    private static Finding unknown(String why) {
        return new Finding(Finding.State.UNKNOWN, why, "");
    }
}
