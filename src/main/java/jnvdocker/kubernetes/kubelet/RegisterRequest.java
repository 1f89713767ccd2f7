package jnvdocker.kubernetes.kubelet;

import com.google.protobuf.ByteString;

import jnvdocker.wire.WireWriter;

/**
 * What a device plugin reports to a kubelet about itself: {@code RegisterRequest} of {@code
 * v1beta1}.
 *
 * @param endpoint the name of its socket in the kubelet's directory
 * @param resource {@code nvidia.com/gpu}
 */
public record RegisterRequest(
        String version, String endpoint, String resource, PluginOptions options) {
    /** The only version there is. */
    public static final String VERSION = "v1beta1";

    private static final int VERSION_FIELD = 1;
    private static final int ENDPOINT = 2;
    private static final int RESOURCE = 3;
    private static final int OPTIONS = 4;

    public ByteString bytes() {
        return new WireWriter()
                .text(VERSION_FIELD, version)
                .text(ENDPOINT, endpoint)
                .text(RESOURCE, resource)
                .message(OPTIONS, options.written())
                .bytes();
    }
}
