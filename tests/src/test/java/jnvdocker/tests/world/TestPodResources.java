package jnvdocker.tests.world;

import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.kubernetes.kubelet.PodResources;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** The socket at which a kubelet reports which containers have devices. */
final class TestPodResources {
    private final GrpcSockets grpc;
    private final Path directory;
    private final List<Runnable> waiting = new ArrayList<>();
    private boolean hanging;
    private Optional<byte[]> replaced = Optional.empty();
    private Optional<Server> server = Optional.empty();

    TestPodResources(GrpcSockets grpc, Path directory) {
        this.grpc = grpc;
        this.directory = directory;
    }

    private Path socket() {
        return directory.resolve("kubelet.sock");
    }

    void serve(Supplier<List<TestKubelet.Allocation>> allocations) throws IOException {
        Files.createDirectories(directory);
        Files.deleteIfExists(socket());
        server =
                Optional.of(
                        grpc.server(socket())
                                .addService(
                                        ServerServiceDefinition.builder(Calls.LISTER)
                                                .addMethod(
                                                        Calls.LIST,
                                                        ServerCalls.asyncUnaryCall((_, observer) ->
                                                                list(allocations, observer)))
                                                .build())
                                .build()
                                .start());
    }

    void stop() throws IOException {
        if (server.isPresent()) {
            stop(server.get(), socket());
        }
        server = Optional.empty();
    }

    /** Leaves the name of the socket, as a process that ends does; Netty would remove it. */
    static void stop(Server server, Path socket) throws IOException {
        Path aside = socket.resolveSibling("." + socket.getFileName());
        Files.move(socket, aside);
        server.shutdownNow();
        try {
            server.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        Files.move(aside, socket);
    }

    private void list(
            Supplier<List<TestKubelet.Allocation>> allocations, StreamObserver<byte[]> observer) {
        Runnable answer =
                () -> {
                    observer.onNext(answer(allocations));
                    observer.onCompleted();
                };
        synchronized (waiting) {
            if (hanging) {
                waiting.add(answer);
                return;
            }
        }
        answer.run();
    }

    private byte[] answer(Supplier<List<TestKubelet.Allocation>> allocations) {
        synchronized (waiting) {
            return replaced.orElseGet(
                    () -> KubeletMessages.bytes(of(allocations.get())).toByteArray());
        }
    }

    /** Has these bytes answered instead; empty for the truth again. */
    void replace(Optional<byte[]> answer) {
        synchronized (waiting) {
            replaced = answer;
        }
    }

    void hang(boolean hang) {
        List<Runnable> answers;
        synchronized (waiting) {
            hanging = hang;
            answers = hang ? List.of() : List.copyOf(waiting);
            if (!hang) {
                waiting.clear();
            }
        }
        answers.forEach(TestPodResources::tryTo);
    }

    /** The clients may have disconnected. */
    private static void tryTo(Runnable answer) {
        try {
            answer.run();
        } catch (RuntimeException e) {
            // It is cancelled.
        }
    }

    /** Pods and devices come in no order, each device alone. */
    private static PodResources of(List<TestKubelet.Allocation> allocations) {
        Map<TestPod, List<TestKubelet.Allocation>> byPod = new LinkedHashMap<>();
        allocations.forEach(it -> byPod.computeIfAbsent(it.pod(), _ -> new ArrayList<>()).add(it));
        List<PodResources.Pod> pods = new ArrayList<>();
        byPod.forEach((pod, its) ->
                pods.add(
                        new PodResources.Pod(
                                pod.name(),
                                pod.namespace(),
                                pod.listed().stream()
                                        .map(container -> container(container.name(), its))
                                        .toList())));
        Collections.shuffle(pods);
        return new PodResources(pods);
    }

    private static PodResources.Container container(
            String name, List<TestKubelet.Allocation> allocations) {
        List<PodResources.Devices> devices = new ArrayList<>();
        for (TestKubelet.Allocation allocation : allocations) {
            if (allocation.container().equals(name)) {
                allocation
                        .ids()
                        .forEach(id ->
                                devices.add(
                                        new PodResources.Devices(
                                                allocation.resource(), List.of(id))));
            }
        }
        Collections.shuffle(devices);
        return new PodResources.Container(name, devices);
    }
}
