package jnvdocker.web;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.HttpChunkedInput;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.stream.ChunkedStream;

import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.words.Quote;
import jnvdocker.words.Refusal;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * A connection: one question, its answer, and the end. Everything here runs in the event loop,
 * unless it says otherwise.
 */
final class WebConnection extends SimpleChannelInboundHandler<HttpObject> {
    private static final Logger LOG = LoggerFactory.getLogger(WebConnection.class);

    static final int MOST_LINE = 4096;
    static final int MOST_HEADERS = 8192;

    /** Java keeps a copy of what is being sent outside of its heap. */
    private static final int SLICE = 8 << 10;

    /** A browser runs and loads our own files alone, whatever is in a document. */
    private static final String POLICY =
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
                    + " connect-src 'self'; base-uri 'none'; form-action 'none';"
                    + " frame-ancestors 'none'";

    private static final Refusal BUSY =
            new Refusal("too many requests at once", "try again in a moment");

    private final Setting setting;
    private final boolean trusted;
    private final FrameMemory.Account memory;
    private Channel channel;
    private Future<?> deadline;
    private State state = State.REQUESTING;

    /** How far it has come. */
    private enum State {
        REQUESTING,
        ANSWERING,
        /** The answer is on its way, or has arrived. */
        ANSWERED,
        /** The client has all of it, and is to close the connection. */
        ENDING
    }

    /** The state that all connections share. */
    record Setting(WebPages pages, WebThreads threads, Patience patience) {}

    /**
     * @param requesting in which the question must have come
     * @param answering in which its answer must be made
     * @param taking in which the client must have taken the answer, or a part of a stream
     * @param ending in which the client may close the connection
     */
    record Patience(Duration requesting, Duration answering, Duration taking, Duration ending) {
        static final Patience USUAL =
                new Patience(
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(30),
                        Duration.ofSeconds(10),
                        Duration.ofSeconds(1));
    }

    /**
     * @param trusted as in {@link WebRequest}
     * @param memory of this connection; closed with it
     */
    WebConnection(Setting setting, boolean trusted, FrameMemory.Account memory) {
        this.setting = setting;
        this.trusted = trusted;
        this.memory = memory;
    }

    /** Whether it may be closed in favour of another: no request is pending. */
    boolean isIdle() {
        return switch (state) {
            case REQUESTING, ENDING -> true;
            case ANSWERING, ANSWERED -> false;
        };
    }

    void close() {
        channel.close();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        channel = context.channel();
        channel.closeFuture().addListener(_ -> memory.close());
        within(setting.patience().requesting(), this::close);
    }

    /** Sets the time limit of what comes next, in place of the last one. */
    private void within(Duration time, Runnable otherwise) {
        if (deadline != null) {
            deadline.cancel(false);
        }
        deadline = channel.eventLoop().schedule(otherwise, time.toMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject message) {
        // Data after the request is not read.
        if (state == State.REQUESTING && message instanceof HttpRequest request) {
            state = State.ANSWERING;
            handle(request);
        }
    }

    private void handle(HttpRequest request) {
        try {
            WebRequest question =
                    Question.of(
                            request, trusted ? OptionalInt.of(memory.uid()) : OptionalInt.empty());
            channel.config().setAutoRead(false);
            within(
                    setting.patience().answering(),
                    () ->
                            send(
                                    failed(
                                            HttpResponseStatus.SERVICE_UNAVAILABLE,
                                            new Refusal(
                                                    "timed out", "see journalctl -u jnvdocker"))));
            if (!setting.threads().page(trusted, () -> answer(question, request))) {
                send(failed(HttpResponseStatus.SERVICE_UNAVAILABLE, BUSY));
            }
        } catch (RefusedQuestionException e) {
            send(failed(HttpResponseStatus.valueOf(e.status()), e.refusal()));
        }
    }

    private static WebAnswer.Page failed(HttpResponseStatus status, Refusal why) {
        String line = Quote.lines(why.message()).replace('\n', ' ');
        return new WebAnswer.Page(status.code(), WebAnswer.TEXT, line + "\n");
    }

    /** On a thread for pages. */
    private void answer(WebRequest question, HttpRequest request) {
        switch (answer(question)) {
            case WebAnswer.Page page -> later(() -> send(page));
            case WebAnswer.Stream stream -> later(() -> begin(stream, request.protocolVersion()));
        }
    }

    /** Has something done in the event loop, from another thread. */
    private void later(Runnable task) {
        try {
            channel.eventLoop().execute(task);
        } catch (RejectedExecutionException e) {
            LOG.debug("an answer comes too late: the daemon is stopping");
        }
    }

    private WebAnswer answer(WebRequest question) {
        try {
            return setting.pages()
                    .answer(question)
                    .orElseGet(() ->
                            failed(
                                    HttpResponseStatus.NOT_FOUND,
                                    new Refusal(
                                            "there is no page " + Quote.quoted(question.path()),
                                            "request /metrics or another page of the manual")));
        } catch (IOException e) {
            return failed(HttpResponseStatus.INTERNAL_SERVER_ERROR, FileErrors.refusal(e));
        } catch (RuntimeException e) {
            LOG.error("{} failed", Quote.quoted(question.path()), e);
            return failed(
                    HttpResponseStatus.INTERNAL_SERVER_ERROR,
                    new Refusal("internal error", "see journalctl -u jnvdocker"));
        }
    }

    private void send(WebAnswer.Page page) {
        if (state != State.ANSWERING) {
            return;
        }
        byte[] body = page.body().getBytes(StandardCharsets.UTF_8);
        try {
            memory.takeAtOnce(body.length);
            send(page, body);
        } catch (FrameMemory.FullException e) {
            WebAnswer.Page full = failed(HttpResponseStatus.SERVICE_UNAVAILABLE, BUSY);
            send(full, full.body().getBytes(StandardCharsets.UTF_8));
        }
    }

    private void send(WebAnswer.Page page, byte[] body) {
        HttpResponse response = response(HttpResponseStatus.valueOf(page.status()), page.type());
        HttpUtil.setContentLength(response, body.length);
        if (page.status() == HttpResponseStatus.METHOD_NOT_ALLOWED.code()) {
            response.headers().set(HttpHeaderNames.ALLOW, "GET, HEAD");
        }
        state = State.ANSWERED;
        within(setting.patience().taking(), this::close);
        channel.write(response);
        channel.writeAndFlush(
                        new HttpChunkedInput(
                                new ChunkedStream(new ByteArrayInputStream(body), SLICE)))
                .addListener(_ -> end());
    }

    private static HttpResponse response(HttpResponseStatus status, String type) {
        HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, status);
        HttpHeaders headers = response.headers();
        headers.set(HttpHeaderNames.CONTENT_TYPE, type);
        headers.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        headers.set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE);
        // A browser takes it for nothing else, and lets no other site's page include it.
        headers.set("X-Content-Type-Options", "nosniff");
        headers.set("Cross-Origin-Resource-Policy", "same-origin");
        headers.set("Content-Security-Policy", POLICY);
        headers.set("Referrer-Policy", "no-referrer");
        return response;
    }

    /** Ends the output first: a connection that is closed with unread input loses the answer. */
    private void end() {
        if (!channel.isActive()) {
            return;
        }
        state = State.ENDING;
        within(setting.patience().ending(), this::close);
        ((DuplexChannel) channel).shutdownOutput();
        channel.config().setAutoRead(true);
    }

    private void begin(WebAnswer.Stream stream, HttpVersion version) {
        if (state != State.ANSWERING) {
            return;
        }
        if (!setting.threads().take(memory.uid())) {
            send(failed(HttpResponseStatus.SERVICE_UNAVAILABLE, BUSY));
            return;
        }
        state = State.ANSWERED;
        deadline.cancel(false);
        HttpResponse response = response(HttpResponseStatus.OK, stream.type());
        HttpUtil.setTransferEncodingChunked(response, version.equals(HttpVersion.HTTP_1_1));
        channel.writeAndFlush(response);
        // Only to notice that the client goes.
        channel.config().setAutoRead(true);
        Thread thread = Thread.ofVirtual().name("stream").unstarted(() -> write(stream));
        channel.closeFuture().addListener(_ -> thread.interrupt());
        thread.start();
    }

    /** On a thread of its own. */
    private void write(WebAnswer.Stream stream) {
        try (StreamWriter out = new StreamWriter(channel, setting.patience().taking())) {
            stream.source().write(out);
        } catch (IOException e) {
            LOG.debug("a stream ended: {}", e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("a stream failed", e);
        } finally {
            setting.threads().give(memory.uid());
            later(() ->
                    channel.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT)
                            .addListener(_ -> end()));
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        deadline.cancel(false);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        LOG.debug("a connection failed", cause);
        context.close();
    }
}
