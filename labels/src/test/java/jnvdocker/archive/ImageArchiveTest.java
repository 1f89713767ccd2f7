package jnvdocker.archive;

import static jnvdocker.archive.TestingArchive.config;
import static jnvdocker.archive.TestingArchive.descriptor;
import static jnvdocker.archive.TestingArchive.digest;
import static jnvdocker.archive.TestingArchive.index;
import static jnvdocker.archive.TestingArchive.manifest;
import static jnvdocker.archive.TestingArchive.named;
import static jnvdocker.archive.TestingArchive.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import jnvdocker.labels.ImageConfig;
import jnvdocker.words.Quote;

import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Every layout that programs write. */
class ImageArchiveTest {
    private static final Platform HERE = new Platform("linux", "amd64");
    private static final String CONFIG = config("amd64", "12.4");
    private static final String OTHER = config("amd64", "11.8");
    private static final String ARM = config("arm64", "12.9");

    private static ArchivedImage only(byte[] archive) throws BadArchiveException {
        return ImageArchive.read(new ByteArrayInputStream(archive)).choose(Optional.empty(), HERE);
    }

    private static String cuda(byte[] archive, String name) throws BadArchiveException {
        return ImageArchive.read(new ByteArrayInputStream(archive))
                .choose(Optional.of(name), HERE)
                .config()
                .labels()
                .get("com.nvidia.cuda.version");
    }

    private static void assertRefused(String message, byte[] archive, String... name) {
        var error =
                assertThrows(
                        BadArchiveException.class,
                        () ->
                                ImageArchive.read(new ByteArrayInputStream(archive))
                                        .choose(List.of(name).stream().findFirst(), HERE));
        assertEquals(message, error.getMessage());
    }

    /** An archive as Docker before 25 writes it, links between layers included. */
    private static TestingArchive saved() {
        return new TestingArchive()
                .directory("0a1b")
                .file("0a1b/VERSION", "1.0")
                .file("0a1b/json", "{\"id\": \"0a1b\"}")
                .file("0a1b/layer.tar", new byte[20_000])
                .link("2c3d/layer.tar", "../0a1b/layer.tar", (byte) '2')
                .file(digest(CONFIG) + ".json", CONFIG)
                .file("manifest.json", saved("cuda:12.4", digest(CONFIG) + ".json"))
                .file("repositories", "{\"cuda\": {\"12.4\": \"0a1b\"}}");
    }

    private static String saved(String tag, String config) {
        return "[" + entry("[\"" + tag + "\"]", config) + "]";
    }

    private static String entry(String tags, String config) {
        return "{\"Config\": \"%s\", \"RepoTags\": %s, \"Layers\": [\"0a1b/layer.tar\"]}"
                .formatted(config, tags);
    }

    /** An OCI layout with these blobs beside the index; all configurations are among them. */
    private static TestingArchive layout(String index, String... blobs) {
        TestingArchive archive = new TestingArchive().directory("blobs").directory("blobs/sha256");
        for (String blob : blobs) {
            archive.blob(blob);
        }
        return archive.blob(CONFIG).blob(OTHER).blob(ARM).file("index.json", index).layout();
    }

    @Test
    void dockerArchiveHasItsConfigNamedInItsManifest() throws Exception {
        ArchivedImage image = only(saved().plain());
        assertEquals("cuda:12.4", image.name());
        assertEquals("linux/amd64", image.platform().toString());
        assertEquals(
                Map.of("PATH", "/bin", "NVIDIA_VISIBLE_DEVICES", "all"),
                image.config().environment());
        assertEquals(
                Map.of("com.nvidia.cuda.version", "12.4", "empty", ""), image.config().labels());
    }

    @Test
    void compressedArchiveIsTheSame() throws Exception {
        assertEquals(only(saved().plain()), only(saved().gzip()));
        assertEquals(only(saved().plain()), only(saved().zstd()));
    }

    @Test
    void gzipInSeveralMembersIsOneArchive() throws Exception {
        byte[] plain = saved().plain();
        ByteArrayOutputStream both = new ByteArrayOutputStream();
        both.writeBytes(TestingArchive.gzip(Arrays.copyOf(plain, 3000)));
        both.writeBytes(TestingArchive.gzip(Arrays.copyOfRange(plain, 3000, plain.length)));
        assertEquals("cuda:12.4", only(both.toByteArray()).name());
    }

    @Test
    void configMayComeAfterTheManifestAndHaveOtherNames() throws Exception {
        for (String name : List.of("sha256:" + digest(CONFIG), "config.json", "a/b c/ä.json")) {
            byte[] archive =
                    new TestingArchive()
                            .file("./manifest.json", saved("cuda", name))
                            .file("./" + name, "\n" + CONFIG)
                            .plain();
            if (name.startsWith("sha256")) {
                assertRefused(
                        "its file %s is not what its name says: its SHA-256 is %s; save the image"
                                        .formatted(Quote.shown(name), digest("\n" + CONFIG))
                                + " again with docker save",
                        archive);
            } else {
                assertEquals("cuda", only(archive).name());
            }
        }
    }

    @Test
    void imageWithoutANameIsCalledByItsId() throws Exception {
        byte[] archive =
                new TestingArchive()
                        .blob(CONFIG)
                        .file(
                                "manifest.json",
                                "[" + entry("null", "blobs/sha256/" + digest(CONFIG)) + "]")
                        .plain();
        assertEquals(digest(CONFIG).substring(0, 12), only(archive).name());
    }

    @Test
    void ofSeveralImagesOneIsNamed() throws Exception {
        byte[] archive =
                new TestingArchive()
                        .blob(CONFIG)
                        .blob(OTHER)
                        .file(
                                "manifest.json",
                                "["
                                        + entry(
                                                "[\"cuda:12.4\", \"cuda:latest\"]",
                                                "blobs/sha256/" + digest(CONFIG))
                                        + ","
                                        + entry("[\"lab/old:11\"]", "blobs/sha256/" + digest(OTHER))
                                        + "]")
                        .plain();
        assertRefused(
                "has several images: cuda:12.4, lab/old:11; name one of them with --image",
                archive);
        assertRefused(
                "has no image 'cuda:13'; it has cuda:12.4, lab/old:11; name one of these with"
                        + " --image",
                archive,
                "cuda:13");
        assertEquals("12.4", cuda(archive, "cuda"));
        assertEquals("12.4", cuda(archive, "docker.io/library/cuda:12.4"));
        assertEquals("11.8", cuda(archive, "lab/old:11"));
    }

    @Test
    void layoutHasItsManifestInItsIndex() throws Exception {
        String manifest = manifest(CONFIG);
        byte[] archive =
                layout(
                                index(descriptor(manifest, named("docker.io/library/cuda:latest"))),
                                manifest)
                        .plain();
        assertEquals("docker.io/library/cuda:latest", only(archive).name());
        assertEquals("12.4", cuda(archive, "cuda"));
    }

    @Test
    void platformIsThisMachines() throws Exception {
        String amd = manifest(CONFIG);
        String arm = manifest(ARM);
        String attestation = manifest("{}");
        String inner =
                index(
                        descriptor(attestation, platform("unknown", "unknown")),
                        descriptor(arm, platform("linux", "arm64")),
                        descriptor(amd, platform("linux", "amd64")));
        byte[] archive =
                layout(index(descriptor(inner, named("cuda:1"))), inner, amd, arm, attestation)
                        .plain();
        assertEquals("12.4", cuda(archive, "cuda:1"));
        assertEquals("linux/amd64", only(archive).platform().toString());
        // Where the index does not name platforms, the configurations do.
        byte[] silent = layout(index(descriptor(arm, ""), descriptor(amd, "")), amd, arm).plain();
        assertEquals("one without a name", only(silent).name());
        assertEquals("linux/amd64", only(silent).platform().toString());
    }

    @Test
    void imageForOtherMachinesAloneIsRefused() {
        String arm = manifest(ARM);
        assertRefused(
                "has no image for this machine, which is linux/amd64; it has linux/arm64; save the"
                        + " one for this machine (docker pull --platform linux/amd64)",
                layout(index(descriptor(arm, "")), arm).plain());
    }

    @Test
    void bothLayoutsInOneAreOneImage() throws Exception {
        String manifest = manifest(CONFIG);
        byte[] archive =
                layout(index(descriptor(manifest, "")), manifest)
                        .file("manifest.json", saved("cuda:1", "blobs/sha256/" + digest(CONFIG)))
                        .plain();
        assertEquals("cuda:1", only(archive).name());
    }

    @Test
    void manifestThatIsNoImageIsPassedOver() throws Exception {
        String signature =
                manifest(CONFIG).replace("\"mediaType\": \"\"", "\"mediaType\": \"text/x\"");
        String manifest = manifest(OTHER);
        byte[] archive =
                layout(
                                index(descriptor(signature, ""), descriptor(manifest, "")),
                                signature,
                                manifest)
                        .plain();
        assertEquals("11.8", only(archive).config().labels().get("com.nvidia.cuda.version"));
    }

    @Test
    void imageMayHaveNoSettingsAtAll() throws Exception {
        for (String config : List.of("{}", "{\"config\": null}", "{\"config\": {\"Env\": null}}")) {
            byte[] archive =
                    new TestingArchive()
                            .file("c.json", config)
                            .file("manifest.json", saved("plain", "c.json"))
                            .plain();
            assertEquals(ImageConfig.of(null, null), only(archive).config());
        }
    }
}
