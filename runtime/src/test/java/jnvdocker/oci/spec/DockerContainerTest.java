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
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** Where docker keeps what it knows of a container and its image. */
class DockerContainerTest {
    private static final String ID = "5c1a".repeat(16);
    private static final String OTHER = "0b2f".repeat(16);

    @TempDir Path root;

    private static RuntimeSpec mounting(String... sources) throws Exception {
        StringBuilder mounts = new StringBuilder();
        for (String source : sources) {
            mounts.append(mounts.isEmpty() ? "" : ",")
                    .append("{\"destination\":\"/etc/hosts\",\"source\":\"")
                    .append(source)
                    .append("\"}");
        }
        return RuntimeSpec.parse("{\"mounts\":[" + mounts + "]}");
    }

    /** {@code --network container:OTHER} has the other's files mounted. */
    @ParameterizedTest
    @CsvSource({
        "/d/containers/ID/hosts, /d",
        "/d/containers/OTHER/hostname, /d",
        "/containers/containers/OTHER/resolv.conf, /containers",
        "/d/containers/OTHER/passwd, ",
        "/d/containers/shared/hosts, ",
        "/d/volumes/OTHER/hosts, ",
        "/containers/ID/hosts, "
    })
    void dataRootIsFoundByTheContainersOwnFilesOrAnothers(String source, String directory)
            throws Exception {
        RuntimeSpec spec = mounting(source.replace("ID", ID).replace("OTHER", OTHER));
        assertEquals(
                Optional.ofNullable(directory).map(Path::of), DockerContainer.dataRoot(spec, ID));
    }

    @Test
    void ownFilesCountBeforeAnothers() throws Exception {
        RuntimeSpec spec =
                mounting("/users/containers/" + OTHER + "/hosts", "/d/containers/" + ID + "/hosts");
        assertEquals(Optional.of(Path.of("/d")), DockerContainer.dataRoot(spec, ID));
    }

    /** Its user has mounted files in place of all of docker's. */
    @ParameterizedTest
    @CsvSource({
        "/d/overlay2/5c1a/merged, overlay2, /d",
        "/d/vfs/dir/5c1a, vfs, /d",
        "/d/rootfs/overlayfs/5c1a, overlayfs, /d",
        "/d/overlay2/5c1a/merged, , ",
        "/d/merged, overlay2, "
    })
    void dataRootIsFoundByTheRoot(String path, String driver, String directory) throws Exception {
        DockerContainer container =
                DockerContainer.parse(
                                RuntimeSpec.parse("{\"root\":{\"path\":\"" + path + "\"}}"),
                                "{\"ID\":\"%s\",\"Driver\":\"%s\"}"
                                        .formatted(ID, Objects.requireNonNullElse(driver, "")),
                                "{}")
                        .orElseThrow();
        assertEquals(Optional.ofNullable(directory).map(Path::of), container.dataRoot());
    }

    /** Else all that the user has said would count as the image's, and be left out. */
    @Test
    void imageIsKnownInTheNetworkOfAnotherContainer() throws Exception {
        byte[] config =
                "{\"config\":{\"Labels\":{\"jnvdocker.owner\":\"the image\"}}}"
                        .getBytes(StandardCharsets.UTF_8);
        String digest =
                HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(config));
        Path images = root.resolve("image/overlay2/imagedb/content/sha256");
        Files.createDirectories(images);
        Files.write(images.resolve(digest), config);
        DockerContainer container =
                DockerContainer.parse(
                                mounting(root + "/containers/" + OTHER + "/hosts"),
                                "{\"ID\":\"%s\",\"Image\":\"sha256:%s\",\"Driver\":\"overlay2\"}"
                                        .formatted(ID, digest),
                                "{}")
                        .orElseThrow();
        assertEquals(
                Optional.of(Map.of("jnvdocker.owner", "the image")),
                new ImageFiles().of(container).map(ImageConfig::labels));
        Files.writeString(images.resolve(digest), "{}");
        assertEquals(Optional.empty(), new ImageFiles().of(container));
    }
}
