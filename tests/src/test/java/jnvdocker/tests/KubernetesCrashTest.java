package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.tests.world.Command;
import jnvdocker.tests.world.Directories;
import jnvdocker.tests.world.DriverRoot;
import jnvdocker.tests.world.KillPoint;
import jnvdocker.tests.world.Lab;
import jnvdocker.tests.world.Moments;
import jnvdocker.tests.world.PodProcesses;
import jnvdocker.tests.world.Registry;
import jnvdocker.tests.world.TestDaemon;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;

/**
 * The daemon is killed at any write to its registry while pods come and go: a pod that runs keeps
 * its GPUs, no other gets them, and nothing is left in the end. The test takes a few of the many
 * moments, or all with {@code KILL_POINTS=all} in the environment.
 */
@Tag("root")
class KubernetesCrashTest {
    private static final int GPUS = 2;
    private static final int FEW = 1;
    private static final Executor THREADS = Thread::startVirtualThread;

    /** The patience for a kubelet and a controller, which try again for ever. */
    private static final int TRIES = 50;

    private final PodProcesses processes = new PodProcesses();
    private DriverRoot host;
    private TestDaemon daemon;
    private Registry registry;
    private Path directory;
    private TestKubelet kubelet;
    private Set<String> uuids;

    @BeforeEach
    void open() throws IOException {
        host = DriverRoot.make(DriverRoot.Release.DRIVER_535, GPUS);
        directory = Directories.make("kubelet");
        kubelet = TestKubelet.start(directory);
        daemon = new TestDaemon(host);
        daemon.config("[kubernetes]\nenabled = true\nkubelet_dir = \"" + directory + "\"\n");
        registry = new Registry(daemon);
        uuids = new TreeSet<>(gpus().findValuesAsText("uuid"));
    }

    @AfterEach
    void close() throws IOException {
        assertFalse(kubelet.panicked());
        daemon.close();
        kubelet.close();
        processes.close();
        host.close();
        Directories.remove(directory);
    }

    @Test
    void killedBeforeOrAmidAnyWriteToTheRegistry() throws Exception {
        int first;
        int count;
        try (KillPoint counting = KillPoint.never()) {
            first = launch(counting) + 1;
            usePods();
            count = counting.calls() + 1 - first;
        }
        for (int moment : Moments.some("killed at a write for pods", 0, 2 * count - 1, FEW)) {
            boolean before = moment < count;
            int write = first + (before ? moment : 2 * count - 1 - moment);
            String when = (before ? "before" : "amid") + " write " + write;
            try (KillPoint point = before ? KillPoint.before(write) : KillPoint.amid(write)) {
                daemon.stop();
                Process process = daemon.launch(point.environment());
                var next = process.onExit().thenRunAsync(this::gpus, THREADS);
                usePods();
                // One that lives on would end amid the next moment.
                process.destroy();
                next.join();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(when + ": " + log(), e);
            }
        }
    }

    private int launch(KillPoint point) {
        daemon.stop();
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of());
        daemon.launch(point.environment());
        kubelet.awaitHealthy(TestKubelet.GPU, uuids);
        return point.calls();
    }

    private String log() {
        try {
            return Files.readString(daemon.log());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A pod is admitted, started, restarted, and deleted by force; the next gets its GPUs. */
    private void usePods() {
        TestPod old = admitted("old");
        processes.start(old, "sleep", "1000");
        started(old);
        kubelet.ended(old, "main");
        started(old);
        kubelet.forceDelete(old);
        TestPod next = admitted("new");
        processes.start(next, "sleep", "1000");
        var start = CompletableFuture.runAsync(() -> started(next), THREADS);
        assertHolds(old);
        assertFalse(start.isDone(), "two pods have the same GPUs");
        processes.end(old);
        start.join();
        assertHolds(next);
        kubelet.delete(next);
        processes.end(next);
        assertNothingIsLeft();
    }

    /** The controller makes another pod for one that was rejected. */
    private TestPod admitted(String name) {
        for (int i = 0; i < TRIES; i++) {
            kubelet.awaitHealthy(TestKubelet.GPU, uuids);
            TestPod pod = TestPod.named(name, GPUS);
            if (kubelet.admit(pod) instanceof TestKubelet.Admitted) {
                return pod;
            }
            pause();
        }
        throw new AssertionError("pod " + name + " is always rejected");
    }

    /** The kubelet notices the daemon's end a moment later. */
    private static void pause() {
        LockSupport.parkNanos(50_000_000);
    }

    private void started(TestPod pod) {
        for (int i = 0; i < TRIES; i++) {
            kubelet.awaitHealthy(TestKubelet.GPU, uuids);
            if (kubelet.start(pod, "main") instanceof TestKubelet.Running) {
                assertHolds(pod);
                return;
            }
            pause();
        }
        throw new AssertionError("pod " + pod.name() + " never starts");
    }

    /** The daemon may be killed while it answers; the client starts another one then. */
    private JsonNode gpus() {
        Command.Result result = daemon.jnvdocker("gpu", "ls", "--json").run();
        for (int i = 1; i < TRIES && result.exitCode() != 0; i++) {
            result = daemon.jnvdocker("gpu", "ls", "--json").run();
        }
        return result.ok().json();
    }

    /** Nobody else gets the GPUs of a pod that runs. */
    private void assertHolds(TestPod pod) {
        Command.Result other = daemon.jnvdocker("gpu", "run", "--gpus", "1", "true").run();
        assertTrue(other.exitCode() != 0, other::toString);
        assertEquals(List.of(), registry.heldTwice());
        Lab.await(() -> {
            List<String> pods = gpus().findValuesAsText("pod");
            return pods.stream().allMatch(("team-a/" + pod.name())::equals)
                    ? List.of()
                    : List.of("held by " + pods);
        });
    }

    private void assertNothingIsLeft() {
        Lab.await(() -> {
            gpus();
            List<String> left = new ArrayList<>();
            registry.live().forEach(lease -> left.add(lease.toString()));
            registry.claims().forEach(claim -> left.add("claim " + claim));
            return left;
        });
        if (daemon.jnvdocker("gpu", "run", "--gpus", GPUS, "true").run().exitCode() != 0) {
            // The kill may have hit this request; a second one must succeed.
            daemon.jnvdocker("gpu", "run", "--gpus", GPUS, "true").run().ok();
        }
    }
}
