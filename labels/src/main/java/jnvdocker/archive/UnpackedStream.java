package jnvdocker.archive;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;

import org.apache.commons.compress.compressors.gzip.GzipCompressorInputStream;

import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The tar inside a file that is plain, or compressed with gzip or zstd, as its first bytes show. A
 * file that unpacks to absurd lengths is given up, as is one of which much is read before anything
 * comes out.
 */
final class UnpackedStream extends InputStream {
    private static final int MAGIC = 6;

    /** More than a decompressor reads ahead, and than any of its headers has a use for. */
    private static final int AHEAD = 1 << 20;

    private final ArchiveLimits limits;
    private final Metered packed;
    private final InputStream in;
    private final boolean compressed;
    private long count;

    private UnpackedStream(
            ArchiveLimits limits, Metered packed, InputStream in, boolean compressed) {
        this.limits = limits;
        this.packed = packed;
        this.in = in;
        this.compressed = compressed;
    }

    static UnpackedStream of(InputStream file, ArchiveLimits limits)
            throws IOException, BadArchiveException {
        PushbackInputStream whole = new PushbackInputStream(file, MAGIC);
        byte[] magic = whole.readNBytes(MAGIC);
        whole.unread(magic);
        Metered packed = new Metered(whole);
        String start = HexFormat.of().formatHex(Arrays.copyOf(magic, MAGIC));
        if (start.startsWith("1f8b")) {
            packed.allow(AHEAD, "has a gzip header that does not end");
            var gzip =
                    GzipCompressorInputStream.builder()
                            .setInputStream(packed)
                            .setDecompressConcatenated(true)
                            .get();
            return new UnpackedStream(limits, packed, gzip, true);
        }
        // A frame, or a frame to skip before it.
        if (start.startsWith("28b52ffd") || start.matches("5.2a4d18.*")) {
            return new UnpackedStream(limits, packed, new ZstdInputStreamNoFinalizer(packed), true);
        }
        refuseOthers(start);
        return new UnpackedStream(limits, packed, packed, false);
    }

    private static void refuseOthers(String start) throws BadArchiveException {
        String program =
                switch (start) {
                    case "fd377a585a00" -> "xz";
                    case String bzip2 when bzip2.startsWith("425a68") -> "bzip2";
                    case String lz4 when lz4.startsWith("04224d18") -> "lz4";
                    default -> "";
                };
        if (!program.isEmpty()) {
            throw new BadArchiveException(
                    "is compressed with " + program + "; gzip and zstd are read",
                    "unpack it first with " + program + " -d");
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        if (compressed) {
            packed.allow(AHEAD, "has too much in it that unpacks to nothing");
        }
        int got = in.read(into, offset, Math.min(length, AHEAD / 2));
        count += Math.max(0, got);
        if (count > limits.total()) {
            throw new Metered.ExcessException(
                    "is larger than %,d bytes unpacked".formatted(limits.total()));
        }
        if (count > limits.unsuspicious() && count / limits.ratio() > packed.count()) {
            throw new Metered.ExcessException(
                    "unpacks to more than " + limits.ratio() + " times its size");
        }
        return got;
    }

    @Override
    public void close() throws IOException {
        in.close();
    }
}
