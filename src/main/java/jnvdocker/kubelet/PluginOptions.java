package jnvdocker.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.wire.WireMessage;
import jnvdocker.wire.WireWriter;

import java.io.IOException;

/**
 * Which of the calls that a device plugin may do without it wants: {@code DevicePluginOptions}.
 *
 * @param start PreStartContainer
 * @param preferred GetPreferredAllocation
 */
public record PluginOptions(boolean start, boolean preferred) {
    static final PluginOptions OURS = new PluginOptions(true, true);

    private static final int START = 1;
    private static final int PREFERRED = 2;

    /**
     * @throws IOException when it is malformed
     */
    public static PluginOptions parse(ByteString bytes) throws IOException {
        return of(WireMessage.parse(bytes));
    }

    static PluginOptions of(WireMessage message) {
        return new PluginOptions(message.number(START) != 0, message.number(PREFERRED) != 0);
    }

    WireWriter written() {
        return new WireWriter().flag(START, start).flag(PREFERRED, preferred);
    }

    public ByteString bytes() {
        return written().bytes();
    }
}
