package jnvdocker.web;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.stream.ChunkedWriteHandler;
import io.netty.util.concurrent.ImmediateEventExecutor;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Peer;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.words.FailedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * Answers over HTTP, on connections of the daemon's own socket that it is handed, and on TCP where
 * that is configured. Each connection is for one question: clients come seldom.
 */
public final class WebServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WebServer.class);

    /** The limit of all data of a client, in bytes; data after its request is not read. */
    private static final int MOST_BYTES = 128 << 10;

    private static final long MIB = 1 << 20;

    /** All clients over TCP count as one user, since they cannot be identified. */
    private static final Peer SOMEBODY = new Peer(0, -1);

    private static final FrameMemory.Limits TCP =
            new FrameMemory.Limits(0, 8 * MIB, 8 * MIB, 8 << 10, 128);

    private final MultiThreadIoEventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(
                    1,
                    Thread.ofPlatform().daemon().name("web").factory(),
                    NioIoHandler.newFactory());
    private final FrameMemory tcpMemory = new FrameMemory(TCP, Duration.ZERO);

    /** The connections over TCP, the oldest first; for the event loop alone. */
    private final Set<WebConnection> tcp = new LinkedHashSet<>();

    /** All connections, and what listens. */
    private final ChannelGroup open = new DefaultChannelGroup(ImmediateEventExecutor.INSTANCE);

    private final WebConnection.Setting setting;
    private Optional<ListenAddress> address = Optional.empty();
    private Optional<Channel> listening = Optional.empty();

    private WebServer(WebConnection.Setting setting) {
        this.setting = setting;
    }

    /** Begins; it listens nowhere yet. */
    public static WebServer start(List<WebPages> pages) {
        return start(pages, WebThreads.Limits.USUAL, WebConnection.Patience.USUAL);
    }

    static WebServer start(
            List<WebPages> pages, WebThreads.Limits limits, WebConnection.Patience patience) {
        return new WebServer(
                new WebConnection.Setting(
                        request -> first(pages, request), new WebThreads(limits), patience));
    }

    private static Optional<WebAnswer> first(List<WebPages> pages, WebRequest request)
            throws IOException {
        for (WebPages some : pages) {
            Optional<WebAnswer> answer = some.answer(request);
            if (answer.isPresent()) {
                return answer;
            }
        }
        return Optional.empty();
    }

    /**
     * Takes over a connection of the daemon's own socket.
     *
     * @param begun what has been read of it
     * @param memory that it takes; closed with it
     * @throws IOException when it cannot be served; it is still the caller's then
     */
    public void take(SocketChannel connection, ByteBuffer begun, FrameMemory.Account memory)
            throws IOException {
        try {
            NioDomainSocketChannel channel = new NioDomainSocketChannel(null, connection);
            channel.config().setAutoRead(false);
            channel.pipeline().addLast(new Pipeline(new WebConnection(setting, true, memory)));
            loop.register(channel)
                    .addListener(_ -> {
                        channel.pipeline().fireChannelRead(Unpooled.wrappedBuffer(begun));
                        channel.config().setAutoRead(true);
                    });
        } catch (RejectedExecutionException e) {
            throw new IOException("the daemon is stopping", e);
        }
    }

    /** A change of the address to listen on, which does not count unless it is {@link #use}d. */
    public final class Change implements AutoCloseable {
        private final Optional<ListenAddress> next;
        private Optional<Channel> channel;

        private Change(Optional<ListenAddress> next, Optional<Channel> channel) {
            this.next = next;
            this.channel = channel;
        }

        /** Listens there from now on, and no longer where it did. */
        public void use() {
            if (!isSame(next)) {
                listening.ifPresent(before -> before.close().awaitUninterruptibly());
                listening = channel;
                channel = Optional.empty();
                next.ifPresentOrElse(
                        it -> LOG.info("answering HTTP on {}", it.text()),
                        () -> LOG.info("answering HTTP over TCP no longer"));
            }
            address = next;
        }

        @Override
        public void close() {
            channel.ifPresent(unused -> unused.close().awaitUninterruptibly());
        }
    }

    private boolean isSame(Optional<ListenAddress> next) {
        return address.map(ListenAddress::address).equals(next.map(ListenAddress::address));
    }

    /**
     * Prepares to listen on another address. One change is made at a time.
     *
     * @param next empty for nowhere
     * @throws FailedException when it cannot
     */
    public Change change(Optional<ListenAddress> next) throws FailedException {
        Optional<Channel> channel =
                next.isEmpty() || isSame(next) ? Optional.empty() : Optional.of(bind(next.get()));
        return new Change(next, channel);
    }

    private Channel bind(ListenAddress wanted) throws FailedException {
        ChannelFuture bound =
                new ServerBootstrap()
                        .group(loop)
                        .channel(NioServerSocketChannel.class)
                        .childHandler(new TcpPipeline())
                        .bind(wanted.address())
                        .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            Throwable cause = bound.cause();
            throw new FailedException(
                    "cannot listen on "
                            + wanted.text()
                            + " ("
                            + (cause instanceof IOException e
                                    ? FileErrors.reason(e)
                                    : cause.getMessage())
                            + ")",
                    "set listen or JNVDOCKER_LISTEN to another port, or end the program that has"
                            + " this one ('ss -ltnp' shows it)",
                    cause);
        }
        open.add(bound.channel());
        return bound.channel();
    }

    @Override
    public void close() {
        open.close().awaitUninterruptibly();
        setting.threads().close();
        loop.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly();
    }

    private final class Pipeline extends ChannelInitializer<Channel> {
        private final WebConnection connection;

        Pipeline(WebConnection connection) {
            this.connection = connection;
        }

        @Override
        protected void initChannel(Channel channel) {
            open.add(channel);
            channel.pipeline()
                    .addLast(new Intake())
                    .addLast(
                            new HttpServerCodec(
                                    new HttpDecoderConfig()
                                            .setMaxInitialLineLength(WebConnection.MOST_LINE)
                                            .setMaxHeaderSize(WebConnection.MOST_HEADERS)))
                    .addLast(new ChunkedWriteHandler())
                    .addLast(connection);
        }
    }

    /** Ends a connection that sends more than any question has. */
    private static final class Intake extends ChannelInboundHandlerAdapter {
        private long bytes;

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            if (message instanceof ByteBuf buffer) {
                bytes += buffer.readableBytes();
                if (bytes > MOST_BYTES) {
                    buffer.release();
                    context.close();
                    return;
                }
            }
            context.fireChannelRead(message);
        }
    }

    /** Closes the oldest connection without a request when there are too many. */
    private final class TcpPipeline extends ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel channel) {
            try {
                FrameMemory.Account memory = account();
                WebConnection connection = new WebConnection(setting, false, memory);
                tcp.add(connection);
                channel.closeFuture().addListener(_ -> tcp.remove(connection));
                channel.pipeline().addLast(new Pipeline(connection));
            } catch (FrameMemory.FullException e) {
                LOG.debug("a connection over TCP is refused: {}", e.getMessage());
                channel.close();
            }
        }

        private FrameMemory.Account account() throws FrameMemory.FullException {
            try {
                return tcpMemory.open(SOMEBODY);
            } catch (FrameMemory.FullException e) {
                WebConnection idle =
                        tcp.stream().filter(WebConnection::isIdle).findFirst().orElseThrow(() -> e);
                idle.close();
                return tcpMemory.open(SOMEBODY);
            }
        }
    }
}
