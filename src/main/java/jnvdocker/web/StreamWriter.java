package jnvdocker.web;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.handler.codec.http.DefaultHttpContent;

import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * The text of a stream, which is sent by {@link #flush}, or when it has become long. Sending waits
 * until the client's side has taken it.
 */
final class StreamWriter extends Writer {
    private static final int LONG = 8 << 10;

    private final Channel channel;
    private final Duration patience;
    private final StringBuilder text = new StringBuilder();

    /**
     * @param patience after which a client that takes nothing is given up
     */
    StreamWriter(Channel channel, Duration patience) {
        this.channel = channel;
        this.patience = patience;
    }

    @Override
    public void write(char[] characters, int from, int length) throws IOException {
        text.append(characters, from, length);
        if (text.length() >= LONG) {
            flush();
        }
    }

    @Override
    public void flush() throws IOException {
        if (!channel.isActive()) {
            throw new IOException("the client is gone");
        }
        if (text.isEmpty()) {
            return;
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        text.setLength(0);
        ChannelFuture sent =
                channel.writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(bytes)));
        try {
            if (!sent.await(patience.toMillis())) {
                channel.close();
                throw new IOException("the client reads nothing");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("the client or the daemon is ending", e);
        }
        if (!sent.isSuccess()) {
            throw new IOException("the client is gone", sent.cause());
        }
    }

    @Override
    public void close() throws IOException {
        flush();
    }
}
