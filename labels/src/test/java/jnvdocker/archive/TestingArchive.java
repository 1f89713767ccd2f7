package jnvdocker.archive;

import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.zip.GZIPOutputStream;

/** Writes archives of images, well-formed ones and others. */
final class TestingArchive {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private final TarArchiveOutputStream tar = new TarArchiveOutputStream(bytes, "UTF-8");

    TestingArchive() {
        tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
        tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
    }

    /** An image's configuration, which requests this CUDA version. */
    static String config(String architecture, String cuda) {
        return """
        {"architecture": "%s", "os": "linux", "container_config": {"Env": ["A=no"]},
         "config": {"Env": ["PATH=/bin", "NVIDIA_VISIBLE_DEVICES=all"], "Cmd": ["sh"],
                    "Labels": {"com.nvidia.cuda.version": "%s", "empty": null}},
         "history": [{"created_by": "x"}], "rootfs": {"diff_ids": ["sha256:0"]}}
        """
                .formatted(architecture, cuda);
    }

    static String digest(String text) {
        try {
            byte[] raw = text.getBytes(StandardCharsets.UTF_8);
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(raw));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    /**
     * The descriptor of an OCI document in another one; {@code more} is more JSON, after a comma.
     */
    static String descriptor(String text, String more) {
        return "{\"mediaType\": \"\", \"digest\": \"sha256:%s\", \"size\": %d%s}"
                .formatted(digest(text), text.length(), more);
    }

    static String index(String... descriptors) {
        return "{\"schemaVersion\": 2, \"manifests\": [" + String.join(",", descriptors) + "]}";
    }

    static String manifest(String config) {
        return "{\"schemaVersion\": 2, \"layers\": [{\"digest\": \"sha256:0\"}], \"config\": "
                + descriptor(config, "")
                + "}";
    }

    static String named(String name) {
        return ", \"annotations\": {\"io.containerd.image.name\": \"" + name + "\"}";
    }

    static String platform(String os, String architecture) {
        return ", \"platform\": {\"os\": \"%s\", \"architecture\": \"%s\"}"
                .formatted(os, architecture);
    }

    TestingArchive file(String name, String text) {
        return file(name, text.getBytes(StandardCharsets.UTF_8));
    }

    TestingArchive file(String name, byte[] content) {
        return put(new TarArchiveEntry(name), content);
    }

    /** Adds a document by its digest, as in an OCI layout. */
    TestingArchive blob(String text) {
        return file("blobs/sha256/" + digest(text), text);
    }

    TestingArchive layout() {
        return file("oci-layout", "{\"imageLayoutVersion\": \"1.0.0\"}");
    }

    TestingArchive link(String name, String target, byte kind) {
        TarArchiveEntry entry = new TarArchiveEntry(name, kind);
        entry.setLinkName(target);
        return put(entry, new byte[0]);
    }

    TestingArchive directory(String name) {
        return put(new TarArchiveEntry(name + "/"), new byte[0]);
    }

    TestingArchive put(TarArchiveEntry entry, byte[] content) {
        try {
            entry.setSize(content.length);
            // The bytes are the same whenever and by whomever they are written.
            entry.setModTime(0);
            entry.setUserName("");
            tar.putArchiveEntry(entry);
            tar.write(content);
            tar.closeArchiveEntry();
            return this;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] plain() {
        try {
            tar.close();
            return bytes.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    byte[] gzip() {
        return gzip(plain());
    }

    byte[] zstd() {
        return zstd(plain());
    }

    static byte[] gzip(byte[] raw) {
        return compressed(raw, GZIPOutputStream::new);
    }

    static byte[] zstd(byte[] raw) {
        return compressed(raw, ZstdOutputStreamNoFinalizer::new);
    }

    private interface Compressor {
        OutputStream around(OutputStream out) throws IOException;
    }

    private static byte[] compressed(byte[] raw, Compressor compressor) {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (OutputStream out = compressor.around(packed)) {
            out.write(raw);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return packed.toByteArray();
    }
}
