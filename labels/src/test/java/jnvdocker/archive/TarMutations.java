package jnvdocker.archive;

import static jnvdocker.archive.TestingArchive.config;
import static jnvdocker.archive.TestingArchive.descriptor;
import static jnvdocker.archive.TestingArchive.digest;
import static jnvdocker.archive.TestingArchive.index;
import static jnvdocker.archive.TestingArchive.manifest;
import static jnvdocker.archive.TestingArchive.named;

import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Tars with blocks in the wrong place or with other content. A block that resembles the head of a
 * member has a right checksum all the same: a wrong one would end the reading.
 */
final class TarMutations {
    private static final int BLOCK = 512;
    private static final int CHECKSUM = 148;
    private static final int CHECKSUM_LENGTH = 8;
    private static final int MAGIC = 257;
    private static final int SIZE = 124;
    private static final int TYPE = 156;

    /** The offsets of a header's fields: name, mode, size, time, type, link, magic, prefix. */
    private static final int[] FIELDS = {0, 100, SIZE, 136, TYPE, 157, MAGIC, 345};

    private static final String[] VALUES = {
        "\0",
        "77777777777\0",
        "00000000001\0",
        "00000001000\0",
        "00010000000\0",
        "-0000000001\0",
        "8",
        " ",
        "\u0080\0\0\0\0\0\0\0\u00ff\u00ff\u00ff\u00ff",
        "\u0080\0\0\0\177\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff",
        "\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff\u00ff",
        "manifest.json\0",
        "./index.json\0",
        "\u001b[2J/../..\0",
        "\u00ff\u00fe",
        "ustar  \0",
        "ustar\00000",
        "1",
        "2",
        "5",
        "7",
        "g",
        "x",
        "X",
        "K",
        "L",
        "S",
        "D",
        "M",
        "V",
    };

    /** Records of a pax header that make a difference, without their length. */
    private static final String[] RECORDS = {
        "path=manifest.json",
        "size=18",
        "size=-1",
        "size=99999999999999999999",
        "size=9223372036854775807",
        "size=x",
        "GNU.sparse.major=1",
        "GNU.sparse.minor=0",
        "GNU.sparse.realsize=99999",
        "GNU.sparse.map=0,1,2",
        "GNU.sparse.map=0,9223372036854775807",
        "GNU.sparse.size=1e9",
        "GNU.sparse.numblocks=2147483647",
        "GNU.sparse.offset=1",
        "GNU.sparse.numbytes=1",
        "SCHILY.devmajor=x",
        "SCHILY.realsize=x",
        "SCHILY.filetype=sparse",
        "mtime=1e99999999",
        "mtime=.",
        "uid=-99999999999999999999",
        "linkpath=",
        "=",
        "hdrcharset=BINARY",
    };

    /** A docker-archive, a layout, and one with all other members that a tar may hold. */
    static final List<byte[]> CORPUS = corpus();

    /**
     * A change of one block.
     *
     * @param other another block, as target or source, or a field of a header
     */
    private record Change(int kind, double at, double other, String value) {
        void apply(List<byte[]> blocks) {
            if (blocks.isEmpty()) {
                return;
            }
            int from = (int) (at * (blocks.size() - 1));
            int to = (int) (other * (blocks.size() - 1));
            switch (kind) {
                case 0 -> blocks.remove(from);
                case 1 -> blocks.add(to, blocks.get(from).clone());
                case 2 -> blocks.add(to, blocks.remove(from));
                case 3 -> blocks.addAll(to, foreign());
                default -> write(head(blocks, from));
            }
        }

        private List<byte[]> foreign() {
            List<byte[]> blocks = blocks(CORPUS.get((int) (at * (CORPUS.size() - 1))));
            int begin = (int) (at * (blocks.size() - 1));
            return blocks.subList(begin, Math.min(blocks.size(), begin + 4));
        }

        /** The next block that is a head, or else this one. */
        private static byte[] head(List<byte[]> blocks, int from) {
            return blocks.stream()
                    .skip(from)
                    .filter(TarMutations::isHead)
                    .findFirst()
                    .orElse(blocks.get(from));
        }

        private void write(byte[] block) {
            int field = FIELDS[(int) (other * (FIELDS.length - 1) + 0.5)];
            byte[] bytes = value.getBytes(StandardCharsets.ISO_8859_1);
            System.arraycopy(bytes, 0, block, field, Math.min(bytes.length, BLOCK - field));
        }
    }

    private TarMutations() {}

    /** Up to six changes of an archive of the corpus, or of one with a pax header in it. */
    static Arbitrary<byte[]> tars() {
        Arbitrary<Double> part = Arbitraries.doubles().between(0, 1);
        Arbitrary<Change> change =
                Combinators.combine(
                                Arbitraries.integers().between(0, 9),
                                part,
                                part,
                                Arbitraries.of(VALUES))
                        .as(Change::new);
        Arbitrary<byte[]> withRecords =
                Combinators.combine(
                                Arbitraries.of('x', 'g', 'X'),
                                Arbitraries.of(RECORDS).list().ofMinSize(1).ofMaxSize(5),
                                Arbitraries.of(0, 0, 0, 1, -1))
                        .as(TarMutations::withRecords);
        return Combinators.combine(
                        Arbitraries.oneOf(Arbitraries.of(CORPUS), withRecords),
                        change.list().ofMaxSize(6))
                .as(TarMutations::changed);
    }

    private static byte[] changed(byte[] tar, List<Change> changes) {
        List<byte[]> blocks = blocks(tar);
        changes.forEach(change -> change.apply(blocks));
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] block : blocks) {
            if (isHead(block)) {
                sign(block);
            }
            all.writeBytes(block);
        }
        return all.toByteArray();
    }

    private static List<byte[]> blocks(byte[] tar) {
        List<byte[]> blocks = new ArrayList<>();
        for (int at = 0; at < tar.length; at += BLOCK) {
            blocks.add(Arrays.copyOfRange(tar, at, at + BLOCK));
        }
        return blocks;
    }

    private static boolean isHead(byte[] block) {
        return new String(block, MAGIC, 5, StandardCharsets.ISO_8859_1).equals("ustar");
    }

    private static void sign(byte[] head) {
        Arrays.fill(head, CHECKSUM, CHECKSUM + CHECKSUM_LENGTH, (byte) ' ');
        int sum = 0;
        for (byte each : head) {
            sum += each & 0xff;
        }
        byte[] digits = "%06o\0".formatted(sum).getBytes(StandardCharsets.ISO_8859_1);
        System.arraycopy(digits, 0, head, CHECKSUM, digits.length);
    }

    private static byte[] withRecords(char kind, List<String> records, int wrongBy) {
        StringBuilder text = new StringBuilder();
        for (String record : records) {
            text.append(length(record) + wrongBy).append(' ').append(record).append('\n');
        }
        TestingArchive first = new TestingArchive();
        first.put(
                new TarArchiveEntry("PaxHeaders/x", TarConstants.LF_PAX_EXTENDED_HEADER_LC),
                text.toString().getBytes(StandardCharsets.UTF_8));
        byte[] tar = saved(first).file("other.json", "{\"a\": 1}").plain();
        tar[TYPE] = (byte) kind;
        return tar;
    }

    /** The length of a whole record, its own digits included. */
    private static int length(String record) {
        int others = record.length() + 2;
        return others + (others + 1 > 9 ? 2 : 1);
    }

    private static TestingArchive saved() {
        return saved(new TestingArchive());
    }

    private static TestingArchive saved(TestingArchive archive) {
        String config = config("amd64", "12.4");
        return archive.file(digest(config) + ".json", config)
                .file(
                        "manifest.json",
                        "[{\"Config\": \"%s.json\", \"RepoTags\": [\"cuda:1\"]}]"
                                .formatted(digest(config)));
    }

    private static List<byte[]> corpus() {
        String config = config("amd64", "12.4");
        String manifest = manifest(config);
        byte[] layout =
                new TestingArchive()
                        .layout()
                        .directory("blobs")
                        .blob(config)
                        .blob(manifest)
                        .file("index.json", index(descriptor(manifest, named("cuda:1"))))
                        .plain();
        byte[] all =
                saved().directory("layer")
                        .file("layer/layer.tar", new byte[3 * BLOCK + 1])
                        .link("latest", "layer/layer.tar", TarConstants.LF_SYMLINK)
                        .link("same", "layer/layer.tar", TarConstants.LF_LINK)
                        .file("long/" + "x".repeat(200) + ".json", "{}")
                        .plain();
        return List.of(saved().plain(), layout, all);
    }
}
