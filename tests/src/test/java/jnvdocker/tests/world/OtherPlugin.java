package jnvdocker.tests.world;

import com.google.protobuf.ByteString;

import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import jnvdocker.kubernetes.Device;
import jnvdocker.kubernetes.kubelet.Calls;
import jnvdocker.kubernetes.kubelet.GrpcSockets;
import jnvdocker.kubernetes.kubelet.ListedDevices;
import jnvdocker.kubernetes.kubelet.PluginOptions;
import jnvdocker.kubernetes.kubelet.RegisterRequest;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A device plugin of another vendor. */
public final class OtherPlugin implements AutoCloseable {
    private static final PluginOptions NO_OPTIONS = new PluginOptions(false, false);

    private final GrpcSockets grpc;
    private final Path socket;
    private final byte[] list;
    private final AtomicInteger readers = new AtomicInteger();
    private final AtomicInteger left = new AtomicInteger();
    private final Server server;

    private OtherPlugin(GrpcSockets grpc, Path socket, Set<String> ids) throws IOException {
        this.grpc = grpc;
        this.socket = socket;
        List<Device> devices =
                ids.stream().map(id -> new Device(id, true, OptionalInt.empty())).toList();
        list = new ListedDevices(devices).bytes().toByteArray();
        server =
                grpc.server(socket)
                        .addService(
                                ServerServiceDefinition.builder(Calls.PLUGIN)
                                        .addMethod(
                                                Calls.OPTIONS,
                                                ServerCalls.asyncUnaryCall((_, observer) -> {
                                                    observer.onNext(
                                                            NO_OPTIONS.bytes().toByteArray());
                                                    observer.onCompleted();
                                                }))
                                        .addMethod(
                                                Calls.LIST_AND_WATCH,
                                                ServerCalls.asyncServerStreamingCall(
                                                        (_, reader) -> read(reader)))
                                        .build())
                        .build()
                        .start();
    }

    private void read(StreamObserver<byte[]> reader) {
        readers.incrementAndGet();
        ((ServerCallStreamObserver<byte[]>) reader).setOnCancelHandler(left::incrementAndGet);
        reader.onNext(list);
    }

    /** Serves these devices, all healthy. */
    public static OtherPlugin serve(GrpcSockets grpc, Path socket, Set<String> ids)
            throws IOException {
        return new OtherPlugin(grpc, socket, ids);
    }

    /** Registers them as {@link TestKubelet#GPU}. */
    public void register(Path kubelet) throws IOException {
        RegisterRequest request =
                new RegisterRequest(
                        RegisterRequest.VERSION,
                        socket.getFileName().toString(),
                        TestKubelet.GPU,
                        NO_OPTIONS);
        ByteString bytes = request.bytes();
        grpc.request(kubelet, Calls.REGISTER, bytes, Duration.ofSeconds(10));
    }

    /** How many have read its devices. */
    public int readers() {
        return readers.get();
    }

    /** How many of these have left. */
    public int left() {
        return left.get();
    }

    @Override
    public void close() {
        server.shutdownNow();
        try {
            server.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
