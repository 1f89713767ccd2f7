package jnvdocker.tests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;

import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.stub.ServerCalls;

import jnvdocker.attack.Attack;
import jnvdocker.kubernetes.Kubelet.ContainerDevices;
import jnvdocker.kubernetes.PluginRegistration;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.DeviceIds;
import jnvdocker.kubernetes.kubelet.GrpcException;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.kubernetes.kubelet.KubeletLink;
import jnvdocker.kubernetes.kubelet.PreferredRequest;
import jnvdocker.kubernetes.kubelet.Resource;
import jnvdocker.process.Processes;
import jnvdocker.tests.world.KubeletMessages;
import jnvdocker.tests.world.OtherPlugin;
import jnvdocker.tests.world.TestDevicePlugin;
import jnvdocker.tests.world.TestKubelet;
import jnvdocker.tests.world.TestPod;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;

/** A kubelet's view of a device plugin, and the requests to it. */
@Attack(
        by = "any user who can write to the kubelet's directory",
        what = "serves its sockets, writes its file",
        result = "nobody is served or believed; `gpu doctor` names the directory")
@Attack(
        by = "root, by mistake",
        what = "deletes the plugin's socket below a running kubelet",
        result =
                "the connection stays, and pods are admitted; the socket is made again when the"
                        + " connection ends")
class KubeletLinkTest {
    private static final Set<String> GPUS = Set.of("GPU-0", "GPU-1", "GPU-2", "GPU-3");
    private static final Duration LIMIT = Duration.ofSeconds(5);

    @TempDir Path temp;
    private final TestDevicePlugin plugin = new TestDevicePlugin(GPUS);
    private final GrpcSockets grpc = new GrpcSockets();
    private TestKubelet kubelet;
    private KubeletLink link;

    @BeforeEach
    void start() throws Exception {
        kubelet = TestKubelet.start(temp);
        link = serve(plugin);
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
    }

    private KubeletLink serve(TestDevicePlugin plugin) {
        KubeletLink link = KubeletLink.open(temp, Processes.ofThisMachine());
        link.serve(List.of(new Resource(TestKubelet.GPU, plugin)));
        return link;
    }

    @AfterEach
    void stop() throws Exception {
        link.close();
        kubelet.close();
        grpc.close();
    }

    private Path socket() {
        return temp.resolve("device-plugins/jnvdocker-nvidia.com-gpu.sock");
    }

    private PluginRegistration.State state() {
        return link.registrations().getFirst().state();
    }

    private static <T> void await(T wanted, Callable<T> now) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!now.call().equals(wanted)) {
            assertTrue(System.nanoTime() < end, () -> "never " + wanted);
            Thread.sleep(20);
        }
    }

    private Status.Code refused(byte[] request) {
        return refused(Calls.ALLOCATE, request);
    }

    private Status.Code refused(MethodDescriptor<byte[], byte[]> call, byte[] request) {
        GrpcException e =
                assertThrows(
                        GrpcException.class,
                        () -> grpc.request(socket(), call, ByteString.copyFrom(request), LIMIT));
        return e.code();
    }

    // What a pod sees

    @Test
    void changeOfHealthIsReported() throws Exception {
        plugin.healthy(Set.of("GPU-2"));
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of("GPU-2"));
        for (int i = 0; i < 1000; i++) {
            plugin.healthy(Set.of("GPU-" + i % 4));
        }
        plugin.healthy(GPUS);
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
    }

    @Test
    void podGetsWhatThePluginAnswers() {
        TestPod pod = TestPod.of("a", 2);
        TestKubelet.Admitted admitted =
                assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(pod));
        assertEquals(Set.of("GPU-0", "GPU-1"), admitted.devices().get("main"));
        TestKubelet.Running running =
                assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
        assertEquals("/usr/local/nvidia", running.answer().mounts().getFirst().containerPath());
        assertTrue(running.answer().mounts().getFirst().readOnly());
        assertEquals("rw", running.answer().nodes().getFirst().permissions());
        assertEquals("NVIDIA_VISIBLE_DEVICES", running.answer().variables().getFirst().name());
        assertTrue(running.answer().cdi().contains("pod.jnvdocker/gpu=GPU-1"));
    }

    @Test
    void refusalAtTheAllocationRejectsThePod() {
        plugin.heldBy(Optional.of("alice's\ncontainer train-7"));
        assertEquals(
                new TestKubelet.Rejected(
                        "Pod was rejected: Allocate failed due to rpc error: code ="
                                + " FailedPrecondition desc = jnvdocker: GPU-0 is held by alice's"
                                + " container train-7; wait until it ends, which is unexpected"),
                kubelet.admit(TestPod.of("a", 1)));
    }

    @Test
    void refusedStartIsTriedAgain() {
        TestPod pod = TestPod.of("a", 1);
        kubelet.admit(pod);
        plugin.heldBy(Optional.of("alice"));
        assertEquals(
                new TestKubelet.Refused(
                        "device plugin PreStartContainer rpc failed with err: rpc error: code ="
                                + " Unavailable desc = jnvdocker: GPU-0 is held by alice; wait"
                                + " until it ends"),
                kubelet.start(pod, "main"));
        plugin.heldBy(Optional.empty());
        assertInstanceOf(TestKubelet.Running.class, kubelet.start(pod, "main"));
        assertEquals(
                List.of(Duration.ofSeconds(25)), plugin.patiences().stream().distinct().toList());
    }

    /** The kubelet receives the reason before its own deadline, and everything else goes on. */
    @Test
    void startThatTakesTooLongIsAnswered() throws Exception {
        plugin.startTakes(Duration.ofSeconds(8));
        GrpcException e =
                assertThrows(
                        GrpcException.class,
                        () ->
                                grpc.request(
                                        socket(),
                                        Calls.START,
                                        KubeletMessages.start(List.of("GPU-0")),
                                        Duration.ofMillis(3500)));
        assertEquals(Status.Code.UNAVAILABLE, e.code());
        assertTrue(plugin.patiences().getFirst().compareTo(Duration.ofSeconds(1)) <= 0);
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(TestPod.of("b", 1)));
    }

    @Test
    void severalContainersInOneRequestGetAllOrNothing() throws Exception {
        ByteString request =
                new DeviceIds(List.of(List.of("GPU-0"), List.of("GPU-1", "GPU-2"))).bytes();
        assertEquals(
                2,
                KubeletMessages.allocated(grpc.request(socket(), Calls.ALLOCATE, request, LIMIT))
                        .containers()
                        .size());
    }

    @Test
    void malformedRequestIsRefused() {
        byte[] wrongId = new DeviceIds(List.of(List.of("GPU-0\n../x"))).bytes().toByteArray();
        byte[] many =
                new DeviceIds(List.of(Collections.nCopies(600, "GPU-0"))).bytes().toByteArray();
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(new byte[] {0x0a, 0x7f}));
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(wrongId));
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(many));
        PreferredRequest.Choice less = new PreferredRequest.Choice(List.of("GPU-0"), List.of(), -1);
        byte[] choice = KubeletMessages.bytes(new PreferredRequest(List.of(less))).toByteArray();
        assertEquals(Status.Code.INVALID_ARGUMENT, refused(Calls.PREFERRED, choice));
        assertEquals(Status.Code.RESOURCE_EXHAUSTED, refused(new byte[300 << 10]));
    }

    @Test
    void socketIsForRootAlone() throws IOException {
        assertEquals(
                "rw-------",
                PosixFilePermissions.toString(Files.getPosixFilePermissions(socket())));
    }

    /** Others could serve the kubelet's sockets there, and report false facts. */
    @Test
    void directoryThatOthersCanWriteToIsLeftAlone() throws Exception {
        Path directory = temp.resolve("device-plugins");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        Files.createFile(directory.resolve("news"));
        await(true, () -> state() instanceof PluginRegistration.Failed);
        PluginRegistration.Failed failed =
                assertInstanceOf(PluginRegistration.Failed.class, state());
        assertTrue(failed.reason().what().contains("can write to " + directory), failed::toString);
        assertFalse(Files.exists(socket()));
        assertThrows(IOException.class, () -> link.kubelet().process());
        Path lister = temp.resolve("pod-resources");
        link.kubelet().list(LIMIT);
        Files.setPosixFilePermissions(lister, PosixFilePermissions.fromString("rwxrwxr-x"));
        assertThrows(IOException.class, () -> link.kubelet().list(LIMIT));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.createFile(directory.resolve("more"));
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
    }

    @Test
    void wordsOfAKubeletAreHarmless() throws Exception {
        Path socket = temp.resolve("hostile.sock");
        String words = "no\u001b[2J" + "x".repeat(5000) + "\nsecond";
        Server hostile =
                grpc.server(socket)
                        .addService(
                                ServerServiceDefinition.builder(Calls.REGISTRATION)
                                        .addMethod(
                                                Calls.REGISTER,
                                                ServerCalls.asyncUnaryCall((_, plugin) ->
                                                        plugin.onError(
                                                                Status.UNKNOWN
                                                                        .withDescription(words)
                                                                        .asException())))
                                        .build())
                        .build()
                        .start();
        try {
            String reported =
                    assertThrows(
                                    GrpcException.class,
                                    () ->
                                            grpc.request(
                                                    socket,
                                                    Calls.REGISTER,
                                                    ByteString.EMPTY,
                                                    LIMIT))
                            .getMessage();
            assertTrue(reported.startsWith("no\\u{1b}[2Jxxx"), reported);
            assertTrue(reported.length() < 400, reported);
        } finally {
            hostile.shutdownNow().awaitTermination();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {8 << 20, 17 << 20})
    void hugeListIsNoAnswer(int bytes) {
        kubelet.list(Optional.of(TestKubelet.namelessPods(bytes)));
        assertThrows(IOException.class, () -> link.kubelet().list(LIMIT));
    }

    // How it stays registered

    @Test
    void newKubeletIsRegisteredAt() throws Exception {
        kubelet.stop();
        await(new PluginRegistration.NoKubelet(), this::state);
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        await(new PluginRegistration.Registered(), this::state);
    }

    @Test
    void kubeletThatComesLaterIsRegisteredAt() throws Exception {
        Path later = temp.resolve("later");
        Files.createDirectories(later.resolve("device-plugins"));
        try (KubeletLink early = KubeletLink.open(later, Processes.ofThisMachine())) {
            early.serve(List.of(new Resource(TestKubelet.GPU, plugin)));
            assertThrows(IOException.class, () -> early.kubelet().process());
            try (TestKubelet kubelet = TestKubelet.start(later)) {
                kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
            }
        }
    }

    /** A pod is rejected for good at a moment when the kubelet has no connection. */
    @Test
    void socketThatWasRemovedIsMadeAgainAtTheEndOfTheConnection() throws Exception {
        Files.delete(socket());
        // Two reviews, of which the second has begun after the end of the first.
        for (String name : List.of("first.sock", "second.sock")) {
            Path socket = temp.resolve("device-plugins").resolve(name);
            try (OtherPlugin other = OtherPlugin.serve(grpc, socket, Set.of("fpga-1"))) {
                await(1, other::readers);
            }
        }
        assertEquals(List.of("Register"), registrations());
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(TestPod.of("a", 1)));
        kubelet.disconnect(TestKubelet.GPU);
        await(true, () -> Files.exists(socket()));
        await(List.of("Register", "Register"), this::registrations);
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        await(new PluginRegistration.Registered(), this::state);
        assertInstanceOf(TestKubelet.Admitted.class, kubelet.admit(TestPod.of("b", 3)));
    }

    private List<String> registrations() {
        return kubelet.calls().stream().filter("Register"::equals).toList();
    }

    /** It removes all sockets when it starts, and an old stream may end later than that. */
    @Test
    void socketThatANewKubeletHasRemovedIsMadeAtOnce() throws Exception {
        kubelet.restart();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        assertTrue(Files.exists(socket()));
    }

    @Test
    void endOfTheStreamIsMadeUpFor() throws Exception {
        kubelet.disconnect(TestKubelet.GPU);
        await(List.of("Register", "Register"), this::registrations);
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
    }

    /** As long as another plugin gives out our GPUs, ours leaves the resource to it. */
    @Test
    void competitorIsNamedAndWaitedFor() throws Exception {
        link.close();
        Path socket = temp.resolve("device-plugins/nvidia-gpu.sock");
        OtherPlugin other = OtherPlugin.serve(grpc, socket, Set.of("GPU-1", "GPU-9"));
        link = serve(plugin);
        await(new PluginRegistration.Competitor("nvidia-gpu.sock"), this::state);
        other.close();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
        assertEquals(1, other.readers());
    }

    /** The kubelet disconnects the plugin that serves when the stream of an earlier one ends. */
    @Test
    void competitorThatOvertookIsNamedAndMadeUpFor() throws Exception {
        Path socket = temp.resolve("device-plugins/nvidia-gpu.sock");
        OtherPlugin other = OtherPlugin.serve(grpc, socket, Set.of("GPU-1", "GPU-9"));
        other.register(kubelet.socket());
        await(new PluginRegistration.Competitor("nvidia-gpu.sock"), this::state);
        kubelet.awaitHealthy(TestKubelet.GPU, Set.of("GPU-1", "GPU-9"));
        other.close();
        kubelet.awaitHealthy(TestKubelet.GPU, GPUS);
    }

    /** The devices of ours are instances of that GPU; or those of the other are shares of ours. */
    @ParameterizedTest
    @ValueSource(strings = {"GPU-whole", "GPU-1::0", "GPU-1-_-4"})
    void competitorGivesOutOurGpusUnderOtherNames(String id) throws Exception {
        plugin.instancesOf(Set.of("GPU-whole"));
        Path socket = temp.resolve("device-plugins/nvidia-gpu.sock");
        try (OtherPlugin _ = OtherPlugin.serve(grpc, socket, Set.of(id))) {
            await(new PluginRegistration.Competitor("nvidia-gpu.sock"), this::state);
        }
    }

    @Test
    void pluginOfAnotherResourceIsNoCompetitor() throws Exception {
        Path socket = temp.resolve("device-plugins/other.sock");
        try (OtherPlugin other = OtherPlugin.serve(grpc, socket, Set.of("fpga-1", "GPU-12"))) {
            await(1, other::readers);
            // A competitor would keep ours from registering again.
            kubelet.disconnect(TestKubelet.GPU);
            await(List.of("Register", "Register"), this::registrations);
            await(new PluginRegistration.Registered(), this::state);
        }
    }

    // Requests to the kubelet

    @Test
    void processOfTheKubeletIsKnown() throws IOException {
        assertEquals(ProcessHandle.current().pid(), link.kubelet().process().pid());
    }

    @Test
    void devicesOfContainersAreMerged() throws IOException {
        TestPod pod =
                TestPod.of(
                        "multi",
                        List.of(TestPod.container("prep", 1), TestPod.sidecar("side", 1)),
                        List.of(TestPod.container("a", 2), TestPod.container("plain", 0)));
        kubelet.admit(pod);
        assertEquals(
                Set.of(
                        new ContainerDevices(
                                "default", "pod-multi", "side", TestKubelet.GPU, Set.of("GPU-0")),
                        new ContainerDevices(
                                "default",
                                "pod-multi",
                                "a",
                                TestKubelet.GPU,
                                Set.of("GPU-1", "GPU-2"))),
                Set.copyOf(link.kubelet().list(LIMIT)));
    }

    @Test
    void kubeletThatHangsIsWaitedForNoLongerThanTheLimit() throws Exception {
        kubelet.hang(true);
        int before = Thread.activeCount();
        for (int i = 0; i < 20; i++) {
            assertThrows(IOException.class, () -> link.kubelet().list(Duration.ofMillis(50)));
        }
        assertTrue(Thread.activeCount() <= before + 4, () -> "threads: " + Thread.activeCount());
        kubelet.hang(false);
        assertEquals(List.of(), link.kubelet().list(LIMIT));
    }
}
