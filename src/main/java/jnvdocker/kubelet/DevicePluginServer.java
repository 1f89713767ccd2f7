package jnvdocker.kubelet;

import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;

import jnvdocker.kubernetes.DevicePlugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Serves a device plugin on a socket in the kubelet's directory, which root alone may use. */
final class DevicePluginServer implements AutoCloseable {
    private final DeviceStreams streams;
    private final GrpcServer server;

    private DevicePluginServer(DeviceStreams streams, GrpcServer server) {
        this.streams = streams;
        this.server = server;
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
        DeviceStreams streams = new DeviceStreams(plugin, changed);
        try {
            return new DevicePluginServer(
                    streams,
                    GrpcServer.listen(
                            grpc, socket, List.of(service(new PluginCalls(plugin), streams))));
        } catch (IOException e) {
            streams.close();
            throw e;
        }
    }

    private static ServerServiceDefinition service(PluginCalls calls, DeviceStreams streams) {
        return ServerServiceDefinition.builder(Calls.PLUGIN)
                .addMethod(Calls.OPTIONS, GrpcServer.unary(_ -> PluginOptions.OURS.bytes()))
                .addMethod(Calls.PREFERRED, GrpcServer.unary(calls::preferred))
                .addMethod(Calls.ALLOCATE, GrpcServer.unary(calls::allocate))
                .addMethod(
                        Calls.START,
                        GrpcServer.unary(request -> calls.start(request, GrpcServer.remaining())))
                .addMethod(
                        Calls.LIST_AND_WATCH,
                        ServerCalls.asyncServerStreamingCall((_, reader) ->
                                streams.open((ServerCallStreamObserver<byte[]>) reader)))
                .build();
    }

    /** Whether its socket still has its name: a kubelet removes all of them when it starts. */
    boolean isThere() {
        return server.isThere();
    }

    /** How many watch the devices. */
    int readers() {
        return streams.count();
    }

    /** Ends the streams of all readers of the devices. */
    void endStreams() {
        streams.end();
    }

    /** Waits until the socket is closed and its name is gone. */
    @Override
    public void close() {
        streams.close();
        server.close();
    }
}
