package jnvdocker.command.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import jnvdocker.command.gpu.history.GpuHistory;
import jnvdocker.command.gpu.history.GpuLeases;
import jnvdocker.command.gpu.history.GpuLimits;
import jnvdocker.command.gpu.show.GpuDoctor;
import jnvdocker.command.gpu.show.GpuDocuments;
import jnvdocker.command.gpu.show.GpuIdle;
import jnvdocker.command.gpu.show.GpuLs;
import jnvdocker.command.gpu.show.GpuQueue;
import jnvdocker.command.gpu.show.GpuTop;
import jnvdocker.command.gpu.show.GpuWhy;
import jnvdocker.command.gpu.view.GpuView;
import jnvdocker.command.gpu.view.Samples;
import jnvdocker.command.hosts.HostQuery;
import jnvdocker.core.LeaseParts;
import jnvdocker.core.Leases;
import jnvdocker.core.TestingParts;
import jnvdocker.decision.RefusalReason;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.doctor.DaemonFacts;
import jnvdocker.doctor.Doctor;
import jnvdocker.grant.Waiting;
import jnvdocker.host.DeviceNodes;
import jnvdocker.host.Gpu;
import jnvdocker.host.Host;
import jnvdocker.host.HostDriver;
import jnvdocker.idle.IdleHolder;
import jnvdocker.idle.IdleHolders;
import jnvdocker.lease.Claim;
import jnvdocker.lease.GpuTraits;
import jnvdocker.lease.Holder;
import jnvdocker.lease.IdleSource;
import jnvdocker.lease.Lease;
import jnvdocker.lease.Origin;
import jnvdocker.lease.Owner;
import jnvdocker.lease.Request;
import jnvdocker.lease.TestingLeases;
import jnvdocker.nvml.CudaVersions;
import jnvdocker.nvml.GpuHealth;
import jnvdocker.nvml.GpuPair;
import jnvdocker.nvml.Topology;
import jnvdocker.nvml.Topology.Ancestor;
import jnvdocker.oci.install.RuntimeInstaller;
import jnvdocker.oci.lease.EditedContainers;
import jnvdocker.posix.Peer;
import jnvdocker.posix.ProcessId;
import jnvdocker.process.Processes;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.registry.LeaseRegistry;
import jnvdocker.request.GpuRequest;
import jnvdocker.rest.OpenApi;
import jnvdocker.screen.Printout;
import jnvdocker.screen.Screen;
import jnvdocker.use.GpuUse;
import jnvdocker.use.GpuUses;
import jnvdocker.volume.DriverVolumeStore;
import jnvdocker.volume.GpuHost;
import jnvdocker.volume.ServedVolumes;
import jnvdocker.words.Refusal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import picocli.CommandLine;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.StandardProtocolFamily;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The documents that the commands print with {@code --json} on a host with a GPU in each state,
 * from a registry on disk: everything that the schemas allow, and nothing else.
 */
class JsonDocumentsTest {
    private static final Owner ALICE = new Owner(1001, "alice");
    private static final Owner BOB = new Owner(1002, "b\u001b[2J");
    private static final Origin CUDA = new Origin.EngineContainer("engine", Optional.of("cuda"));
    private static final int GPUS = 6;
    private static final int USED = 4;
    private static final int SICK = 5;

    @TempDir Path directory;
    private final ProcessId self =
            Processes.ofThisMachine().find((int) ProcessHandle.current().pid()).orElseThrow();
    private final Deadlines deadlines = new Deadlines();
    private final Instant idleSince = Instant.now().minus(Duration.ofHours(2));
    private Host host;
    private DockerEngine engine;
    private LeaseParts parts;
    private AutoCloseable queue;
    private Thread waiter;

    /** The processes that have GPU 4 open. */
    private record Uses(List<GpuUse> all) implements GpuUses {
        @Override
        public List<GpuUse> scan(List<Gpu> gpus, Duration limit) {
            return scanWithoutEngine(gpus);
        }

        @Override
        public List<GpuUse> scanWithoutEngine(List<Gpu> gpus) {
            return all.stream().filter(use -> gpus.contains(use.gpu())).toList();
        }
    }

    @BeforeEach
    void open() throws Exception {
        host = makeHost();
        engine =
                new DockerEngine(
                        directory.resolve("no-engine.sock"),
                        directory.resolve("proxy.sock"),
                        _ -> false);
        List<Gpu> gpus = gpus();
        GpuUse.User user = new GpuUse.User(self, "python3", 0, Optional.empty());
        GpuUse use =
                new GpuUse(gpus.get(USED), GpuUse.Kind.OPEN, Optional.empty(), Optional.of(user));
        parts =
                TestingParts.open(
                        Files.createDirectory(directory.resolve("state")),
                        engine,
                        this::gpus,
                        new Uses(List.of(use)),
                        TestingLeases.POLICY,
                        GpuTraits.UNKNOWN);
        queue = parts.queueKeeper().start();
        hold(gpus);
        waitForAll();
    }

    /** The UUID of GPU 5 is unknown. */
    private Host makeHost() throws IOException {
        Host made = Samples.host(directory.resolve("root"), GPUS);
        Path sick = made.resolve("/proc/driver/nvidia/gpus/0000:0" + SICK + ":00.0/information");
        Files.writeString(sick, Files.readString(sick).replace(Samples.gpu(SICK).uuid(), ""));
        return made;
    }

    private List<Gpu> gpus() throws IOException {
        return HostDriver.read(host).gpus();
    }

    /** GPU 0 is held by a container, 1 by a docker run, 2 was until just now, 3 is free. */
    private void hold(List<Gpu> gpus) throws Exception {
        Claim container = claim("0", ALICE);
        LeaseRegistry registry = parts.registry();
        Holder holder = Holder.of(self, Optional.empty(), Optional.empty());
        registry.decide(leases -> leases.hold(leases.live(container.id()).orElseThrow(), holder));
        claim("1", BOB);
        parts.leases().reservations().cancel(claim("2", BOB));
        parts.leases().cordons().add(List.of(gpus.get(2)), ALICE, "fan is loud");
    }

    private Claim claim(String gpu, Owner owner) throws Exception {
        return parts.leases()
                .runs()
                .take(
                        new Request(
                                new GpuRequest.Devices(List.of(gpu)),
                                Set.of(),
                                owner,
                                self,
                                CUDA,
                                Optional.empty()),
                        Optional.empty())
                .keep()
                .orElseThrow();
    }

    private void waitForAll() throws InterruptedException {
        CountDownLatch waiting = new CountDownLatch(1);
        Waiting waits = new Waiting(Optional.empty(), _ -> waiting.countDown());
        Request all =
                new Request(
                        new GpuRequest.Devices(List.of("0", "3")),
                        Set.of(),
                        BOB,
                        self,
                        CUDA,
                        Optional.empty());
        waiter =
                Thread.ofVirtual()
                        .start(() ->
                                assertThrows(
                                        IOException.class,
                                        () -> parts.leases().runs().take(all, Optional.of(waits))));
        assertTrue(waiting.await(30, TimeUnit.SECONDS), "no client was notified that it waits");
    }

    @AfterEach
    void close() throws Exception {
        waiter.interrupt();
        waiter.join();
        queue.close();
        parts.close();
        engine.close();
        deadlines.close();
    }

    /** Prints as the daemon does for a command of its group. */
    private String print(Function<Printout, Object> command, String... options) throws Exception {
        try (var channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            var memory = new FrameMemory(FrameMemory.Limits.STANDARD, Duration.ofSeconds(10));
            var client =
                    new ClientConnection(
                            channel, memory.open(new Peer(1, 0)), deadlines, Optional.empty());
            Printout out = new Printout(client, true, Screen.NONE);
            List<String> words = new ArrayList<>(List.of("--json"));
            words.addAll(List.of(options));
            new CommandLine(command.apply(out))
                    .setOut(new PrintWriter(out, true))
                    .execute(words.toArray(String[]::new));
            return out.rest();
        }
    }

    private static JsonNode checked(String command, String json) throws IOException {
        JsonSchemas.check("gpu-" + command, json);
        return new ObjectMapper().readTree(json);
    }

    private GpuLs ls(IdleHolders idle) {
        return new GpuLs(view(idle), new HostQuery(null, List::of), Screen.NONE);
    }

    private GpuView view(IdleHolders idle) {
        return new GpuView(host, leases(), Map::of, Map::of, idle);
    }

    @Test
    void everyGpuIsPrintedInItsState() throws Exception {
        JsonNode gpus = checked("ls", print(_ -> ls(this::idle)));
        assertEquals(
                List.of("held", "reserved", "cordoned", "free", "unmanaged", "sick"),
                gpus.findValuesAsText("state"));
        JsonNode line = checked("ls", print(_ -> ls(this::idle), "--watch"));
        assertEquals(GPUS, line.size());
        for (int i = 0; i < GPUS; i++) {
            String index = String.valueOf(i);
            JsonNode why =
                    checked(
                            "why",
                            print(
                                    _ -> new GpuWhy(view(this::idle), _ -> true, Screen.NONE),
                                    index));
            assertEquals(i == 2 ? 1 : 0, why.path("past_leases").size());
            assertEquals(gpus.path(i).path("state"), why.path("state"));
        }
    }

    @Test
    void processesAreThoseOfTheirGpu() throws Exception {
        JsonNode gpus = checked("top", print(_ -> new GpuTop(view(this::idle), Screen.NONE)));
        for (int i = 0; i < GPUS; i++) {
            List<String> pids = gpus.path(i).path("processes").findValuesAsText("pid");
            assertEquals(i == USED ? List.of(String.valueOf(self.pid())) : List.of(), pids);
        }
        JsonNode process = gpus.path(USED).path("processes").path(0);
        assertEquals("root", process.path("user").asText());
        assertTrue(process.path("lease").isNull() && process.path("memory").isNull());
        Instant since = Instant.parse(process.path("since").asText());
        Instant began = ProcessHandle.current().info().startInstant().orElseThrow();
        assertTrue(Duration.between(began, since).abs().toSeconds() < 5, since + ", not " + began);
    }

    @Test
    void topologyHasTheHoldersAndEachConnection() throws Exception {
        Path device =
                Files.createDirectories(directory.resolve("root/sys/bus/pci/devices/0000:00:00.0"));
        Files.writeString(device.resolve("numa_node"), "1\n");
        Files.writeString(device.resolve("local_cpulist"), "0-23,48-71\n");
        Map<GpuPair, Topology> known =
                Map.of(
                        new GpuPair("0000:00:00.0", "0000:03:00.0"),
                        new Topology(Ancestor.ONE_SWITCH, 12),
                        new GpuPair("0000:00:00.0", "0000:01:00.0"),
                        new Topology(Ancestor.UNKNOWN, 0));
        JsonNode gpus =
                checked(
                        "ls-topology",
                        print(
                                _ ->
                                        new GpuLs(
                                                new GpuView(
                                                        host,
                                                        leases(),
                                                        Map::of,
                                                        () -> known,
                                                        this::idle),
                                                new HostQuery(null, List::of),
                                                Screen.NONE),
                                "--topology"));
        assertEquals(GPUS, gpus.size());
        JsonNode first = gpus.path(0);
        assertEquals("held", first.path("state").asText());
        assertEquals(ALICE.name(), first.path("user").asText());
        assertEquals(1, first.path("numa_node").asInt());
        assertEquals("0-23,48-71", first.path("cpus").asText());
        assertTrue(gpus.path(1).path("numa_node").isNull() && gpus.path(1).path("cpus").isNull());
        JsonNode connections = first.path("connections");
        assertEquals(GPUS - 1, connections.size());
        assertEquals(0, connections.path(0).path("nvlinks").asInt());
        assertTrue(connections.path(0).path("nearest").isNull());
        assertTrue(connections.path(1).path("nvlinks").isNull());
        assertEquals(12, connections.path(2).path("nvlinks").asInt());
        assertEquals("one_switch", connections.path(2).path("nearest").asText());
        assertEquals(12, gpus.path(3).path("connections").path(0).path("nvlinks").asInt());
    }

    @Test
    void leasesAreThoseThatAreLiveAndThoseThatHaveEnded() throws Exception {
        JsonNode live = checked("leases", print(out -> new GpuLeases(leases(), Screen.NONE, out)));
        assertEquals(List.of("reserved", "held"), live.findValuesAsText("state"));
        JsonNode all =
                checked("leases", print(out -> new GpuLeases(leases(), Screen.NONE, out), "--all"));
        assertEquals(List.of("reserved", "held", "ended"), all.findValuesAsText("state"));
    }

    @Test
    void queueIsThoseWhoWait() throws Exception {
        JsonNode queue = checked("queue", print(_ -> new GpuQueue(leases(), Screen.NONE)));
        assertEquals(List.of(BOB.name()), queue.findValuesAsText("user"));
    }

    @Test
    void documentsOfOthersAreThoseOfTheCommands() throws Exception {
        List<IdleHolder> now = idle(IdleHolders.LEAST);
        GpuDocuments documents = new GpuDocuments(view(_ -> now));
        assertEquals(print(_ -> ls(_ -> now)).strip(), documents.gpus());
        assertEquals(
                print(out -> new GpuLeases(leases(), Screen.NONE, out)).strip(),
                documents.leases());
        assertEquals(print(_ -> new GpuQueue(leases(), Screen.NONE)).strip(), documents.queue());
    }

    @Test
    void eventsAreDescribed() throws Exception {
        GpuDocuments.Snapshot snapshot = new GpuDocuments(view(this::idle)).snapshot();
        OpenApi.checkData("State", snapshot.text());
        OpenApi.checkData("Queue", snapshot.queue());
        for (GpuDocuments.GpuLine gpu : snapshot.gpus()) {
            OpenApi.checkData("Gpu", gpu.document());
        }
        for (Lease lease : leases().live()) {
            OpenApi.checkData("Lease", GpuDocuments.begun(lease));
            OpenApi.checkData("Lease", GpuDocuments.ended(lease, Instant.now(), "init 1 is gone"));
        }
        OpenApi.checkData(
                "Refusal",
                GpuDocuments.refused(
                        Instant.now(),
                        BOB,
                        "container x",
                        new Refusal("GPU 0 is held", "wait"),
                        RefusalReason.TAKEN));
    }

    @Test
    void historyIsThatOfAllOrOfOneGpu() throws Exception {
        JsonNode all = checked("history", history());
        assertTrue(all.path("leases").isNull());
        assertEquals(2, all.path("users").size());
        JsonNode one = checked("history", history("--gpu", "2"));
        assertEquals(List.of("ended"), one.findValuesAsText("state"));
        assertEquals(0, checked("history", history("--user", "carol")).path("users").size());
    }

    @Test
    void limitsAreThoseOfTheUserWhoIsNamed() throws Exception {
        JsonNode root =
                checked("limits", print(_ -> new GpuLimits(leases(), null, Screen.NONE), "0"));
        assertEquals("root", root.path("user").asText());
        assertEquals(0, root.path("limits").size());
    }

    private String history(String... options) throws Exception {
        return print(
                out ->
                        new GpuHistory(
                                view(this::idle),
                                Optional.of(Duration.ofHours(1)),
                                Optional.empty(),
                                new HostQuery(null, List::of),
                                Screen.NONE,
                                out),
                options);
    }

    @Test
    void diagnosisIsALineForEachFinding() throws Exception {
        Path state = directory.resolve("state");
        DriverVolumeStore volumes = new DriverVolumeStore(state);
        Path run = Files.createDirectory(directory.resolve("run"));
        Doctor doctor =
                new Doctor(
                        new Doctor.Surroundings(
                                new GpuHost(
                                        host,
                                        null,
                                        new DeviceNodes(host),
                                        volumes,
                                        new ServedVolumes(volumes, state, run)),
                                new CudaVersions(Optional::empty),
                                engine,
                                leases(),
                                parts.registry(),
                                EditedContainers.in(directory.resolve("markers")),
                                GpuHealth.keptIn(state.resolve("gpu-errors"), "a boot"),
                                GpuRequest.All::new,
                                new RuntimeInstaller(
                                        directory,
                                        new RuntimeInstaller.Place(
                                                directory.resolve("state"),
                                                directory.resolve("markers"),
                                                directory.resolve("socket"),
                                                directory.resolve("wake"))),
                                () -> true,
                                Set::of,
                                () -> {},
                                List.of(),
                                new DaemonFacts(
                                        false,
                                        "0.2.0",
                                        directory,
                                        run,
                                        state,
                                        directory.resolve("plugin.sock"),
                                        "nvidia-docker",
                                        run.resolve("docker.sock"))));
        JsonNode found = checked("doctor", print(_ -> new GpuDoctor(doctor, Screen.NONE)));
        assertTrue(found.path("checks").size() > 10, found::toString);
        assertTrue(found.path("wrong").asInt() > 0, found::toString);
    }

    /** GPU 0 is not used by its holder. */
    private List<IdleHolder> idle(Duration least) {
        try {
            Lease lease = parts.registry().live().getFirst();
            return least.toHours() > 2
                    ? List.of()
                    : List.of(
                            new IdleHolder(
                                    gpus().getFirst(),
                                    lease,
                                    false,
                                    IdleSource.NVML,
                                    idleSince,
                                    false,
                                    Optional.empty(),
                                    OptionalLong.of(1 << 30)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void idleGpusAreThoseThatAreHeldAndNotUsed() throws Exception {
        JsonNode idle = checked("idle", print(_ -> new GpuIdle(this::idle, Screen.NONE)));
        assertEquals(1, idle.size());
        assertEquals("alice", idle.path(0).path("user").asText());
        assertEquals("nvml", idle.path(0).path("idle").path("source").asText());
        assertEquals(1 << 30, idle.path(0).path("idle").path("memory").asInt());
        JsonNode gpus = checked("ls", print(_ -> ls(this::idle)));
        assertEquals(
                idle.path(0).path("idle").path("memory"), gpus.path(0).path("idle").path("memory"));
        assertTrue(
                gpus.path(0).path("note").asText().endsWith("idle for 2h, 1.0 GiB held"),
                gpus::toString);
        assertTrue(gpus.path(1).path("idle").isNull());
        assertEquals(
                0,
                checked("idle", print(_ -> new GpuIdle(this::idle, Screen.NONE), "--for=1d"))
                        .size());
    }

    private Leases leases() {
        return parts.leases();
    }
}
