package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NegotiationType;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;

import java.net.UnixDomainSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * gRPC over Unix sockets, without native libraries. Each request has a connection of its own: one
 * that is kept would, after a restart of the other side, wait for as long as gRPC delays its next
 * attempt to connect.
 */
public final class GrpcSockets implements AutoCloseable {
    /** Kubelets and their plugins expect this name; it is never resolved. */
    private static final String AUTHORITY = "localhost";

    /** A request names a device or more, by ids of a few dozen bytes. */
    private static final int MOST_REQUEST = 256 << 10;

    /** The limit of Kubernetes' own client for a kubelet's answer. */
    private static final int MOST_ANSWER = 16 << 20;

    /** A container that waits for its GPU keeps a call open. */
    private static final int MOST_CALLS = 1024;

    private final MultiThreadIoEventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(
                    1,
                    Thread.ofPlatform().daemon().name("grpc").factory(),
                    NioIoHandler.newFactory());
    private final ExecutorService threads =
            Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("grpc-", 0).factory());

    /** A server that is to listen on a new socket of that name. */
    public NettyServerBuilder server(Path socket) {
        return NettyServerBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelType(NioServerDomainSocketChannel.class)
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .executor(threads)
                .withOption(ChannelOption.ALLOCATOR, ByteBufAllocator.DEFAULT)
                .withChildOption(ChannelOption.ALLOCATOR, ByteBufAllocator.DEFAULT)
                .maxInboundMessageSize(MOST_REQUEST)
                .maxConcurrentCallsPerConnection(MOST_CALLS);
    }

    /** A connection, made with its first call. */
    public ManagedChannel channel(Path socket) {
        return NettyChannelBuilder.forAddress(UnixDomainSocketAddress.of(socket))
                .channelFactory(UnreadAnswers::limited, UnixDomainSocketAddress.class)
                .eventLoopGroup(loop)
                .executor(threads)
                .offloadExecutor(threads)
                .withOption(ChannelOption.ALLOCATOR, ByteBufAllocator.DEFAULT)
                .negotiationType(NegotiationType.PLAINTEXT)
                .overrideAuthority(AUTHORITY)
                .disableRetry()
                .maxInboundMessageSize(MOST_ANSWER)
                .build();
    }

    /**
     * Sends a request, and returns the answer.
     *
     * @param limit for the whole answer
     * @throws GrpcException when there is none, or not in time
     */
    public ByteString request(
            Path socket, MethodDescriptor<byte[], byte[]> call, ByteString request, Duration limit)
            throws GrpcException {
        ManagedChannel channel = channel(socket);
        try {
            return UnsafeByteOperations.unsafeWrap(
                    ClientCalls.blockingUnaryCall(
                            channel, call, within(limit), request.toByteArray()));
        } catch (StatusRuntimeException e) {
            throw GrpcException.of(e.getStatus(), limit);
        } finally {
            channel.shutdownNow();
        }
    }

    /**
     * The first message of a stream, which is not read on.
     *
     * @return empty when it has ended without one
     * @throws GrpcException when there is none in time
     */
    public Optional<ByteString> first(
            Path socket, MethodDescriptor<byte[], byte[]> call, Duration limit)
            throws GrpcException {
        ManagedChannel channel = channel(socket);
        try {
            Iterator<byte[]> messages =
                    ClientCalls.blockingServerStreamingCall(
                            channel, call, within(limit), new byte[0]);
            return messages.hasNext()
                    ? Optional.of(UnsafeByteOperations.unsafeWrap(messages.next()))
                    : Optional.empty();
        } catch (StatusRuntimeException e) {
            throw GrpcException.of(e.getStatus(), limit);
        } finally {
            channel.shutdownNow();
        }
    }

    private static CallOptions within(Duration limit) {
        return CallOptions.DEFAULT.withDeadlineAfter(limit.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Ends all that has been made here; the ends of connections are still reported. */
    @Override
    public void close() {
        loop.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly();
        threads.shutdownNow();
    }
}
