package jnvdocker.oci.spec;

import com.fasterxml.jackson.databind.JsonNode;

import jnvdocker.posix.RegularFile;
import jnvdocker.words.RefusedException;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The directory in which podman and CRI-O keep images and containers, as their library
 * containers/storage lays it out: {@code overlay/LAYER/merged} is the root of a container, {@code
 * overlay-containers} has a list of them, {@code overlay-images} the configurations of images.
 */
final class ContainerStorage {
    private static final Pattern ROOT =
            Pattern.compile(
                    "(?<storage>/.+)/(?<driver>(?!dir/|subvolumes/)[a-z]{1,16})/((dir|subvolumes)/)?"
                        + "[0-9a-f]{64}(/merged)?");

    /** The second has those that are removed when they end. */
    private static final List<String> LISTS =
            List.of("containers.json", "volatile-containers.json");

    private static final List<String> READ = List.of("containers", "id", "image");
    private static final int LIMIT = 4 << 20;

    private ContainerStorage() {}

    /**
     * The file with the configuration of a container's image.
     *
     * @param image its SHA-256 as hexadecimal digits
     */
    record ImageConfiguration(Path file, String image) {}

    /** Finds a container's image; empty for one of another engine. */
    static Optional<ImageConfiguration> of(RuntimeSpec spec, String id)
            throws IOException, RefusedException {
        Matcher root = ROOT.matcher(RuntimeSpec.normal(spec.rootPath()));
        if (!root.matches()) {
            return Optional.empty();
        }
        Path storage = Path.of(root.group("storage"));
        String driver = root.group("driver");
        for (String list : LISTS) {
            Optional<String> image = image(storage.resolve(driver + "-containers/" + list), id);
            if (image.isPresent()) {
                return Optional.of(
                        new ImageConfiguration(
                                storage.resolve(driver + "-images")
                                        .resolve(image.get())
                                        .resolve(name("sha256:" + image.get())),
                                image.get()));
            }
        }
        return Optional.empty();
    }

    private static Optional<String> image(Path list, String id)
            throws IOException, RefusedException {
        Optional<byte[]> bytes = RegularFile.readConfiguration(list, LIMIT);
        if (bytes.isEmpty()) {
            return Optional.empty();
        }
        String text = new String(bytes.get(), StandardCharsets.UTF_8);
        JsonNode containers =
                SpecJson.object(
                                "{\"containers\":" + text + "}",
                                list.toString(),
                                (_, member) -> READ.contains(member))
                        .path("containers");
        for (JsonNode container : containers) {
            String image = container.path("image").asText("");
            if (container.path("id").asText("").equals(id) && DockerContainer.isId(image)) {
                return Optional.of(image);
            }
        }
        return Optional.empty();
    }

    /** The name of the file of a part of an image. */
    private static String name(String part) {
        byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
        return "=" + Base64.getEncoder().encodeToString(bytes);
    }
}
