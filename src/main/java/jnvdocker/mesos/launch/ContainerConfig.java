package jnvdocker.mesos.launch;

import com.google.protobuf.ByteString;

import jnvdocker.labels.ImageConfig;
import jnvdocker.wire.WireMessage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The configuration of a container, as its agent writes it down before the launch: the message
 * {@code ContainerConfig} of Mesos, as far as it concerns us. The numbers of its fields are the
 * same in every Mesos that writes the file.
 *
 * @param directory its sandbox on the host
 * @param user the user that it runs as; empty for that of the agent
 * @param rootfs its root on the host; empty for a container on the host's own file system
 * @param image empty without an image, or with one that is not Docker's
 * @param commandTask whether a command executor runs it
 * @param debug whether it is a health check or a session in another container
 */
public record ContainerConfig(
        String directory,
        String user,
        Optional<String> rootfs,
        Optional<ImageConfig> image,
        boolean commandTask,
        boolean debug,
        List<Resource> resources) {
    /** The message's length. */
    private static final int HEADER = 4;

    private static final int DIRECTORY = 3;
    private static final int USER = 4;
    private static final int ROOTFS = 5;
    private static final int DOCKER = 7;
    private static final int DOCKER_MANIFEST = 1;
    private static final int MANIFEST_CONFIG = 9;
    private static final int CONFIG_ENV = 3;
    private static final int CONFIG_LABELS = 9;
    private static final int LABEL_KEY = 1;
    private static final int LABEL_VALUE = 2;
    private static final int TASK_INFO = 9;
    private static final int RESOURCES = 13;
    private static final int RESOURCE_NAME = 1;
    private static final int RESOURCE_SCALAR = 3;
    private static final int SCALAR_VALUE = 1;
    private static final int RESOURCE_SET = 5;
    private static final int SET_ITEM = 1;
    private static final int CONTAINER_CLASS = 14;
    private static final int CLASS_DEBUG = 2;

    public ContainerConfig {
        resources = List.copyOf(resources);
    }

    /**
     * @param scalar 0 for a resource of another type
     * @param items those of a set
     */
    public record Resource(String name, double scalar, List<String> items) {
        public Resource {
            items = List.copyOf(items);
        }
    }

    /**
     * @param file the message's length in four bytes, the lowest first, and the message
     * @throws IOException when it is cut short, or no such message
     */
    static ContainerConfig parse(byte[] file) throws IOException {
        if (file.length < HEADER) {
            throw new IOException("it is cut short");
        }
        int length = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getInt();
        if (length != file.length - HEADER) {
            throw new IOException(
                    "it says that it has %s bytes, and has %s"
                            .formatted(Integer.toUnsignedLong(length), file.length - HEADER));
        }
        return of(WireMessage.parse(ByteString.copyFrom(file, HEADER, length)));
    }

    private static ContainerConfig of(WireMessage config) throws IOException {
        List<Resource> resources = new ArrayList<>();
        for (WireMessage resource : config.messages(RESOURCES)) {
            resources.add(resource(resource));
        }
        return new ContainerConfig(
                config.text(DIRECTORY).orElse(""),
                config.text(USER).orElse(""),
                config.text(ROOTFS),
                image(config),
                config.has(TASK_INFO),
                config.number(CONTAINER_CLASS) == CLASS_DEBUG,
                resources);
    }

    private static Resource resource(WireMessage resource) throws IOException {
        Optional<WireMessage> scalar = resource.message(RESOURCE_SCALAR);
        Optional<WireMessage> set = resource.message(RESOURCE_SET);
        return new Resource(
                resource.text(RESOURCE_NAME).orElse(""),
                scalar.map(it -> it.real(SCALAR_VALUE)).orElse(0.0),
                set.map(it -> it.texts(SET_ITEM)).orElse(List.of()));
    }

    private static Optional<ImageConfig> image(WireMessage config) throws IOException {
        Optional<WireMessage> docker = config.message(DOCKER);
        if (docker.isEmpty()) {
            return Optional.empty();
        }
        Optional<WireMessage> manifest = docker.get().message(DOCKER_MANIFEST);
        Optional<WireMessage> image =
                manifest.isEmpty() ? manifest : manifest.get().message(MANIFEST_CONFIG);
        if (image.isEmpty()) {
            return Optional.of(ImageConfig.of(null, null));
        }
        Map<String, String> labels = new LinkedHashMap<>();
        for (WireMessage label : image.get().messages(CONFIG_LABELS)) {
            labels.put(label.text(LABEL_KEY).orElse(""), label.text(LABEL_VALUE).orElse(""));
        }
        return Optional.of(ImageConfig.of(labels, image.get().texts(CONFIG_ENV)));
    }
}
