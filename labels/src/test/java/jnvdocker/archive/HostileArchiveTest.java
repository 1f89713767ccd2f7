package jnvdocker.archive;

import static jnvdocker.archive.TestingArchive.config;
import static jnvdocker.archive.TestingArchive.descriptor;
import static jnvdocker.archive.TestingArchive.digest;
import static jnvdocker.archive.TestingArchive.index;
import static jnvdocker.archive.TestingArchive.manifest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.words.Quote;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.Random;

/** Archives that are broken, by accident or on purpose. */
class HostileArchiveTest {
    private static final Platform HERE = new Platform("linux", "amd64");
    private static final String CONFIG = config("amd64", "12.4");
    private static final String MANIFEST =
            "[{\"Config\": \"" + digest(CONFIG) + ".json\", \"RepoTags\": [\"cuda:1\"]}]";
    private static final String AGAIN = "; save the image again with docker save";
    private static final String LOAD = "; load it (docker load -i FILE) and name the image instead";

    private static final ArchiveLimits SMALL =
            new ArchiveLimits(1 << 20, 50, 1 << 16, 2000, 8000, 100_000, 20);

    private static TestingArchive good() {
        return new TestingArchive()
                .file(digest(CONFIG) + ".json", CONFIG)
                .file("manifest.json", MANIFEST);
    }

    private static String refusal(InputStream file, ArchiveLimits limits) {
        return assertThrows(
                        BadArchiveException.class,
                        () -> ImageArchive.read(file, limits).choose(Optional.empty(), HERE))
                .getMessage();
    }

    private static String refusal(byte[] archive) {
        return refusal(new ByteArrayInputStream(archive), ArchiveLimits.STANDARD);
    }

    private static String refusalWithin(ArchiveLimits limits, byte[] archive) {
        return refusal(new ByteArrayInputStream(archive), limits);
    }

    private static void assertDamaged(String message) {
        assertTrue(message.startsWith("is damaged, cut short, or no archive ("), message);
        assertTrue(message.endsWith(")" + AGAIN), message);
    }

    @Test
    void filesThatAreNoArchiveAreRefused() {
        assertEquals("is empty, or no tar archive" + AGAIN, refusal(new byte[0]));
        assertEquals("is empty, or no tar archive" + AGAIN, refusal(new byte[10_240]));
        assertDamaged(refusal("FROM scratch\n".repeat(100).getBytes(StandardCharsets.UTF_8)));
        byte[] noise = new byte[100_000];
        new Random(1).nextBytes(noise);
        assertDamaged(refusal(noise));
        assertEquals(
                "is not an image archive: it has neither manifest.json nor index.json; make one"
                        + " with docker save",
                refusal(new TestingArchive().file("etc/passwd", "root:x:0").plain()));
    }

    @Test
    void compressionThatIsNotReadIsNamed() {
        assertEquals(
                "is compressed with xz; gzip and zstd are read; unpack it first with xz -d",
                refusal(new byte[] {(byte) 0xfd, '7', 'z', 'X', 'Z', 0, 1, 2}));
        assertEquals(
                "is compressed with bzip2; gzip and zstd are read; unpack it first with bzip2 -d",
                refusal("BZh91AY".getBytes(StandardCharsets.US_ASCII)));
    }

    @Test
    void whereverItIsCutShortThatIsNoticed() {
        byte[] plain = good().plain();
        int end = plain.length;
        while (plain[end - 1] == 0) {
            end--;
        }
        for (int length = 1; length < end; length += 97) {
            refusal(Arrays.copyOf(plain, length));
        }
        byte[] gzip = good().gzip();
        for (int length = 1; length < gzip.length - 60; length += 13) {
            refusal(Arrays.copyOf(gzip, length));
        }
        byte[] zstd = good().zstd();
        for (int length = 1; length < zstd.length - 60; length += 13) {
            refusal(Arrays.copyOf(zstd, length));
        }
    }

    /** Any change leads to an answer or a refusal, and nothing else. */
    @Test
    void changedBytesAreNoMoreThanARefusal() {
        Random random = new Random(2);
        for (byte[] whole : new byte[][] {good().plain(), good().gzip(), good().zstd()}) {
            for (int i = 0; i < 2000; i++) {
                byte[] changed = whole.clone();
                for (int change = 0; change < 3; change++) {
                    changed[random.nextInt(Math.min(changed.length, 4000))] =
                            (byte) random.nextInt();
                }
                try {
                    ImageArchive.read(new ByteArrayInputStream(changed))
                            .choose(Optional.empty(), HERE);
                } catch (BadArchiveException e) {
                    assertTrue(e.getMessage().contains("; "), e.getMessage());
                }
            }
        }
    }

    @Test
    void wrongDigestIsNoticed() {
        assertEquals(
                "its file "
                        + Quote.shown(digest(CONFIG) + ".json")
                        + " is not what its name says: its SHA-256 is "
                        + digest("{}")
                        + AGAIN,
                refusal(
                        new TestingArchive()
                                .file("manifest.json", MANIFEST)
                                .file(digest(CONFIG) + ".json", "{}")
                                .plain()));
    }

    @Test
    void missingDuplicateAndLinkedFilesAreNamed() {
        String name = Quote.shown(digest(CONFIG) + ".json");
        assertEquals(
                "its file " + name + " is missing" + AGAIN,
                refusal(new TestingArchive().file("manifest.json", MANIFEST).plain()));
        assertEquals(
                "its file " + name + " occurs twice" + AGAIN,
                refusal(good().file("./" + digest(CONFIG) + ".json", CONFIG).plain()));
        assertEquals(
                "its file manifest.json occurs twice" + AGAIN,
                refusal(good().file("manifest.json", "[]").plain()));
        for (byte kind : new byte[] {'1', '2', '3', '6'}) {
            assertEquals(
                    "its file "
                            + name
                            + " is a link or another special file, which is not followed"
                            + AGAIN,
                    refusal(
                            new TestingArchive()
                                    .link(digest(CONFIG) + ".json", "/etc/shadow", kind)
                                    .file("manifest.json", MANIFEST)
                                    .plain()));
        }
    }

    @Test
    void namesAreNoPaths() {
        assertEquals(
                "its file ../../etc/shadow is missing" + AGAIN,
                refusal(
                        new TestingArchive()
                                .file("manifest.json", "[{\"Config\": \"../../etc/shadow\"}]")
                                .plain()));
        assertEquals(
                "its file a\\u{1b}[2J is missing" + AGAIN,
                refusal(
                        new TestingArchive()
                                .file("manifest.json", "[{\"Config\": \"a\\u001b[2J\"}]")
                                .plain()));
    }

    @Test
    void sparseFileIsRefused() {
        TarArchiveEntry entry = new TarArchiveEntry("layer.tar", TarConstants.LF_GNUTYPE_SPARSE);
        assertEquals(
                "has the sparse file layer.tar in it" + AGAIN,
                refusal(good().put(entry, new byte[0]).plain()));
    }

    @Test
    void brokenJsonIsNamed() {
        for (String json :
                new String[] {
                    "[",
                    "[{]",
                    "{\"Config\": 1}",
                    "[1]",
                    "[{\"Config\": 1}]",
                    "[{}]",
                    "[] []",
                    "[{\"Config\": \"\\ud800\", \"RepoTags\": {}}]",
                    "[".repeat(100_000),
                    "{\"a\":".repeat(100_000)
                }) {
            String message = refusal(new TestingArchive().file("manifest.json", json).plain());
            assertTrue(message.startsWith("its file manifest.json cannot be read: "), message);
        }
    }

    @Test
    void documentIsNotTwoThingsAtOnce() {
        String manifest = manifest(CONFIG);
        String both =
                manifest.replaceFirst("\\{", "{\"manifests\": [" + descriptor(manifest, "") + "],");
        String message =
                refusal(
                        new TestingArchive()
                                .blob(both)
                                .blob(CONFIG)
                                .blob(manifest)
                                .layout()
                                .file("index.json", index(descriptor(both, "")))
                                .plain());
        assertTrue(message.contains("cannot be read: it is two things at once"), message);
    }

    @Test
    void digestOfAnotherKindIsNamed() {
        String index = "{\"manifests\": [{\"digest\": \"sha256:../../manifest.json\"}]}";
        assertEquals(
                "names something by 'sha256:../../manifest.json', which is not a SHA-256" + AGAIN,
                refusal(new TestingArchive().layout().file("index.json", index).plain()));
        assertEquals(
                "is not an OCI image layout: its file oci-layout is missing" + AGAIN,
                refusal(new TestingArchive().file("index.json", index).plain()));
    }

    @Test
    void indexesAreFollowedSoFar() {
        TestingArchive archive = new TestingArchive().layout().blob(CONFIG);
        String document = manifest(CONFIG);
        for (int depth = 0; depth < 5; depth++) {
            archive.blob(document);
            document = index(descriptor(document, ""));
        }
        assertEquals(
                "has indexes nested more than 4 deep" + LOAD,
                refusal(archive.file("index.json", document).plain()));
    }

    /** A few documents of some KiB that would amount to a hundred million images. */
    @Test
    void indexesThatNameEachOtherOftenEnd() {
        TestingArchive archive = new TestingArchive().layout().blob(CONFIG);
        assertTooManyManifests(archive, manifest(CONFIG));
    }

    @Test
    void indexesOfNothingEndAsWell() {
        assertTooManyManifests(new TestingArchive().layout(), index());
    }

    /** Above the document are four indexes, each of which names the one below a hundred times. */
    private static void assertTooManyManifests(TestingArchive archive, String lowest) {
        String document = lowest;
        for (int depth = 0; depth < 4; depth++) {
            archive.blob(document);
            String[] hundred = new String[100];
            Arrays.fill(hundred, descriptor(document, ""));
            document = index(hundred);
        }
        assertEquals(
                "has more than 1000 manifests" + LOAD,
                refusal(archive.file("index.json", document).plain()));
    }

    @Test
    void listsAreBounded() {
        String env = "\"A=b\",".repeat(10_001) + "\"A=b\"";
        String config = "{\"config\": {\"Env\": [" + env + "]}}";
        assertEquals(
                "its file c.json has a list of more than 10,000" + LOAD,
                refusal(
                        new TestingArchive()
                                .file("c.json", config)
                                .file("manifest.json", "[{\"Config\": \"c.json\"}]")
                                .plain()));
    }

    @Test
    void largeDocumentIsNotRead() {
        assertEquals(
                "its file manifest.json is too large for what it should be" + LOAD,
                refusal(
                        new TestingArchive()
                                .file("manifest.json", "[" + " ".repeat(4 << 20) + "]")
                                .plain()));
    }

    @Test
    void ofTooMuchJsonTheLargestIsLetGo() throws Exception {
        TestingArchive archive = new TestingArchive();
        for (int i = 0; i < 8; i++) {
            archive.file("sbom" + i, "{\"x\": \"" + "x".repeat(1500) + "\"}");
        }
        byte[] whole =
                archive.file(digest(CONFIG) + ".json", CONFIG)
                        .file("manifest.json", MANIFEST)
                        .plain();
        ImageArchive.read(new ByteArrayInputStream(whole), SMALL).choose(Optional.empty(), HERE);
        TestingArchive greedy = new TestingArchive();
        for (int i = 0; i < 8; i++) {
            greedy.file("sbom" + i, "{\"x\": \"" + "x".repeat(1500) + "\"}");
        }
        assertEquals(
                "its file sbom0 is missing, or among more JSON than is read" + LOAD,
                refusalWithin(
                        SMALL,
                        greedy.file("manifest.json", "[{\"Config\": \"sbom0\"}]")
                                .file("last", "{\"x\": \"" + "x".repeat(1900) + "\"}")
                                .plain()));
    }

    @Test
    void entriesAreBounded() {
        TestingArchive archive = good();
        for (int i = 0; i < 50; i++) {
            archive.file("layer" + i, "x");
        }
        assertEquals("holds more than 50 files" + LOAD, refusalWithin(SMALL, archive.plain()));
    }

    @Test
    void lengthIsBounded() {
        byte[] layer = new byte[2 << 20];
        new Random(3).nextBytes(layer);
        assertEquals(
                "is larger than 1,048,576 bytes unpacked" + LOAD,
                refusalWithin(SMALL, good().file("layer.tar", layer).plain()));
    }

    @Test
    void bombIsNotUnpacked() {
        byte[] bomb = good().file("layer.tar", new byte[1 << 20]).plain();
        assertEquals(
                "unpacks to more than 20 times its size" + LOAD,
                refusalWithin(SMALL, TestingArchive.gzip(bomb)));
        assertEquals(
                "unpacks to more than 20 times its size" + LOAD,
                refusalWithin(SMALL, TestingArchive.zstd(bomb)));
    }

    /** Long names as GNU tar stores them: in an entry whose content is the next one's name. */
    @Test
    void nameOfGigabytesIsNotGathered() {
        for (byte kind : new byte[] {'L', 'K', 'x'}) {
            TarArchiveEntry name = new TarArchiveEntry("././@LongLink", kind);
            byte[] text = new byte[8 << 20];
            Arrays.fill(text, (byte) '1');
            assertEquals(
                    "has an entry with headers of absurd length" + LOAD,
                    refusal(new TestingArchive().put(name, text).file("x", "y").plain()),
                    () -> "kind " + (char) kind);
        }
    }

    @Test
    void gzipHeaderThatDoesNotEndIsNotGathered() {
        byte[] start = {0x1f, (byte) 0x8b, 8, 8, 0, 0, 0, 0, 0, 3};
        assertEquals(
                "has a gzip header that does not end" + LOAD,
                refusal(new Endless(start, (byte) 'n'), ArchiveLimits.STANDARD));
    }

    /** Skippable frames without end. */
    @Test
    void zstdOfNothingEnds() {
        byte[] skippable =
                ByteBuffer.allocate(16).putInt(0x502a4d18).putInt(0x08000000).putLong(0).array();
        assertEquals(
                "has too much in it that unpacks to nothing" + LOAD,
                refusal(new Repeated(skippable), ArchiveLimits.STANDARD));
    }

    @Test
    void gzipOfNothingEnds() {
        byte[] empty = TestingArchive.gzip(new byte[0]);
        assertEquals(
                "has too much in it that unpacks to nothing" + LOAD,
                refusal(new Repeated(empty), ArchiveLimits.STANDARD));
    }

    /** A start and then one byte without end. */
    private static final class Endless extends InputStream {
        private final byte[] start;
        private final byte rest;
        private int at;

        Endless(byte[] start, byte rest) {
            this.start = start;
            this.rest = rest;
        }

        @Override
        public int read() {
            return (at < start.length ? start[at++] : rest) & 0xff;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            for (int i = 0; i < length; i++) {
                into[offset + i] = (byte) read();
            }
            return length;
        }
    }

    /** Repeats the same bytes without end. */
    private static final class Repeated extends InputStream {
        private final byte[] bytes;
        private int at;

        Repeated(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public int read() {
            return bytes[at++ % bytes.length] & 0xff;
        }
    }
}
