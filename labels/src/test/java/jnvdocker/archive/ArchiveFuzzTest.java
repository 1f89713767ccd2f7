package jnvdocker.archive;

import static jnvdocker.archive.TestingArchive.config;
import static jnvdocker.archive.TestingArchive.descriptor;
import static jnvdocker.archive.TestingArchive.digest;
import static jnvdocker.archive.TestingArchive.index;
import static jnvdocker.archive.TestingArchive.manifest;
import static jnvdocker.archive.TestingArchive.named;
import static jnvdocker.archive.TestingArchive.platform;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import jnvdocker.labels.Mutations;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

import java.io.ByteArrayInputStream;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/** Any file is an image or is refused in words, with little memory in little time. */
class ArchiveFuzzTest {
    private static final int LONGEST_MESSAGE = 1_000;
    private static final Pattern OF_A_PROGRAMMER =
            Pattern.compile("(?s).*([a-z](Exception|Error)\\b|\\b[a-z]+(\\.[a-z]+)+\\.[A-Z]).*");

    /** A damaged archive of some KiB needs no more, and a machine would have to stop for this. */
    private static final long MOST_BYTES = 128L << 20;

    private static final long MOST_NANOS = 10_000_000_000L;
    private static final Platform HERE = new Platform("linux", "amd64");
    private static final String CONFIG = config("amd64", "12.4");
    private static final List<UnaryOperator<byte[]>> PACKERS =
            List.of(UnaryOperator.identity(), TestingArchive::gzip, TestingArchive::zstd);

    @Property(tries = 2_000, seed = "11")
    void damagedArchivesAreReadOrRefused(@ForAll("archives") byte[] archive) {
        assertReadOrRefused(archive);
    }

    @Provide
    Arbitrary<byte[]> archives() {
        return Mutations.of(
                TarMutations.CORPUS.stream()
                        .flatMap(tar -> PACKERS.stream().map(packer -> packer.apply(tar)))
                        .toList());
    }

    /** Their checksums are right, so that errors get far. */
    @Property(tries = 3_000, seed = "12")
    void tarsOfOddBlocksAreReadOrRefused(@ForAll("tars") byte[] archive) {
        assertReadOrRefused(archive);
    }

    @Provide
    Arbitrary<byte[]> tars() {
        return Combinators.combine(TarMutations.tars(), Arbitraries.of(PACKERS))
                .as((tar, packer) -> packer.apply(tar));
    }

    @Property(tries = 3_000, seed = "13")
    void damagedDocumentsAreReadOrRefused(
            @ForAll("manifests") String manifest,
            @ForAll("configurations") String configuration,
            @ForAll boolean saved) {
        TestingArchive archive = new TestingArchive().blob(configuration).file("c", configuration);
        if (saved) {
            archive.file("manifest.json", manifest);
        } else {
            String document = manifest(configuration);
            archive.layout()
                    .blob(document)
                    .blob(manifest)
                    .file("index.json", index(descriptor(document, ""), descriptor(manifest, "")));
        }
        assertReadOrRefused(archive.plain());
    }

    @Provide
    Arbitrary<String> manifests() {
        return Mutations.ofTexts(
                "[{\"Config\": \"c\", \"RepoTags\": [\"cuda:1\", \"cuda:2\"], \"Layers\": []}]",
                "[{\"Config\": \"c\", \"RepoTags\": null}]",
                "[{\"Config\": \"blobs/sha256/" + digest(CONFIG) + "\", \"RepoTags\": [\"a\"]}]",
                index(descriptor(CONFIG, platform("linux", "arm64") + named("cuda:1"))),
                manifest(CONFIG));
    }

    @Provide
    Arbitrary<String> configurations() {
        return Arbitraries.oneOf(Arbitraries.of(CONFIG), Mutations.ofTexts(CONFIG));
    }

    private static void assertReadOrRefused(byte[] archive) {
        long began = System.nanoTime();
        long before = allocated();
        for (Optional<String> name : List.of(Optional.<String>empty(), Optional.of("cuda:1"))) {
            try {
                ImageArchive.read(new ByteArrayInputStream(archive)).choose(name, HERE);
            } catch (BadArchiveException e) {
                assertReadable(e.getMessage());
            }
        }
        assertTrue(allocated() - before < MOST_BYTES, () -> allocated() - before + " bytes");
        assertTrue(System.nanoTime() - began < MOST_NANOS, "it took too long");
    }

    private static void assertReadable(String message) {
        assertTrue(message.matches("(?s)[a-z'].*; [a-z].*"), message);
        assertTrue(message.length() < LONGEST_MESSAGE, message);
        assertTrue(message.chars().noneMatch(Character::isISOControl), message);
        assertFalse(OF_A_PROGRAMMER.matcher(message).matches(), message);
    }

    private static long allocated() {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        return threads.getCurrentThreadAllocatedBytes();
    }
}
