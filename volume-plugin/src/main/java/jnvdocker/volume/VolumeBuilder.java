package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.DataFile;
import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.GraphicsFiles;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Fills one directory with a driver's files. */
final class VolumeBuilder {
    private static final Set<PosixFilePermission> ANYONE_ENTERS =
            PosixFilePermissions.fromString("rwxr-xr-x");
    private static final Set<PosixFilePermission> ANYONE_READS =
            PosixFilePermissions.fromString("rw-r--r--");

    private final Host host;
    private final FileCloner cloner;

    VolumeBuilder(Host host, FileCloner cloner) {
        this.host = host;
        this.cloner = cloner;
    }

    /**
     * On return all of it is on disk.
     *
     * @param directory does not exist yet; after a failure its contents are not a volume
     */
    void build(DriverFiles files, Path directory) throws IOException {
        makeDirectory(directory);
        for (Directory sub : Directory.values()) {
            makeDirectory(directory.resolve(sub.toString()));
        }
        for (DriverFile file : files.files()) {
            cloner.add(host.resolve(file.source()), path(directory, file), file.size());
        }
        List<String> share =
                GraphicsFiles.directories(
                        files.graphics().stream().map(DataFile::inVolume).toList());
        for (String sub : share) {
            makeDirectory(directory.resolve(sub));
        }
        Map<String, Long> rewritten = new HashMap<>();
        for (DataFile file : files.graphics()) {
            Path source = host.resolve(file.source());
            Optional<String> text = rewritten(file.inVolume(), source);
            if (text.isPresent()) {
                Path made = Files.writeString(directory.resolve(file.inVolume()), text.get());
                Files.setPosixFilePermissions(made, ANYONE_READS);
                sync(made);
                rewritten.put(file.inVolume(), Files.size(made));
            } else {
                cloner.add(source, directory.resolve(file.inVolume()), file.size());
            }
        }
        cloner.copy(directory);
        for (DriverLink link : files.links()) {
            Path path = directory.resolve(link.directory().toString()).resolve(link.name());
            Files.createSymbolicLink(path, Path.of(link.target()));
        }
        for (Directory sub : Directory.values()) {
            sync(directory.resolve(sub.toString()));
        }
        for (String sub : share) {
            sync(directory.resolve(sub));
        }
        Manifest.of(files, entries(files, directory), graphics(files, directory, rewritten))
                .write(directory);
        Files.setPosixFilePermissions(directory.resolve(Manifest.NAME), ANYONE_READS);
        sync(directory);
    }

    /** Waits until the names in a directory are on disk. */
    static void sync(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private List<Manifest.Entry> entries(DriverFiles files, Path directory) {
        return files.files().stream()
                .map(file ->
                        new Manifest.Entry(
                                file.directory(),
                                file.name(),
                                file.size(),
                                cloner.way(path(directory, file)),
                                file.source()))
                .toList();
    }

    /** The content that a file gets in place of the host's; empty if it gets the host's. */
    static Optional<String> rewritten(String inVolume, Path source) throws IOException {
        return inVolume.endsWith(".json")
                ? GraphicsFiles.withoutPaths(Files.readString(source))
                : Optional.empty();
    }

    private List<Manifest.DataEntry> graphics(
            DriverFiles files, Path directory, Map<String, Long> rewritten) {
        return files.graphics().stream()
                .map(file ->
                        new Manifest.DataEntry(
                                file.inVolume(),
                                rewritten.getOrDefault(file.inVolume(), file.size()),
                                rewritten.containsKey(file.inVolume())
                                        ? CopyMethod.COPY
                                        : cloner.way(directory.resolve(file.inVolume())),
                                file.source()))
                .toList();
    }

    /** Users in containers must get in, whatever the umask of this process. */
    private static void makeDirectory(Path directory) throws IOException {
        Files.createDirectory(directory);
        Files.setPosixFilePermissions(directory, ANYONE_ENTERS);
    }

    private static Path path(Path directory, DriverFile file) {
        return directory.resolve(file.directory().toString()).resolve(file.name());
    }
}
