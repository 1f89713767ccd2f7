package jnvdocker.volume.plugin;

import com.fasterxml.jackson.core.JsonProcessingException;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerDomainSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.flow.FlowControlHandler;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.ProcessId;
import jnvdocker.posix.SocketFile;
import jnvdocker.words.FailedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Serves a {@link VolumePlugin} on a Unix socket. Netty, because it takes a listening socket that
 * was handed down, and because it answers dockerd, which sends an empty Host header.
 */
public final class PluginServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PluginServer.class);

    /** The limit of a request in bytes: a user can give a volume any number of options. */
    private static final int MAX_REQUEST = 64 << 10;

    /** dockerd sends a request as soon as it has connected. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final String GET = "VolumeDriver.Get";
    private static final Set<String> WHAT_WE_ARE =
            Set.of("Plugin.Activate", "VolumeDriver.Capabilities");

    /** The answer to this is always the same. */
    private static final ProcessId NOBODY = new ProcessId(0, 0);

    private static final String TOO_MUCH =
            "{\"Err\":\"jnvdockerd has too much to do for docker at the moment; see its log"
                    + " (journalctl -u jnvdocker), then try again\"}";
    private static final String TOO_LONG =
            "{\"Err\":\"the request is too long: it has more than "
                    + MAX_REQUEST
                    + " bytes; give the volume fewer options\"}";
    private static final String ACCEPTED = "application/vnd.docker.plugins.v1";
    private static final String CONTENT_TYPE = "application/vnd.docker.plugins.v1+json";

    private final Callers callers = new Callers();
    private final VolumePlugin plugin;
    private final Path socket;
    private final Duration patience;
    private Channel server;
    // Both belong to a socket that we made, and are null for one that was handed down.
    private ServerSocketChannel listening;
    private SocketFile file;
    private final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final VerbThreads verbs;
    private final long verbMillis;

    private PluginServer(
            VolumePlugin plugin, Path socket, Duration patience, VerbThreads.Limits limits) {
        this.plugin = plugin;
        this.socket = socket;
        this.patience = patience;
        verbs = new VerbThreads(limits);
        verbMillis = limits.patienceMillis();
    }

    /**
     * Listens on the socket that this process got as standard input, else on a new one that root
     * alone may use, as dockerd does.
     *
     * @throws IOException when the socket cannot be made, or the one on standard input is another
     */
    public static PluginServer listen(VolumePlugin plugin, Path socket) throws IOException {
        return listen(plugin, socket, PATIENCE, VerbThreads.Limits.USUAL);
    }

    /**
     * @param patience in which a request must have come whole, or its connection ends
     */
    static PluginServer listen(
            VolumePlugin plugin, Path socket, Duration patience, VerbThreads.Limits limits)
            throws IOException {
        Optional<ServerSocketChannel> inherited = InheritedSocket.at(socket);
        PluginServer server = new PluginServer(plugin, socket, patience, limits);
        server.serve(inherited.isPresent() ? inherited.get() : server.make());
        LOG.info("serving docker's volume plugin protocol on {}", socket);
        return server;
    }

    /** Binds without Netty, which at the end removes any file with the socket's name. */
    private ServerSocketChannel make() throws IOException {
        try {
            listening = SocketFile.listen(socket, Optional.empty());
            file = SocketFile.of(socket);
            return listening;
        } catch (IOException e) {
            close();
            throw new FailedException(
                    "cannot listen on " + socket + " (" + FileErrors.reason(e) + ")",
                    "if that is nvidia-docker-plugin or another jnvdockerd, stop it; or set"
                            + " JNVDOCKER_PLUGIN_DIR or JNVDOCKER_PLUGIN_NAME",
                    e);
        }
    }

    private void serve(ServerSocketChannel channel) throws IOException {
        var served =
                new ServerBootstrap()
                        .group(loops)
                        .childHandler(new Pipeline())
                        .channelFactory(() -> new NioServerDomainSocketChannel(channel))
                        .register();
        await(served);
        server = served.channel();
    }

    private static void await(ChannelFuture listening) throws IOException {
        if (!listening.awaitUninterruptibly().isSuccess()) {
            throw new IOException(listening.cause().getMessage(), listening.cause());
        }
    }

    @Override
    public void close() throws IOException {
        if (server != null) {
            // Never closed: Netty would remove the socket's name, and Java would turn standard
            // error, where the log goes, into /dev/null.
            server.deregister().awaitUninterruptibly();
        }
        // The name goes first: while the socket is open, no other can be taken for it.
        if (file != null) {
            file.delete();
        }
        if (listening != null) {
            listening.close();
        }
        loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly();
        verbs.close();
    }

    private final class Pipeline extends ChannelInitializer<Channel> {
        @Override
        protected void initChannel(Channel channel) {
            var deadline =
                    channel.eventLoop()
                            .schedule(
                                    () -> channel.close(),
                                    patience.toMillis(),
                                    TimeUnit.MILLISECONDS);
            channel.pipeline()
                    .addLast(new HttpServerCodec())
                    .addLast(new HttpServerKeepAliveHandler())
                    .addLast(new WholeRequests())
                    // Holds data after a request back: it is not read.
                    .addLast(new FlowControlHandler())
                    .addLast(new Handler(deadline));
        }
    }

    /** Refuses a longer request, and ends its connection: nothing reads the rest of the body. */
    private static final class WholeRequests extends HttpObjectAggregator {
        WholeRequests() {
            super(MAX_REQUEST, true);
        }

        @Override
        protected void handleOversizedMessage(
                ChannelHandlerContext context, HttpMessage oversized) {
            String text = TOO_LONG + "\n";
            context.writeAndFlush(response(HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE, text))
                    .addListener(ChannelFutureListener.CLOSE);
        }
    }

    private final class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
        private final Future<?> deadline;

        /**
         * @param deadline ends the connection, unless a whole request has come by then
         */
        Handler(Future<?> deadline) {
            this.deadline = deadline;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            deadline.cancel(false);
            String verb = request.uri().startsWith("/") ? request.uri().substring(1) : "";
            String accept = request.headers().get(HttpHeaderNames.ACCEPT, "");
            if (!request.decoderResult().isSuccess()) {
                context.writeAndFlush(response(HttpResponseStatus.BAD_REQUEST, ""));
                context.close();
            } else if (!request.method().equals(HttpMethod.POST)) {
                context.writeAndFlush(response(HttpResponseStatus.NOT_FOUND, ""));
            } else if (!accept.startsWith(ACCEPTED)) {
                context.writeAndFlush(response(HttpResponseStatus.NOT_ACCEPTABLE, ""));
            } else if (verb.equals(GET) && !request.content().isReadable()) {
                // dockerd repeats a request like this after a connection that has failed. It
                // forgets a volume that we report as missing; without an answer it fails what it
                // needed it for.
                context.close();
            } else {
                byte[] body = ByteBufUtil.getBytes(request.content());
                context.channel().config().setAutoRead(false);
                if (WHAT_WE_ARE.contains(verb)) {
                    // dockerd does not start before it has this answer, which is a constant.
                    answer(context, verb, body);
                } else {
                    dispatch(context, verb, body);
                }
            }
        }

        /**
         * A request that gets no thread in time is answered with that: dockerd would wait for ever.
         */
        private void dispatch(ChannelHandlerContext context, String verb, byte[] body) {
            AtomicBoolean taken = new AtomicBoolean();
            var overdue =
                    context.channel()
                            .eventLoop()
                            .schedule(
                                    () -> {
                                        if (taken.compareAndSet(false, true)) {
                                            tooMany(context, verb);
                                        }
                                    },
                                    verbMillis,
                                    TimeUnit.MILLISECONDS);
            boolean room =
                    verbs.execute(
                            verb,
                            () -> {
                                if (taken.compareAndSet(false, true)) {
                                    overdue.cancel(false);
                                    answer(context, verb, body);
                                }
                            });
            if (!room) {
                overdue.cancel(false);
                tooMany(context, verb);
            }
        }

        private void tooMany(ChannelHandlerContext context, String verb) {
            LOG.error("{} was not answered: too many others are not done yet", verb);
            if (verb.equals(GET)) {
                // Sends no answer: by one, dockerd would forget the volume.
                context.close();
            } else {
                context.writeAndFlush(response(HttpResponseStatus.OK, TOO_MUCH + "\n"));
            }
        }

        private void answer(ChannelHandlerContext context, String verb, byte[] body) {
            FullHttpResponse response = response(HttpResponseStatus.INTERNAL_SERVER_ERROR, "");
            try {
                ProcessId caller =
                        WHAT_WE_ARE.contains(verb) ? NOBODY : callers.of(context.channel());
                response =
                        plugin.answer(verb, body, caller)
                                .map(text -> response(HttpResponseStatus.OK, text + "\n"))
                                .orElseGet(() -> response(HttpResponseStatus.NOT_FOUND, ""));
            } catch (JsonProcessingException e) {
                LOG.error("{}: the answer cannot be written as JSON", verb, e);
            } catch (IOException e) {
                LOG.error("{}: cannot determine which process sent the request", verb, e);
            } finally {
                // Whatever went wrong: dockerd waits for ever, and holds a container's lock.
                context.writeAndFlush(response);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            deadline.cancel(false);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            LOG.debug("a connection to the plugin's socket failed", cause);
            context.close();
        }
    }

    /**
     * Ends its connection. On one that dockerd keeps, a request may meet our death; dockerd repeats
     * it without its body, and forgets the volume if the answer is that the request names none. One
     * that cannot connect is repeated whole.
     */
    private static FullHttpResponse response(HttpResponseStatus status, String text) {
        var body = Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
        var response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, body);
        response.headers().set(HttpHeaderNames.CONTENT_TYPE, CONTENT_TYPE);
        response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, body.readableBytes());
        return response;
    }
}
