package jnvdocker.kubelet;

import com.google.protobuf.ByteString;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import jnvdocker.kubernetes.DevicePlugin;
import jnvdocker.posix.Posix;
import jnvdocker.posix.SocketFile;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Serves a device plugin on a socket in the kubelet's folder, which root alone may use. */
final class DevicePluginServer implements AutoCloseable {
    private static final int END_SECONDS = 2;

    /** When a kubelet names no deadline, as ours does for a start. */
    private static final Duration NO_DEADLINE = Duration.ofSeconds(30);

    private final DeviceStreams streams;
    private final Server server;
    private final SocketFile file;

    private DevicePluginServer(DeviceStreams streams, Server server, SocketFile file) {
        this.streams = streams;
        this.server = server;
        this.file = file;
    }

    /**
     * Serves from now on.
     *
     * @param changed run for each reader of the devices that comes or leaves
     * @throws IOException when the socket cannot be made
     */
    static DevicePluginServer listen(
            GrpcSockets grpc, Path socket, DevicePlugin plugin, Runnable changed)
            throws IOException {
        SocketFile.makeRoom(socket);
        DeviceStreams streams = new DeviceStreams(plugin, changed);
        Server server =
                grpc.server(socket).addService(service(new PluginCalls(plugin), streams)).build();
        try {
            server.start();
            Posix.chmod(socket, 0600);
            return new DevicePluginServer(streams, server, SocketFile.of(socket));
        } catch (IOException e) {
            streams.close();
            server.shutdownNow();
            throw e;
        }
    }

    private static ServerServiceDefinition service(PluginCalls calls, DeviceStreams streams) {
        return ServerServiceDefinition.builder(Calls.PLUGIN)
                .addMethod(Calls.OPTIONS, unary(_ -> PluginOptions.OURS.bytes()))
                .addMethod(Calls.PREFERRED, unary(calls::preferred))
                .addMethod(Calls.ALLOCATE, unary(calls::allocate))
                .addMethod(Calls.START, unary(request -> calls.start(request, remaining())))
                .addMethod(
                        Calls.LIST_AND_WATCH,
                        ServerCalls.asyncServerStreamingCall((_, reader) ->
                                streams.open((ServerCallStreamObserver<byte[]>) reader)))
                .build();
    }

    private static Duration remaining() {
        Deadline deadline = Context.current().getDeadline();
        return deadline == null
                ? NO_DEADLINE
                : Duration.ofMillis(deadline.timeRemaining(TimeUnit.MILLISECONDS));
    }

    /** Answers a question. */
    private interface Answer {
        ByteString answer(ByteString request) throws StatusException;
    }

    private static ServerCallHandler<byte[], byte[]> unary(Answer answer) {
        return ServerCalls.asyncUnaryCall(
                (request, observer) -> answer(answer, ByteString.copyFrom(request), observer));
    }

    private static void answer(Answer answer, ByteString request, StreamObserver<byte[]> observer) {
        byte[] bytes;
        try {
            bytes = answer.answer(request).toByteArray();
        } catch (StatusException e) {
            observer.onError(e);
            return;
        }
        observer.onNext(bytes);
        observer.onCompleted();
    }

    /** Whether its socket still has its name: a kubelet removes all of them when it starts. */
    boolean isThere() {
        return file.isThere();
    }

    /** How many watch the devices. */
    int readers() {
        return streams.count();
    }

    /** Ends the streams of all readers of the devices. */
    void endStreams() {
        streams.end();
    }

    /**
     * Waits until the socket is closed, since its name is removed then, even if another process's
     * socket has it.
     */
    @Override
    public void close() {
        streams.close();
        server.shutdownNow();
        try {
            server.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
