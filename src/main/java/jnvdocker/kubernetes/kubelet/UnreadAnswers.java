package jnvdocker.kubernetes.kubelet;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.socket.nio.NioDomainSocketChannel;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends a connection with a peer that does not read: HTTP/2 has every PING and SETTINGS answered,
 * and a peer may send any number of them. gRPC's server limits the answers that wait, its client
 * does not.
 */
final class UnreadAnswers extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(UnreadAnswers.class);

    /** In bytes: more than the longest request, or some thousand answers. */
    private static final int MOST = 512 << 10;

    private UnreadAnswers() {}

    /** A new connection on which they are limited. */
    static NioDomainSocketChannel limited() {
        NioDomainSocketChannel channel = new NioDomainSocketChannel();
        channel.config().setWriteBufferWaterMark(new WriteBufferWaterMark(MOST / 2, MOST));
        channel.pipeline().addFirst(new UnreadAnswers());
        return channel;
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        if (context.channel().isWritable()) {
            context.fireChannelWritabilityChanged();
        } else {
            LOG.debug("{} does not read the answers", context.channel().remoteAddress());
            context.close();
        }
    }
}
