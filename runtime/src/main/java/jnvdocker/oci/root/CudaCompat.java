package jnvdocker.oci.root;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.container.CompatLibraries;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.docker.engine.TrialContainer;
import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.ForeignDirectory;
import jnvdocker.posix.ForeignRoot;
import jnvdocker.volume.DirectoryTree;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Decides whether the CUDA libraries of a newer driver that an image has at {@value #DIRECTORY}
 * (CUDA's forward compatibility) come before the host's, as NVIDIA's toolkit decides it: if they
 * are newer than the host's driver, and either name its branch in their ELF note, or have no note
 * and are of a newer branch.
 */
public final class CudaCompat {
    static final String DIRECTORY = "/usr/local/cuda/compat";

    private static final Pattern CUDA =
            Pattern.compile("libcuda\\.so\\.([0-9]{1,6}(?:\\.[0-9]{1,6}){1,3})");
    private static final Pattern LIBRARY = Pattern.compile("lib[A-Za-z0-9_+-]+\\.so(\\.[0-9]+)?");
    private static final String NOTE = ".note.cuda.fwd_compatibility";
    private static final int MOST_NAMES = 256;
    private static final int MOST_SECTIONS = 1024;
    private static final int MOST_BYTES = 64 << 10;
    private static final int SECTION = 64;
    private static final int SHT_NOTE = 7;
    private static final int NOTE_HEADER = 12;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private CudaCompat() {}

    /** Decides it for an image that the engine has, as for a container of it. */
    public static boolean isUsed(DockerEngine engine, String image, DriverVersion host)
            throws IOException {
        Path root = Files.createTempDirectory("jnvdocker-image");
        try {
            Path directory = Files.createDirectories(root.resolve(DIRECTORY.substring(1)));
            return TrialContainer.of(image)
                            .copy(engine, DIRECTORY, CUDA.asMatchPredicate(), directory)
                    && of(root, host).isUsed();
        } finally {
            DirectoryTree.delete(root);
        }
    }

    /**
     * @param root of a container, which nothing runs in yet
     * @param host the loaded driver
     */
    public static CompatLibraries of(Path root, DriverVersion host) {
        try (ForeignRoot opened = ForeignRoot.open(root)) {
            Optional<ForeignDirectory> found = opened.linkedDirectory(DIRECTORY);
            if (found.isEmpty()) {
                return CompatLibraries.NONE;
            }
            try (ForeignDirectory directory = found.get()) {
                List<String> names = directory.names(MOST_NAMES);
                List<String> cuda = names.stream().filter(CUDA.asMatchPredicate()).toList();
                return cuda.size() == 1 && isUsed(directory, cuda.getFirst(), host)
                        ? new CompatLibraries(
                                DIRECTORY,
                                names.stream().filter(LIBRARY.asMatchPredicate()).toList())
                        : CompatLibraries.NONE;
            }
        } catch (IOException e) {
            // The host's libraries are those that fit.
            return CompatLibraries.NONE;
        }
    }

    private static boolean isUsed(ForeignDirectory directory, String name, DriverVersion host)
            throws IOException {
        Matcher matcher = CUDA.matcher(name);
        if (!matcher.matches()) {
            return false;
        }
        DriverVersion version = DriverVersion.parse(matcher.group(1));
        try (FileChannel library = directory.channel(name)) {
            Optional<JsonNode> note = note(library);
            if (note.isEmpty()) {
                return version.branch() > host.branch();
            }
            for (JsonNode branch : note.get().path("Driver")) {
                if (branch.asInt() == host.branch()) {
                    return version.compareTo(host) > 0;
                }
            }
            return false;
        }
    }

    /** Returns the note's JSON; empty if there is none. */
    static Optional<JsonNode> note(FileChannel library) throws IOException {
        ByteBuffer header = read(library, 0, 64);
        boolean wide = header.getInt(0) == 0x464c457f && header.get(4) == 2 && header.get(5) == 1;
        int count = Short.toUnsignedInt(header.getShort(60));
        int names = Short.toUnsignedInt(header.getShort(62));
        if (!wide || header.getShort(58) != SECTION || names >= count || count > MOST_SECTIONS) {
            return Optional.empty();
        }
        ByteBuffer sections = read(library, header.getLong(40), count * SECTION);
        ByteBuffer texts = section(library, sections, names);
        byte[] wanted = (NOTE + "\0").getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < count; i++) {
            int name = sections.getInt(i * SECTION);
            boolean named =
                    name >= 0
                            && name <= texts.limit() - wanted.length
                            && texts.slice(name, wanted.length).equals(ByteBuffer.wrap(wanted));
            if (sections.getInt(i * SECTION + 4) == SHT_NOTE && named) {
                return json(section(library, sections, i), sections.getLong(i * SECTION + 48));
            }
        }
        return Optional.empty();
    }

    private static Optional<JsonNode> json(ByteBuffer note, long align) throws IOException {
        if (note.limit() < NOTE_HEADER) {
            return Optional.empty();
        }
        long unit = align == 8 ? 8 : 4;
        long name = Integer.toUnsignedLong(note.getInt(0));
        long size = Integer.toUnsignedLong(note.getInt(4));
        long at = NOTE_HEADER + (name + unit - 1) / unit * unit;
        if (at + size > note.limit()) {
            return Optional.empty();
        }
        byte[] text = new byte[(int) size];
        note.get((int) at, text);
        return Optional.of(
                JSON.readTree(new String(text, StandardCharsets.UTF_8).strip().replace("\0", "")));
    }

    private static ByteBuffer section(FileChannel library, ByteBuffer sections, int index)
            throws IOException {
        long size = sections.getLong(index * SECTION + 32);
        if (size < 0 || size > MOST_BYTES) {
            throw new IOException("a section of " + size + " bytes");
        }
        return read(library, sections.getLong(index * SECTION + 24), (int) size);
    }

    private static ByteBuffer read(FileChannel library, long at, int size) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        if (at < 0) {
            throw new IOException("a position behind the end");
        }
        while (bytes.hasRemaining()) {
            if (library.read(bytes, at + bytes.position()) < 0) {
                throw new IOException("it ends too early");
            }
        }
        return bytes.flip();
    }
}
