package jnvdocker.command.gpu.show;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.command.gpu.JsonSchemas;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.core.Leases;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.Requested;
import jnvdocker.lease.Ticket;
import jnvdocker.lease.text.LeaseText;
import jnvdocker.posix.ProcessId;
import jnvdocker.request.GpuRequest;
import jnvdocker.screen.Json;
import jnvdocker.screen.Screen;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

class GpuQueueTest {
    private static final Origin CUDA =
            new Origin.EngineContainer("ENGINE", Optional.of("nvidia/cuda"));

    private static final List<Leases.Waiter> WAITING =
            List.of(
                    ticket(7, 5, "alice", new GpuRequest.Count(2), CUDA),
                    ticket(
                            9,
                            "b\u001b[2J",
                            new GpuRequest.All(),
                            new Origin.MesosTask("train\u0007")),
                    ticket(
                            12,
                            "carol",
                            new GpuRequest.Devices(List.of("1", "GPU-5c1a")),
                            new Origin.HostProcess("python3"),
                            "GPU 1 is cordoned"));

    private static Leases.Waiter ticket(
            long id, String user, GpuRequest request, Origin origin, String... obstacle) {
        return ticket(id, 0, user, request, origin, obstacle);
    }

    private static Leases.Waiter ticket(
            long id,
            int priority,
            String user,
            GpuRequest request,
            Origin origin,
            String... obstacle) {
        ProcessId client = new ProcessId((int) (4700 + id), 1);
        Owner owner = new Owner(1000, user);
        return new Leases.Waiter(
                new Ticket(
                        id,
                        new Request(request, Set.of(), owner, client, origin, Optional.empty()),
                        Samples.AT_NINE,
                        priority),
                Stream.of(obstacle).findFirst());
    }

    @Test
    void lineIsInItsOrder() {
        String nine = LeaseText.time(Samples.AT_NINE);
        List<String> lines = GpuQueue.listing(WAITING, Samples.NOW).lines(Screen.NONE);
        assertEquals(
                List.of(
                        List.of("PLACE", "USER", "REQUEST", "FOR", "SINCE", "AGE", "PID", "NOTE"),
                        List.of(
                                "1",
                                "alice",
                                "2 GPUs",
                                "nvidia/cuda",
                                nine,
                                "3h",
                                "4707",
                                "priority 5"),
                        List.of(
                                "2",
                                "b\\u{1b}[2J",
                                "all GPUs",
                                "Mesos task train\\u{7}",
                                nine,
                                "3h",
                                "4709"),
                        List.of(
                                "3",
                                "carol",
                                "GPUs 1, GPU-5c1a",
                                "python3",
                                nine,
                                "3h",
                                "4712",
                                "others are served first: GPU 1 is cordoned")),
                lines.stream().map(line -> List.of(line.split(" {3,}"))).toList());
    }

    @Test
    void containerThatWaitsToBeStartedIsNamed() {
        Ticket ticket =
                new Ticket(
                        7,
                        new Request(
                                new ProcessId(4707, 1),
                                new Requested(new GpuRequest.All(), new Owner(1000, "alice")),
                                CUDA,
                                Optional.of("train-7")),
                        Samples.AT_NINE,
                        0);
        List<Leases.Waiter> waiting = List.of(new Leases.Waiter(ticket, Optional.empty()));
        String line = GpuQueue.listing(waiting, Samples.NOW).lines(Screen.NONE).getLast();
        assertTrue(line.startsWith("1       alice   all GPUs   container train-7   "), line);
        JsonSchemas.check("gpu-queue", Json.text(GpuQueue.entries(waiting)));
        assertEquals("train-7", GpuQueue.entries(waiting).getFirst().containerName());
    }

    @Test
    void nobodyIsSaidInWords() {
        assertEquals(
                List.of("nobody waits for GPUs"),
                GpuQueue.listing(List.of(), Samples.NOW).lines(Screen.NONE));
        assertEquals("[]", Json.line(GpuQueue.entries(List.of())));
    }

    @Test
    void jsonHasEveryKey() {
        List<GpuQueue.Entry> queue = GpuQueue.entries(WAITING);
        JsonSchemas.check("gpu-queue", Json.text(queue));
        assertEquals(
                "{'place':1,'user':'alice','uid':1000,'request':'2"
                    + " GPUs','count':2,'memory':null,'model':null,'share_bytes':null,'gpus':null,"
                    + "'container_name':null,'image':'nvidia/cuda','command':null,'task':null,'pod':null,"
                    + "'since':'2026-03-05T09:00:00Z','pid':4707,'obstacle':null,'priority':5}",
                Json.line(queue.get(0)).replace('"', '\''));
        assertEquals(List.of("1", "GPU-5c1a"), queue.get(2).gpus());
        assertEquals("train\\u{7}", queue.get(1).task());
        assertEquals("python3", queue.get(2).command());
        assertEquals("GPU 1 is cordoned", queue.get(2).obstacle());
    }

    @Test
    void numberSaysWhichGpusItMeans() throws Exception {
        List<Leases.Waiter> waiting =
                List.of(
                        ticket(
                                7,
                                "alice",
                                GpuRequest.parseOption("2,memory=40G,model=A100"),
                                CUDA));
        String line = GpuQueue.listing(waiting, Samples.NOW).lines(Screen.NONE).getLast();
        assertTrue(
                line.startsWith(
                        "1       alice   2 GPUs of model A100 with at least 40 GB of memory"),
                line);
        List<GpuQueue.Entry> queue = GpuQueue.entries(waiting);
        JsonSchemas.check("gpu-queue", Json.text(queue));
        assertEquals(2, queue.getFirst().count());
        assertEquals(40_000_000_000L, queue.getFirst().memory());
        assertEquals("A100", queue.getFirst().model());
    }
}
