package jnvdocker.oci.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import jnvdocker.labels.ImageConfig;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;

/** The directories are as podman 4.3 has them. */
class ContainerStorageTest {
    private static final String ID = "b".repeat(64);
    private static final String LAYER = "c".repeat(64);

    @TempDir private Path storage;

    private Optional<Map<String, String>> variables(String root) throws Exception {
        String spec = "{\"root\":{\"path\":\"" + storage + "/" + root + "\"}}";
        return new ImageFiles()
                .of(Optional.empty(), RuntimeSpec.parse(spec), ID)
                .map(ImageConfig::environment);
    }

    /** Returns the file of the image's configuration. */
    private Path image(String driver, String list) throws Exception {
        byte[] config =
                "{\"config\":{\"Env\":[\"A=1\",\"B=2\"]},\"history\":[{\"x\":1}]}"
                        .getBytes(StandardCharsets.UTF_8);
        String image =
                HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(config));
        String name =
                "="
                        + Base64.getEncoder()
                                .encodeToString(
                                        ("sha256:" + image).getBytes(StandardCharsets.UTF_8));
        Path file = storage.resolve(driver + "-images").resolve(image).resolve(name);
        Files.createDirectories(file.getParent());
        Files.write(file, config);
        Path containers = Files.createDirectories(storage.resolve(driver + "-containers"));
        Files.writeString(
                containers.resolve(list),
                """
                [{"id":"%s","names":["other"],"image":"%s","layer":"%s"},
                 {"id":"%s","names":["x"],"image":"%s","layer":"%s","metadata":"{\\"image-id\\":1}",
                  "created":"2026-11-30T08:41:45Z","flags":{"MountLabel":"","ProcessLabel":""}}]\
                """
                        .formatted(
                                "d".repeat(64), "e".repeat(64), "f".repeat(64), ID, image, LAYER));
        return file;
    }

    @ParameterizedTest
    @CsvSource({
        "overlay, overlay/%s/merged, containers.json",
        "overlay, overlay/%s/merged, volatile-containers.json",
        "vfs, vfs/dir/%s, containers.json",
        "btrfs, btrfs/subvolumes/%s, containers.json"
    })
    void imageOfAContainerIsKnown(String driver, String root, String list) throws Exception {
        image(driver, list);
        assertEquals(Optional.of(Map.of("A", "1", "B", "2")), variables(root.formatted(LAYER)));
    }

    @Test
    void imageThatIsGoneOrChangedOrOfAnotherEngineIsNotKnown() throws Exception {
        String root = "overlay/" + LAYER + "/merged";
        assertEquals(Optional.empty(), variables(root));
        Path file = image("overlay", "containers.json");
        assertEquals(Optional.empty(), variables("bundle/rootfs"));
        Files.writeString(file, "{\"config\":{\"Env\":[]}}");
        assertEquals(Optional.empty(), variables(root));
    }

    @ParameterizedTest
    @CsvSource({"[", "{}", "null", "'[]}'", "'[{\"id\":1}]'"})
    void listThatCannotBeReadNamesNoImage(String text) throws Exception {
        image("overlay", "containers.json");
        Files.writeString(storage.resolve("overlay-containers/containers.json"), text);
        assertEquals(Optional.empty(), variables("overlay/" + LAYER + "/merged"));
    }

    /** Who may write it could make any image a container's. */
    @Test
    void listThatOthersMayWriteDoesNotCount() throws Exception {
        image("overlay", "containers.json");
        Path list = storage.resolve("overlay-containers/containers.json");
        Files.setPosixFilePermissions(list, PosixFilePermissions.fromString("rw-rw-rw-"));
        assertEquals(Optional.empty(), variables("overlay/" + LAYER + "/merged"));
    }
}
