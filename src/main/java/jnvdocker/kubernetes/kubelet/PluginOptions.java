package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.wire.WireWriter;

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

    WireWriter written() {
        return new WireWriter().flag(START, start).flag(PREFERRED, preferred);
    }

    public ByteString bytes() {
        return written().bytes();
    }
}
