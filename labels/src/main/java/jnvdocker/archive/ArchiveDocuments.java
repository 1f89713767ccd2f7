package jnvdocker.archive;

import jnvdocker.words.Quote;

import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * The JSON documents of a tar, by name. Which of them matter is said in one that tends to come
 * last, so that all are kept, as far as that goes, and the largest are let go first: those that
 * matter are small, and what else is JSON in an archive (bills of materials) is not.
 *
 * <p>The tar is read to its end, even when all that matters has been seen: only then is it known
 * that nothing is there twice, and writers put what matters last anyway. Names only identify
 * documents, and are never used as paths.
 */
final class ArchiveDocuments {
    static final String MANIFEST = "manifest.json";
    static final String INDEX = "index.json";
    static final String LAYOUT = "oci-layout";

    /** No name that matters is longer. */
    private static final int NAME = 160;

    /**
     * How many names of entries that are not documents are remembered, so that a message can say
     * more of one than that it is missing.
     */
    private static final int OTHERS = 20_000;

    /** Bytes that a document takes beside itself and its name. */
    private static final int OVERHEAD = 128;

    /** The kind of an entry that is no document; goes on after its name. */
    private enum Other {
        NOT_REGULAR("is a link or another special file, which is not followed"),
        LARGE("is too large for what it should be"),
        NOT_JSON("is not JSON"),
        TWICE("occurs twice");

        private final String words;

        Other(String words) {
            this.words = words;
        }
    }

    private final ArchiveLimits limits;
    private final Map<String, byte[]> documents = new HashMap<>();
    private final Map<String, Other> others = new HashMap<>();
    private final PriorityQueue<String> largest =
            new PriorityQueue<>(Comparator.comparingInt(this::size).reversed());
    private long kept;
    private boolean letGo;

    private ArchiveDocuments(ArchiveLimits limits) {
        this.limits = limits;
    }

    /**
     * @throws BadArchiveException when it is no tar, damaged, or beyond the limits
     */
    static ArchiveDocuments read(InputStream file, ArchiveLimits limits)
            throws BadArchiveException {
        ArchiveDocuments documents = new ArchiveDocuments(limits);
        try (InputStream unpacked = UnpackedStream.of(file, limits)) {
            documents.readTar(unpacked);
        } catch (Metered.ExcessException e) {
            throw new BadArchiveException(e.getMessage(), BadArchiveException.LOAD, e);
        } catch (IOException | RuntimeException e) {
            // For a file that is damaged on purpose the library has other exceptions, too.
            throw new BadArchiveException(
                    "is damaged, cut short, or no archive (" + reason(e) + ")",
                    BadArchiveException.SAVE_AGAIN,
                    e);
        }
        return documents;
    }

    private static String reason(Exception e) {
        String message = e.getMessage();
        return message == null || message.isBlank()
                ? "it cannot be unpacked"
                : Quote.shown(message.replaceFirst("[.]$", ""));
    }

    private void readTar(InputStream unpacked) throws IOException, BadArchiveException {
        Metered metered = new Metered(unpacked);
        var tar = new TarArchiveInputStream(metered, StandardCharsets.UTF_8.name());
        byte[] passed = new byte[1 << 16];
        int count = 0;
        while (true) {
            metered.allow(limits.headers(), "has an entry with headers of absurd length");
            TarArchiveEntry entry = tar.getNextEntry();
            metered.allowAll();
            if (entry == null) {
                break;
            }
            if (!entry.isCheckSumOK()) {
                throw new IOException("a checksum is wrong");
            }
            count++;
            if (count > limits.entries()) {
                throw new Metered.ExcessException(
                        "holds more than %,d files".formatted(limits.entries()));
            }
            if (entry.isSparse()) {
                // A few compressed bytes may stand for petabytes of zeros.
                throw new BadArchiveException(
                        "has the sparse file " + Quote.shown(entry.getName()) + " in it",
                        BadArchiveException.SAVE_AGAIN);
            }
            take(entry, tar);
            while (tar.read(passed) >= 0) {
                // A layer, most likely.
            }
        }
        if (count == 0) {
            throw new BadArchiveException(
                    "is empty, or no tar archive", BadArchiveException.SAVE_AGAIN);
        }
    }

    private void take(TarArchiveEntry entry, TarArchiveInputStream tar) throws IOException {
        String name = entry.getName();
        name = name.startsWith("./") ? name.substring(2) : name;
        if (entry.isDirectory() || name.isEmpty() || name.length() > NAME) {
            return;
        }
        if (documents.containsKey(name) || others.containsKey(name)) {
            others.put(name, Other.TWICE);
        } else if (!isRegular(entry)) {
            note(name, Other.NOT_REGULAR);
        } else if (entry.getSize() > limits.document()) {
            note(name, Other.LARGE);
        } else {
            int first = tar.read();
            if ("{[ \t\r\n".indexOf(first) >= 0) {
                keep(name, withFirst(first, tar));
            } else {
                note(name, Other.NOT_JSON);
            }
        }
    }

    private void note(String name, Other what) {
        if (others.size() < OTHERS) {
            others.put(name, what);
        }
    }

    private int size(String name) {
        return documents.get(name).length + 2 * name.length() + OVERHEAD;
    }

    private static boolean isRegular(TarArchiveEntry entry) {
        byte kind = entry.getLinkFlag();
        return kind == 0 || kind == '0' || kind == '7';
    }

    private static byte[] withFirst(int first, InputStream rest) throws IOException {
        byte[] others = rest.readAllBytes();
        byte[] all = new byte[others.length + 1];
        all[0] = (byte) first;
        System.arraycopy(others, 0, all, 1, others.length);
        return all;
    }

    private void keep(String name, byte[] document) {
        documents.put(name, document);
        if (Set.of(MANIFEST, INDEX, LAYOUT).contains(name)) {
            return;
        }
        largest.add(name);
        kept += size(name);
        while (kept > limits.documents()) {
            String dropped = largest.remove();
            kept -= size(dropped);
            documents.remove(dropped);
            letGo = true;
        }
    }

    /** Whether one of the documents that are never let go is there, of whatever kind. */
    boolean has(String name) {
        return documents.containsKey(name) || others.containsKey(name);
    }

    /**
     * @throws BadArchiveException when there is no such document, or not exactly one
     */
    byte[] get(String name) throws BadArchiveException {
        Other other = others.get(name);
        if (other != null) {
            String remedy =
                    other == Other.LARGE
                            ? BadArchiveException.LOAD
                            : BadArchiveException.SAVE_AGAIN;
            throw new BadArchiveException(
                    "its file " + Quote.shown(name) + " " + other.words, remedy);
        }
        byte[] document = documents.get(name);
        if (document == null && letGo) {
            throw new BadArchiveException(
                    "its file "
                            + Quote.shown(name)
                            + " is missing, or among more JSON than is read",
                    BadArchiveException.LOAD);
        }
        if (document == null) {
            throw new BadArchiveException(
                    "its file " + Quote.shown(name) + " is missing",
                    BadArchiveException.SAVE_AGAIN);
        }
        return document;
    }
}
