package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.StatusException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;

import jnvdocker.posix.Posix;
import jnvdocker.posix.SocketFile;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Serves a kubelet on a socket, which root alone may use. */
public final class GrpcServer implements AutoCloseable {
    private static final int END_SECONDS = 2;

    /** When a kubelet names no deadline. */
    private static final Duration NO_DEADLINE = Duration.ofSeconds(30);

    /** The longest time that a call may wait for a GPU; a kubelet then requests it again. */
    private static final Duration PATIENCE = Duration.ofSeconds(25);

    /** A wait ends this long before the kubelet's deadline, at which no reason would reach it. */
    private static final Duration MARGIN = Duration.ofSeconds(3);

    private static final String PREFIX = "jnvdocker: ";

    /** The length of a message that an event of Kubernetes shows. */
    private static final int MOST_TEXT = 1000;

    private final Server server;
    private final SocketFile file;

    private GrpcServer(Server server, SocketFile file) {
        this.server = server;
        this.file = file;
    }

    /**
     * Serves from now on.
     *
     * @throws IOException when the socket cannot be made
     */
    public static GrpcServer listen(
            GrpcSockets grpc, Path socket, List<ServerServiceDefinition> services)
            throws IOException {
        SocketFile.makeRoom(socket);
        NettyServerBuilder builder = grpc.server(socket);
        services.forEach(builder::addService);
        Server server = builder.build();
        try {
            server.start();
            Posix.chmod(socket, 0600);
            return new GrpcServer(server, SocketFile.of(socket));
        } catch (IOException e) {
            server.shutdownNow();
            throw e;
        }
    }

    /** Answers a request. */
    public interface Answer {
        /**
         * @throws StatusException which the kubelet gets in place of an answer
         */
        ByteString answer(ByteString request) throws StatusException;
    }

    /** Handles a call that has one request and one answer. */
    public static ServerCallHandler<byte[], byte[]> unary(Answer answer) {
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

    /** How long the kubelet still waits for the answer to the present call. */
    public static Duration remaining() {
        Deadline deadline = Context.current().getDeadline();
        return deadline == null
                ? NO_DEADLINE
                : Duration.ofMillis(deadline.timeRemaining(TimeUnit.MILLISECONDS));
    }

    /** How long a call may wait for a GPU, if the kubelet waits for that long. */
    public static Duration patience(Duration remaining) {
        Duration most = remaining.minus(MARGIN);
        if (most.isNegative()) {
            return Duration.ZERO;
        }
        return most.compareTo(PATIENCE) < 0 ? most : PATIENCE;
    }

    /** The one line of a refusal that becomes part of the kubelet's own message. */
    public static String text(Refusal refusal) {
        String text = PREFIX + Quote.lines(refusal.message()).replaceAll("\\s*\n\\s*", " ");
        return text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + "…" : text;
    }

    /** Whether its socket still has its name: a kubelet removes some when it starts. */
    public boolean isThere() {
        return file.isThere();
    }

    /**
     * Waits until the socket is closed, since its name is removed then, even if another process's
     * socket has it.
     */
    @Override
    public void close() {
        server.shutdownNow();
        try {
            server.awaitTermination(END_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
