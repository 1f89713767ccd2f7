package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import jnvdocker.labels.ImageConfig;
import jnvdocker.words.RefusedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Images' own configurations, as an engine keeps them: in files that are named by their SHA-256, so
 * that nobody can have changed one. The engine itself, which answers no query while it starts, is
 * not needed.
 */
public final class ImageFiles {
    private static final Logger LOG = LoggerFactory.getLogger(ImageFiles.class);
    private static final Pattern ID = Pattern.compile("sha256:([0-9a-f]{64})");
    private static final int LIMIT = 4 << 20;
    private static final int REMEMBERED = 256;
    private static final int SHORT = 16 << 10;

    /** The memory of a variable besides its characters. */
    private static final int MORE = 100;

    private static final String BLOBS = "io.containerd.content.v1.content/blobs/sha256";
    private static final Path CONTAINERD = Path.of("/var/lib/containerd");

    private final Map<String, ImageConfig> known =
            new LinkedHashMap<>(16, 0.75f, true) {
                private static final long serialVersionUID = 1L;

                @Override
                protected boolean removeEldestEntry(Map.Entry<String, ImageConfig> eldest) {
                    return size() > REMEMBERED;
                }
            };

    /**
     * The configuration of a container's image; empty when it is missing, or its digest differs,
     * and for an engine that keeps images otherwise than docker, podman and CRI-O.
     *
     * @param docker empty for a container of another engine
     * @param id of the container
     */
    public Optional<ImageConfig> of(Optional<DockerContainer> docker, RuntimeSpec spec, String id) {
        return docker.isPresent() ? of(docker.get()) : ofStorage(spec, id);
    }

    private static Optional<ImageConfig> ofStorage(RuntimeSpec spec, String id) {
        try {
            Optional<ContainerStorage.ImageConfiguration> its = ContainerStorage.of(spec, id);
            Optional<ObjectNode> config =
                    its.isPresent() ? blob(its.get().file(), its.get().image()) : Optional.empty();
            return config.isPresent() ? Optional.of(config(config.get())) : Optional.empty();
        } catch (IOException | RefusedException e) {
            LOG.debug("the image of container {} is not known: {}", id, e.getMessage());
            return Optional.empty();
        }
    }

    /** Likewise, of a container of docker's. */
    public Optional<ImageConfig> of(DockerContainer container) {
        Matcher id = ID.matcher(container.imageId());
        if (!id.matches() || container.dataRoot().isEmpty()) {
            return Optional.empty();
        }
        String key = container.imageId() + " " + container.manifest().orElse("");
        synchronized (known) {
            if (known.containsKey(key)) {
                return Optional.of(known.get(key));
            }
        }
        try {
            Optional<ImageConfig> found = read(container, container.dataRoot().get(), id.group(1));
            synchronized (known) {
                found.filter(ImageFiles::isShort).ifPresent(config -> known.put(key, config));
            }
            return found;
        } catch (IOException | RefusedException e) {
            LOG.debug("image {} is not known: {}", container.imageId(), e.getMessage());
            return Optional.empty();
        }
    }

    private static Optional<ImageConfig> read(DockerContainer container, Path root, String id)
            throws IOException, RefusedException {
        if (container.driver().matches("[a-z0-9-]{1,32}")) {
            Path drivers =
                    root.resolve("image")
                            .resolve(container.driver())
                            .resolve("imagedb/content/sha256")
                            .resolve(id);
            Optional<ObjectNode> config = blob(drivers, id);
            if (config.isPresent()) {
                return Optional.of(config(config.get()));
            }
        }
        for (Path store : List.of(root.resolve("containerd/daemon"), CONTAINERD)) {
            Path blobs = store.resolve(BLOBS);
            Optional<ObjectNode> manifest =
                    ofDigest(blobs, container.manifest().orElse(container.imageId()));
            Optional<ObjectNode> config =
                    manifest.isPresent()
                            ? ofDigest(
                                    blobs, manifest.get().path("config").path("digest").asText(""))
                            : Optional.empty();
            if (config.isPresent()) {
                return Optional.of(config(config.get()));
            }
        }
        return Optional.empty();
    }

    private static Optional<ObjectNode> ofDigest(Path blobs, String digest)
            throws IOException, RefusedException {
        Matcher id = ID.matcher(digest);
        return id.matches() ? blob(blobs.resolve(id.group(1)), id.group(1)) : Optional.empty();
    }

    private static ImageConfig config(ObjectNode file) throws RefusedException {
        JsonNode config = file.path("config");
        return ImageConfig.of(
                SpecJson.map(config.path("Labels")), SpecJson.texts(config.path("Env")));
    }

    /** Empty when there is no such file, or another one. */
    private static Optional<ObjectNode> blob(Path file, String id)
            throws IOException, RefusedException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        byte[] bytes;
        try (InputStream in =
                Files.newInputStream(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            bytes = in.readNBytes(LIMIT + 1);
        }
        if (bytes.length > LIMIT || !sha256(bytes).equals(id)) {
            return Optional.empty();
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        return Optional.of(SpecJson.object(text, "image configuration", ImageFiles::isRead));
    }

    /** Whether a configuration may be cached: long ones would take too much memory together. */
    private static boolean isShort(ImageConfig config) {
        int length = config.labels().values().stream().mapToInt(String::length).sum();
        for (Map.Entry<String, String> variable : config.environment().entrySet()) {
            length += MORE + variable.getKey().length() + variable.getValue().length();
        }
        return length < SHORT;
    }

    private static boolean isRead(String parent, String member) {
        return parent == null
                ? member.equals("config")
                : DockerContainer.isOfConfig(parent, member);
    }

    private static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has it", e);
        }
    }
}
