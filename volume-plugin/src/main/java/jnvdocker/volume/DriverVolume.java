package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.GraphicsFiles;
import jnvdocker.volume.files.MalformedFileException;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The files of one driver version, laid out as a directory that containers get at {@code
 * /usr/local/nvidia}. It was whole when this was made.
 *
 * @param path the directory on this machine
 */
public record DriverVolume(DriverVersion version, Path path, Manifest manifest) {
    /** The beginning of such a volume's name, before an underscore and the version. */
    public static final String KIND = "nvidia_driver";

    /** {@code nvidia_driver_535.104.05}. */
    public static String name(DriverVersion version) {
        return KIND + "_" + version;
    }

    /**
     * @throws IOException when the directory is missing, has no valid manifest or lacks a file; the
     *     message says what
     */
    static DriverVolume open(Path directory, DriverVersion version) throws IOException {
        Manifest manifest = Manifest.read(directory, version);
        List<String> problems = new VolumeCheck(directory, manifest).damage();
        if (!problems.isEmpty()) {
            throw new MalformedFileException(String.join("; ", problems));
        }
        return new DriverVolume(version, directory, manifest);
    }

    /**
     * Its files by which programs find Vulkan, EGL and OptiX: none where the driver was installed
     * without.
     */
    public List<GraphicsFile> graphics() {
        Map<String, String> targets = GraphicsFiles.targets();
        return manifest.graphics().stream()
                .map(Manifest.DataEntry::path)
                .map(file -> new GraphicsFile(Path.of(file), targets.get(file)))
                .toList();
    }

    /**
     * The names in a directory by which programs search for its files: of a file that links lead
     * to, those of the links.
     */
    public List<String> names(Directory directory) {
        List<DriverLink> links =
                manifest.links().stream().filter(link -> link.directory() == directory).toList();
        Set<String> linked = links.stream().map(DriverLink::target).collect(Collectors.toSet());
        return Stream.concat(
                        links.stream().map(DriverLink::name),
                        manifest.files().stream()
                                .filter(file -> file.directory() == directory)
                                .map(Manifest.Entry::name)
                                .filter(name -> !linked.contains(name)))
                .toList();
    }

    /** The sizes of all files together; hard links and reflinks take no room of their own. */
    public long bytes() {
        return manifest.contents().stream().mapToLong(Manifest.Content::size).sum();
    }

    /** How many files came in which way. */
    public Map<CopyMethod, Integer> cloned() {
        Map<CopyMethod, Integer> counts = new TreeMap<>();
        manifest.contents().forEach(entry -> counts.merge(entry.cloned(), 1, Integer::sum));
        return counts;
    }

    /**
     * Whether the host has got files of this driver since the volume was made, and still has those
     * that are in the volume.
     */
    boolean isOutdated(Host host) throws IOException {
        return new VolumeCheck(path, manifest).isOutdated(host);
    }

    /**
     * Compares the volume with its manifest and, byte by byte unless both are one file, with the
     * host's files as far as they still exist. What the host has got since is missing. Reads up to
     * twice {@link #bytes}.
     *
     * @return the faults, in words; empty when there are none
     * @throws IOException when the volume or a file of the host cannot be read
     */
    public List<String> verify(Host host) throws IOException {
        return new VolumeCheck(path, manifest).verify(host);
    }
}
