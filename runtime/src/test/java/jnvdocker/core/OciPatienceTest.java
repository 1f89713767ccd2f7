package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.lease.Claim;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.oci.lease.OciContainers;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.words.RefusedException;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** For how long an engine waits at most that has our OCI runtime create a container. */
class OciPatienceTest extends SimulatedWorldTest {
    private static final String ROOT = "/run/docker/runtime-runc/moby";

    /** What the simulated machine lets pass beside the waits. */
    private static final Duration WORK = Duration.ofMillis(100);

    private LeaseParts parts() {
        return world.daemon.parts();
    }

    private Optional<Lease> create(GpuRequest request) throws Exception {
        return parts().oci()
                .take(
                        TestingParts.creation(
                                new OciContainers.Container(ROOT, "a"),
                                "train",
                                Optional.empty(),
                                world.machine.spawn(),
                                Owner.UNKNOWN,
                                request),
                        parts().oci().scan(world.gpus()))
                .keep();
    }

    /** A container of the volume plugin has ended, and its engine fails to say whether for good. */
    private void leaveUnclear(int gpus) throws Exception {
        ProcessId engine = world.machine.spawn();
        Claim claim =
                parts().leases()
                        .runs()
                        .take(
                                new Request(
                                        new GpuRequest.Count(gpus),
                                        Set.of(),
                                        TestingLeases.ALICE,
                                        engine,
                                        new Origin.EngineContainer(
                                                world.engine().id, Optional.of("cuda")),
                                        Optional.empty()),
                                Optional.empty())
                        .keep()
                        .orElseThrow();
        TestingLeases.mount(parts().registry(), claim, "use", engine);
        world.engine().mood = SimulatedEngine.Mood.FAILING;
        world.machine.end(engine);
    }

    @Test
    void creationWaitsTwoSecondsForAllTogether() throws Exception {
        int all = world.gpus().size();
        Lease last = create(new GpuRequest.Count(1)).orElseThrow();
        ProcessId left =
                world.machine.spawn(Optional.of(last.claim().id()), Optional.of("/docker/a"));
        world.machine.end(last.holder().process());
        assertTrue(parts().ociKeeper().check(last, Optional.empty()));
        leaveUnclear(all - 1);
        long begun = world.machine.nanos();
        Duration[] lingered = new Duration[1];
        world.course.during(
                300,
                _ -> {
                    world.machine.end(left);
                    lingered[0] = Duration.ofNanos(world.machine.nanos() - begun);
                    return true;
                });
        RefusedException[] refused = new RefusedException[1];
        world.daemon.perform(
                "start",
                () ->
                        refused[0] =
                                assertThrows(
                                        RefusedException.class,
                                        () -> create(new GpuRequest.Count(all))));
        Duration waited = Duration.ofNanos(world.machine.nanos() - begun);
        assertTrue(lingered[0].toMillis() > 1200, lingered[0]::toString);
        assertTrue(
                refused[0].getMessage().startsWith(all + " GPUs requested, but only GPU 0 is free"),
                refused[0]::getMessage);
        assertTrue(waited.compareTo(OciContainers.LIMIT.plus(WORK)) <= 0, waited::toString);
    }

    /** What the lease of the last start was when the creation began says nothing of that. */
    @Test
    void creationDoesNotWaitForALastStartThatWasReleasedMeanwhile() throws Exception {
        Lease last = create(new GpuRequest.Count(1)).orElseThrow();
        long begun = world.machine.nanos();
        long[] released = new long[1];
        world.course.during(
                200,
                _ -> {
                    assertTrue(parts().keeper().endByForce(last, "released by root"));
                    released[0] = world.machine.nanos() - begun;
                    return true;
                });
        List<Lease> next = new ArrayList<>();
        world.daemon.perform(
                "start", () -> next.add(create(new GpuRequest.Count(1)).orElseThrow()));
        assertTrue(released[0] > WORK.toNanos(), "while it waits, not before");
        assertEquals(1, next.size(), "it was refused");
        assertEquals(next, parts().registry().live());
    }
}
