package jnvdocker.core;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import jnvdocker.grant.Waiting;
import jnvdocker.lease.Claim;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** A client that sends its request again, since its daemon was killed before it had the answer. */
class ReservationsTest extends SimulatedWorldTest {

    private Claim claim(ProcessId client, String image, boolean waits) throws Exception {
        Optional<Waiting> waiting =
                waits ? Optional.of(new Waiting(Optional.empty(), _ -> {})) : Optional.empty();
        Request request =
                new Request(
                        new GpuRequest.Count(1),
                        Set.of(),
                        TestingLeases.ALICE,
                        client,
                        new Origin.EngineContainer(world.engine().id, Optional.of(image)),
                        Optional.empty());
        return world.daemon.parts().leases().runs().take(request, waiting).keep().orElseThrow();
    }

    private List<String> live() throws IOException {
        return world.daemon.parts().registry().live().stream()
                .map(lease -> lease.claim().id())
                .toList();
    }

    private void restart() throws IOException {
        world.daemon.kill();
        world.daemon.start();
    }

    @Test
    void clientThatAsksAgainHasItsFirstClaim() throws Exception {
        ProcessId client = world.machine.spawn();
        Claim first = claim(client, "cuda", false);
        restart();
        assertEquals(first, claim(client, "cuda", false));
        restart();
        assertEquals(first, claim(client, "cuda", true));
        assertEquals(List.of(first.id()), live());
        assertEquals(List.of(), world.daemon.parts().registry().tickets());
    }

    @Test
    void clientThatAsksForSomethingElseLosesItsFirstClaim() throws Exception {
        ProcessId client = world.machine.spawn();
        Claim first = claim(client, "cuda", false);
        restart();
        Claim second = claim(client, "another", false);
        assertNotEquals(first.id(), second.id());
        assertEquals(List.of(second.id()), live());
    }

    @Test
    void clientThatAsksTheSameDaemonTwiceGetsTwoClaims() throws Exception {
        ProcessId client = world.machine.spawn();
        assertNotEquals(claim(client, "cuda", false), claim(client, "cuda", false));
        assertEquals(2, live().size());
    }

    @Test
    void anotherClientHasGpusOfItsOwn() throws Exception {
        Claim first = claim(world.machine.spawn(), "cuda", false);
        Claim second = claim(world.machine.spawn(), "cuda", false);
        assertNotEquals(first.gpus(), second.gpus());
    }
}
