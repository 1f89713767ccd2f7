package jnvdocker.tests.world;

import com.google.protobuf.ByteString;

import io.grpc.CallOptions;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import jnvdocker.kubernetes.Device;
import jnvdocker.kubernetes.kubelet.AllocateAnswer;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.DeviceIds;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.kubernetes.kubelet.ListedDevices;
import jnvdocker.kubernetes.kubelet.PluginOptions;
import jnvdocker.kubernetes.kubelet.PreferredRequest;
import jnvdocker.kubernetes.kubelet.RegisterRequest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The part of a kubelet that gives devices to pods, with the calls, the order and the defects of a
 * real one, which {@code KubeletRecordingTest} holds it to. Nothing happens by itself: a test
 * admits pods, starts their containers, again and again as a kubelet would, and ends them.
 */
public final class TestKubelet implements AutoCloseable {
    public static final String GPU = "nvidia.com/gpu";

    private static final int OPTIONS_SECONDS = 10;
    private static final int START_SECONDS = 30;

    /** What became of a pod at its admission, which is final. */
    public sealed interface Admission {}

    /**
     * It may start.
     *
     * @param devices by the names of its containers
     */
    public record Admitted(Map<String, Set<String>> devices) implements Admission {
        public Admitted {
            devices = Map.copyOf(devices);
        }
    }

    /** It never will: {@code UnexpectedAdmissionError}. */
    public record Rejected(String message) implements Admission {}

    /** What became of a container at a start. */
    public sealed interface Start {}

    /** It runs, with what was answered to the allocation. */
    public record Running(AllocateAnswer.Container answer) implements Start {}

    /** It does not, {@code CreateContainerConfigError}, and is to be tried again. */
    public record Refused(String message) implements Start {}

    /** The devices of a container. */
    record Allocation(
            TestPod pod, String container, String resource, Set<String> ids, ByteString answer) {}

    /** A plugin that has registered, and may have been replaced since. */
    private record Plugin(String resource, ManagedChannel channel, PluginOptions options) {}

    /** A message for the pod's status. */
    private static final class AdmissionException extends Exception {
        private static final long serialVersionUID = 1L;

        AdmissionException(String message) {
            super(message);
        }
    }

    private final GrpcSockets grpc = new GrpcSockets();
    private final Path directory;
    private final Path checkpoint;
    private final TestPodResources lister;
    private final List<String> calls = new ArrayList<>();
    private final Map<String, Plugin> plugins = new HashMap<>();

    /** To all plugins that have registered, also those that were replaced. */
    private final Set<ManagedChannel> channels = new HashSet<>();

    private final Map<String, Map<String, Boolean>> devices = new TreeMap<>();
    private final Map<String, TestPod> active = new LinkedHashMap<>();
    private final List<Allocation> allocations = new ArrayList<>();
    private final Set<String> running = new LinkedHashSet<>();
    private Optional<Server> server = Optional.empty();
    private final Lock admission = new ReentrantLock();
    private boolean panicked;
    private int lists;

    private TestKubelet(Path kubeletDir) {
        directory = kubeletDir.resolve("device-plugins");
        checkpoint = directory.resolve("kubelet_internal_checkpoint");
        lister = new TestPodResources(grpc, kubeletDir.resolve("pod-resources"));
    }

    /**
     * Starts one, without pods.
     *
     * @param kubeletDir in place of {@code /var/lib/kubelet}
     */
    public static TestKubelet start(Path kubeletDir) throws IOException {
        TestKubelet kubelet = new TestKubelet(kubeletDir);
        Files.createDirectories(kubelet.directory);
        kubelet.serve();
        return kubelet;
    }

    /** Removes all sockets, as a kubelet does when it starts, and makes its own. */
    private void serve() throws IOException {
        try (DirectoryStream<Path> sockets = Files.newDirectoryStream(directory, "*.sock")) {
            for (Path socket : sockets) {
                Files.delete(socket);
            }
        }
        server =
                Optional.of(
                        grpc.server(socket())
                                .addService(
                                        ServerServiceDefinition.builder(Calls.REGISTRATION)
                                                .addMethod(
                                                        Calls.REGISTER,
                                                        ServerCalls.asyncUnaryCall(this::register))
                                                .build())
                                .build()
                                .start());
        lister.serve(this::allocated);
    }

    public Path socket() {
        return directory.resolve("kubelet.sock");
    }

    /** Ends, and leaves its sockets, to which nobody listens, and the pods. */
    public void stop() throws IOException {
        List<ManagedChannel> all;
        synchronized (this) {
            all = List.copyOf(channels);
            channels.clear();
            plugins.clear();
            devices.replaceAll((_, _) -> Map.of());
        }
        all.forEach(ManagedChannel::shutdownNow);
        if (server.isPresent()) {
            TestPodResources.stop(server.get(), socket());
        }
        server = Optional.empty();
        lister.stop();
    }

    /** Ends, and starts with what the checkpoint says. */
    public void restart() throws IOException {
        stop();
        synchronized (this) {
            panicked = false;
        }
        serve();
    }

    /** All containers are gone, as after a reboot; follow it with {@link #restart}. */
    public synchronized void killAll() {
        running.clear();
    }

    @Override
    public void close() throws IOException {
        lister.hang(false);
        stop();
        grpc.close();
    }

    // What plugins do

    private void register(byte[] bytes, StreamObserver<byte[]> plugin) {
        try {
            RegisterRequest request = KubeletMessages.registration(ByteString.copyFrom(bytes));
            if (!request.version().equals(RegisterRequest.VERSION)) {
                throw Status.UNKNOWN
                        .withDescription("requested API version is not supported")
                        .asRuntimeException();
            }
            connect(request);
            note("Register");
            plugin.onNext(new byte[0]);
            plugin.onCompleted();
        } catch (StatusRuntimeException e) {
            plugin.onError(e);
        } catch (IOException e) {
            plugin.onError(Status.UNKNOWN.withDescription(e.getMessage()).asException());
        }
    }

    /** The plugin that served the resource until now is not notified, nor is its stream ended. */
    private void connect(RegisterRequest request) throws IOException {
        ManagedChannel channel = grpc.channel(directory.resolve(request.endpoint()));
        note("GetDevicePluginOptions");
        PluginOptions options =
                KubeletMessages.options(
                        query(channel, Calls.OPTIONS, ByteString.EMPTY, OPTIONS_SECONDS));
        Plugin plugin = new Plugin(request.resource(), channel, options);
        synchronized (this) {
            plugins.put(plugin.resource(), plugin);
            channels.add(channel);
        }
        note("ListAndWatch");
        // Not as a part of the plugin's call, with whose end it would end.
        Context.ROOT.run(() -> read(plugin));
    }

    private void read(Plugin plugin) {
        ClientCalls.asyncServerStreamingCall(
                plugin.channel().newCall(Calls.LIST_AND_WATCH, CallOptions.DEFAULT),
                new byte[0],
                new StreamObserver<>() {
                    @Override
                    public void onNext(byte[] list) {
                        listed(plugin, ByteString.copyFrom(list));
                    }

                    @Override
                    public void onError(Throwable cause) {
                        ended(plugin);
                    }

                    @Override
                    public void onCompleted() {
                        ended(plugin);
                    }
                });
    }

    private synchronized void listed(Plugin plugin, ByteString list) {
        try {
            lists++;
            Map<String, Boolean> health = new LinkedHashMap<>();
            for (Device device : ListedDevices.parse(list).devices()) {
                health.put(device.id(), device.healthy());
            }
            devices.put(plugin.resource(), health);
            writeCheckpoint();
            notifyAll();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whichever plugin's stream it was, the one that serves the resource now is disconnected. */
    private void ended(Plugin plugin) {
        Optional<Plugin> current;
        synchronized (this) {
            current = Optional.ofNullable(plugins.remove(plugin.resource()));
            devices.computeIfPresent(
                    plugin.resource(),
                    (_, its) -> {
                        Map<String, Boolean> unhealthy = new LinkedHashMap<>(its);
                        unhealthy.replaceAll((_, _) -> false);
                        return unhealthy;
                    });
            notifyAll();
        }
        plugin.channel().shutdownNow();
        current.ifPresent(it -> it.channel().shutdownNow());
    }

    /** Ends the stream of the plugin that serves a resource. */
    public void disconnect(String resource) {
        Optional<Plugin> plugin;
        synchronized (this) {
            plugin = Optional.ofNullable(plugins.get(resource));
        }
        plugin.ifPresent(it -> it.channel().shutdownNow());
    }

    // What pods do

    /**
     * Admits a pod, or one that is known already once more, as a kubelet that has started does; one
     * at a time.
     */
    public Admission admit(TestPod pod) {
        admission.lock();
        try {
            return admitNext(pod);
        } finally {
            admission.unlock();
        }
    }

    private Admission admitNext(TestPod pod) {
        synchronized (this) {
            active.put(pod.uid(), pod);
        }
        Map<String, Set<String>> devices = new HashMap<>();
        Set<String> reusable = new LinkedHashSet<>();
        try {
            for (TestPod.Container container : pod.all()) {
                if (container.gpus() > 0) {
                    Set<String> its = allocate(pod, container, reusable);
                    devices.put(container.name(), its);
                    if (pod.init().contains(container) && !container.sidecar()) {
                        reusable.addAll(its);
                    } else {
                        reusable.removeAll(its);
                    }
                }
            }
            return new Admitted(devices);
        } catch (AdmissionException e) {
            synchronized (this) {
                active.remove(pod.uid());
            }
            return new Rejected(
                    "Pod was rejected: Allocate failed due to "
                            + e.getMessage()
                            + ", which is unexpected");
        }
    }

    private Set<String> allocate(TestPod pod, TestPod.Container container, Set<String> reusable)
            throws AdmissionException {
        Optional<Allocation> before = allocation(pod, container.name());
        if (before.isPresent()
                && (isRunning(pod, container.name())
                        || healthy(container.resource()).containsAll(before.get().ids()))) {
            return before.get().ids();
        }
        Set<String> ids = choose(pod, container, reusable);
        note("Allocate " + String.join(" ", new TreeSet<>(ids)));
        ByteString answer;
        try {
            answer =
                    KubeletMessages.bytes(
                            KubeletMessages.allocated(
                                            query(
                                                    plugin(container.resource()).channel(),
                                                    Calls.ALLOCATE,
                                                    new DeviceIds(List.of(List.copyOf(ids)))
                                                            .bytes(),
                                                    0))
                                    .containers()
                                    .getFirst());
        } catch (StatusRuntimeException e) {
            throw new AdmissionException(text(e));
        } catch (IOException e) {
            throw new AdmissionException(e.getMessage());
        }
        keep(new Allocation(pod, container.name(), container.resource(), ids, answer));
        return ids;
    }

    private Set<String> choose(TestPod pod, TestPod.Container container, Set<String> reusable)
            throws AdmissionException {
        String resource = container.resource();
        Set<String> available = new LinkedHashSet<>();
        synchronized (this) {
            allocations.removeIf(it -> !active.containsKey(it.pod().uid()));
            available.addAll(healthy(resource));
            if (available.isEmpty()) {
                throw new AdmissionException(
                        "no healthy devices present; cannot allocate unhealthy devices "
                                + resource);
            }
            allocations.forEach(it -> available.removeAll(it.ids()));
        }
        Set<String> chosen = new LinkedHashSet<>();
        reusable.stream().limit(container.gpus()).forEach(chosen::add);
        int missing = container.gpus() - chosen.size();
        if (missing > available.size()) {
            throw new AdmissionException(
                    "requested number of devices unavailable for "
                            + resource
                            + ". Requested: "
                            + container.gpus()
                            + ", Available: "
                            + available.size());
        }
        if (missing > 0) {
            Set<String> order = new LinkedHashSet<>(preferred(resource, available, missing));
            order.retainAll(available);
            order.addAll(available);
            order.stream().limit(missing).forEach(chosen::add);
        }
        return chosen;
    }

    private List<String> preferred(String resource, Set<String> available, int size)
            throws AdmissionException {
        Plugin plugin = plugin(resource);
        if (!plugin.options().preferred()) {
            return List.of();
        }
        List<String> shuffled = new ArrayList<>(available);
        Collections.shuffle(shuffled);
        note("GetPreferredAllocation " + size + " of " + available.size());
        PreferredRequest request =
                new PreferredRequest(
                        List.of(new PreferredRequest.Choice(shuffled, List.of(), size)));
        try {
            ByteString answer =
                    query(plugin.channel(), Calls.PREFERRED, KubeletMessages.bytes(request), 0);
            List<List<String>> containers = DeviceIds.parse(answer).containers();
            return containers.isEmpty() ? List.of() : containers.getFirst();
        } catch (StatusRuntimeException e) {
            throw new AdmissionException(
                    "device plugin GetPreferredAllocation rpc failed with err: " + text(e));
        } catch (IOException e) {
            throw new AdmissionException(e.getMessage());
        }
    }

    private synchronized Plugin plugin(String resource) throws AdmissionException {
        Optional<Plugin> plugin = Optional.ofNullable(plugins.get(resource));
        return plugin.orElseThrow(
                () -> new AdmissionException("unknown Device Plugin " + resource));
    }

    /** A device that has left the list meanwhile is read without a check. */
    private synchronized void keep(Allocation allocation) {
        panicked |=
                !devices.getOrDefault(allocation.resource(), Map.of())
                        .keySet()
                        .containsAll(allocation.ids());
        allocations.removeIf(it ->
                it.pod().uid().equals(allocation.pod().uid())
                        && it.container().equals(allocation.container()));
        allocations.add(allocation);
        writeCheckpoint();
    }

    /** Starts a container, once; a kubelet tries again 12 to 15 s after a refusal. */
    public Start start(TestPod pod, String container) {
        Optional<Allocation> allocation = allocation(pod, container);
        if (allocation.isEmpty()) {
            throw new IllegalStateException(container + " has no devices");
        }
        List<String> ids = List.copyOf(allocation.get().ids());
        note("PreStartContainer " + String.join(" ", new TreeSet<>(ids)));
        try {
            query(
                    plugin(allocation.get().resource()).channel(),
                    Calls.START,
                    KubeletMessages.start(ids),
                    START_SECONDS);
            synchronized (this) {
                running.add(pod.uid() + "/" + container);
            }
            return new Running(KubeletMessages.container(allocation.get().answer()));
        } catch (StatusRuntimeException e) {
            return new Refused("device plugin PreStartContainer rpc failed with err: " + text(e));
        } catch (AdmissionException | IOException e) {
            return new Refused(e.getMessage());
        }
    }

    /** A container has ended; it may be started again. */
    public synchronized void ended(TestPod pod, String container) {
        running.remove(pod.uid() + "/" + container);
    }

    /** A pod is over: none of its containers is left, and its devices are free. */
    public synchronized void delete(TestPod pod) {
        pod.all().forEach(it -> ended(pod, it.name()));
        active.remove(pod.uid());
    }

    /** {@code --force --grace-period=0}: its devices are free, while its containers may run on. */
    public synchronized void forceDelete(TestPod pod) {
        active.remove(pod.uid());
    }

    // What a test may want to know

    /** All calls with plugins, with the ids that they are about in order. */
    public List<String> calls() {
        synchronized (calls) {
            return List.copyOf(calls);
        }
    }

    private void note(String call) {
        synchronized (calls) {
            calls.add(call);
        }
    }

    /** The ids that may be given out now, also those that are. */
    public synchronized Set<String> healthy(String resource) {
        Set<String> healthy = new TreeSet<>();
        devices.getOrDefault(resource, Map.of())
                .forEach((id, good) -> {
                    if (good) {
                        healthy.add(id);
                    }
                });
        return healthy;
    }

    /** How many lists of devices have come. */
    public synchronized int lists() {
        return lists;
    }

    /** Waits until just these may be given out. */
    public void awaitHealthy(String resource, Set<String> ids) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        try {
            synchronized (this) {
                while (!healthy(resource).equals(ids)) {
                    long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                    if (left <= 0) {
                        throw new AssertionError(
                                "healthy are " + healthy(resource) + ", not " + ids);
                    }
                    wait(left);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** The containers that run, as {@code uid/name}. */
    public synchronized Set<String> running() {
        return new HashSet<>(running);
    }

    private synchronized boolean isRunning(TestPod pod, String container) {
        return running.contains(pod.uid() + "/" + container);
    }

    /** Whether it would have died, since a device vanished while it allocated it. */
    public synchronized boolean panicked() {
        return panicked;
    }

    /** Has the answers about pods wait until this is called with false. */
    public void hang(boolean hang) {
        lister.hang(hang);
    }

    /** Answers questions for its pods with these bytes; empty for the truth again. */
    public void list(Optional<byte[]> answer) {
        lister.replace(answer);
    }

    /** An answer of as many pods as there is room for. */
    public static byte[] namelessPods(int bytes) {
        byte[] pods = new byte[bytes];
        for (int i = 0; i < bytes; i += 2) {
            pods[i] = 0x0a;
        }
        return pods;
    }

    /** The file in which it keeps the devices of containers. */
    public Path checkpoint() {
        return checkpoint;
    }

    private synchronized Optional<Allocation> allocation(TestPod pod, String container) {
        return allocations.stream()
                .filter(it -> it.pod().uid().equals(pod.uid()) && it.container().equals(container))
                .findFirst();
    }

    private synchronized List<Allocation> allocated() {
        allocations.removeIf(it -> !active.containsKey(it.pod().uid()));
        return List.copyOf(allocations);
    }

    private synchronized void writeCheckpoint() {
        Map<String, Set<String>> registered = new TreeMap<>();
        devices.keySet().forEach(it -> registered.put(it, healthy(it)));
        TestCheckpoint.write(checkpoint, allocations, registered);
    }

    /**
     * @param seconds its deadline; 0 for none
     */
    private static ByteString query(
            ManagedChannel channel,
            MethodDescriptor<byte[], byte[]> call,
            ByteString request,
            int seconds) {
        CallOptions options =
                seconds == 0
                        ? CallOptions.DEFAULT
                        : CallOptions.DEFAULT.withDeadlineAfter(seconds, TimeUnit.SECONDS);
        return ByteString.copyFrom(
                ClientCalls.blockingUnaryCall(channel, call, options, request.toByteArray()));
    }

    /** As Go prints it. */
    private static String text(StatusRuntimeException e) {
        StringBuilder code = new StringBuilder();
        for (String word : e.getStatus().getCode().name().split("_")) {
            code.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
        }
        return "rpc error: code = " + code + " desc = " + e.getStatus().getDescription();
    }
}
