package jnvdocker.kubernetes.kubelet;

import io.grpc.MethodDescriptor;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/**
 * The calls between a kubelet and its plugins. Their messages are bytes here, and are read where
 * they are used: a malformed one then gets an answer that says so.
 */
public final class Calls {
    /** The service of a kubelet that plugins register at. */
    public static final String REGISTRATION = "v1beta1.Registration";

    /** The service of a plugin. */
    public static final String PLUGIN = "v1beta1.DevicePlugin";

    /** The service of a kubelet that reports which containers have devices. */
    public static final String LISTER = "v1.PodResourcesLister";

    public static final MethodDescriptor<byte[], byte[]> REGISTER = unary(REGISTRATION, "Register");

    public static final MethodDescriptor<byte[], byte[]> OPTIONS =
            unary(PLUGIN, "GetDevicePluginOptions");

    public static final MethodDescriptor<byte[], byte[]> LIST_AND_WATCH =
            streaming(PLUGIN, "ListAndWatch");

    public static final MethodDescriptor<byte[], byte[]> PREFERRED =
            unary(PLUGIN, "GetPreferredAllocation");

    public static final MethodDescriptor<byte[], byte[]> ALLOCATE = unary(PLUGIN, "Allocate");

    public static final MethodDescriptor<byte[], byte[]> START = unary(PLUGIN, "PreStartContainer");

    public static final MethodDescriptor<byte[], byte[]> LIST = unary(LISTER, "List");

    private Calls() {}

    /** A call with one request and one answer. */
    public static MethodDescriptor<byte[], byte[]> unary(String service, String name) {
        return call(service, name, MethodDescriptor.MethodType.UNARY);
    }

    /** A call with one request and any number of answers. */
    public static MethodDescriptor<byte[], byte[]> streaming(String service, String name) {
        return call(service, name, MethodDescriptor.MethodType.SERVER_STREAMING);
    }

    private static MethodDescriptor<byte[], byte[]> call(
            String service, String name, MethodDescriptor.MethodType type) {
        return MethodDescriptor.newBuilder(new Bytes(), new Bytes())
                .setFullMethodName(MethodDescriptor.generateFullMethodName(service, name))
                .setType(type)
                .build();
    }

    /** gRPC bounds what it reads. */
    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] message) {
            return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
