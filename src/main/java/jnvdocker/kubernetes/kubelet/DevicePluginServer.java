package jnvdocker.kubernetes.kubelet;

import io.grpc.ServerServiceDefinition;

import jnvdocker.kubernetes.DevicePlugin;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** Serves a device plugin on a socket in the kubelet's directory, which root alone may use. */
final class DevicePluginServer implements AutoCloseable {
    private final DevicePlugin.Watch watch;
    private final DeviceStreams streams;
    private final GrpcServer server;

    private DevicePluginServer(DevicePlugin.Watch watch, DeviceStreams streams, GrpcServer server) {
        this.watch = watch;
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
        DeviceStreams streams =
                new DeviceStreams(() -> new ListedDevices(plugin.devices()).bytes(), changed);
        DevicePlugin.Watch watch = plugin.watch(streams::send);
        try {
            return new DevicePluginServer(
                    watch,
                    streams,
                    GrpcServer.listen(
                            grpc, socket, List.of(service(new PluginCalls(plugin), streams))));
        } catch (IOException e) {
            watch.close();
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
                .addMethod(Calls.LIST_AND_WATCH, streams.handler())
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
        watch.close();
        streams.end();
        server.close();
    }
}
