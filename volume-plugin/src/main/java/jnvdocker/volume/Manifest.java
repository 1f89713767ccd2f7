package jnvdocker.volume;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.json.JsonMapper;

import jnvdocker.labels.DriverVersion;
import jnvdocker.posix.RegularFile;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.DriverFiles.LeftOut;
import jnvdocker.volume.files.GraphicsFiles;
import jnvdocker.volume.files.MalformedFileException;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The contents of a driver volume, as {@code manifest.json} in it lists them. It is written last: a
 * directory with a valid one is whole.
 *
 * @param format {@value #FORMAT}; a later one that is read differently gets another number
 * @param version the driver's
 * @param graphics those beneath {@code share}
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record Manifest(
        int format,
        String version,
        List<Entry> files,
        List<DriverLink> links,
        List<DataEntry> graphics,
        List<LeftOut> leftOut) {
    static final String NAME = "manifest.json";

    private static final int FORMAT = 1;
    static final int MAX_SIZE = 16 << 20;
    private static final Pattern PLAIN = Pattern.compile("(?!\\.)[A-Za-z0-9_.+-]{1,255}");
    private static final JsonMapper MAPPER = new JsonMapper();

    /**
     * A file.
     *
     * @param size in bytes
     * @param source where it came from, as the host spells it
     */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record Entry(
            Directory directory, String name, long size, CopyMethod cloned, String source) {}

    /**
     * A graphics file.
     *
     * @param path in the volume, with {@code share} before it
     * @param size in bytes
     * @param source where it came from, as the host spells it
     */
    @JsonIgnoreProperties(ignoreUnknown = true)
    public record DataEntry(String path, long size, CopyMethod cloned, String source) {}

    /**
     * Any file of the volume.
     *
     * @param path in the volume
     */
    public record Content(String path, long size, CopyMethod cloned, String source) {}

    public Manifest {
        files = List.copyOf(files);
        links = List.copyOf(links);
        graphics = List.copyOf(graphics);
        leftOut = List.copyOf(leftOut);
    }

    static Manifest of(DriverFiles found, List<Entry> files, List<DataEntry> graphics) {
        return new Manifest(
                FORMAT, found.version().text(), files, found.links(), graphics, found.leftOut());
    }

    /** Every file, those of the directory {@code share} last. */
    public List<Content> contents() {
        return Stream.concat(
                        files.stream()
                                .map(file ->
                                        new Content(
                                                file.directory() + "/" + file.name(),
                                                file.size(),
                                                file.cloned(),
                                                file.source())),
                        graphics.stream()
                                .map(file ->
                                        new Content(
                                                file.path(),
                                                file.size(),
                                                file.cloned(),
                                                file.source())))
                .toList();
    }

    /**
     * @throws MalformedFileException when it is not a manifest of that driver's volume
     */
    static Manifest read(Path directory, DriverVersion version) throws IOException {
        Path file = directory.resolve(NAME);
        if (Files.size(file) > MAX_SIZE) {
            throw new MalformedFileException("larger than 16 MiB");
        }
        return parse(
                RegularFile.readOwn(file, MAX_SIZE)
                        .orElseThrow(() -> new NoSuchFileException(file.toString())),
                version);
    }

    static Manifest parse(byte[] json, DriverVersion version) throws MalformedFileException {
        Manifest manifest;
        try {
            manifest = MAPPER.readValue(json, Manifest.class);
        } catch (JacksonException e) {
            throw new MalformedFileException("not a manifest: " + e.getOriginalMessage());
        } catch (IOException e) {
            throw new MalformedFileException("not a manifest: " + e.getMessage());
        }
        if (manifest == null || manifest.format() != FORMAT) {
            throw new MalformedFileException("not a manifest of format " + FORMAT);
        }
        if (!version.text().equals(manifest.version())) {
            throw new MalformedFileException("a manifest of driver " + manifest.version());
        }
        manifest.checkNames();
        return manifest;
    }

    /** Puts it on disk and waits until it is there. */
    void write(Path directory) throws IOException {
        DefaultPrettyPrinter pretty = new DefaultPrettyPrinter();
        pretty.indentArraysWith(DefaultIndenter.SYSTEM_LINEFEED_INSTANCE);
        byte[] json = MAPPER.writer(pretty).writeValueAsBytes(this);
        Path file = directory.resolve(NAME);
        Files.write(file, json, StandardOpenOption.CREATE_NEW);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.force(true);
        }
    }

    private void checkNames() throws MalformedFileException {
        for (Entry entry : files) {
            if (entry.directory() == null || entry.cloned() == null || entry.source() == null) {
                throw new MalformedFileException("a file without directory, origin or source");
            }
            checkPlain(entry.name());
        }
        for (DataEntry entry : graphics) {
            if (!GraphicsFiles.targets().containsKey(entry.path())) {
                throw new MalformedFileException(
                        "not a graphics file of a driver: '" + entry.path() + "'");
            }
            if (entry.cloned() == null || entry.source() == null) {
                throw new MalformedFileException("a graphics file without origin or source");
            }
        }
        for (DriverLink link : links) {
            if (link.directory() == null) {
                throw new MalformedFileException("a link without directory");
            }
            checkPlain(link.name());
            checkPlain(link.target());
        }
    }

    private static void checkPlain(String name) throws MalformedFileException {
        if (name == null || !PLAIN.matcher(name).matches()) {
            throw new MalformedFileException("not the name of a library: '" + name + "'");
        }
    }
}
