package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.DataFile;
import jnvdocker.volume.files.DriverFiles.DriverFile;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.Folder;
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
     * @param folder does not exist yet; after a failure its contents are not a volume
     */
    void build(DriverFiles files, Path folder) throws IOException {
        makeFolder(folder);
        for (Folder sub : Folder.values()) {
            makeFolder(folder.resolve(sub.toString()));
        }
        for (DriverFile file : files.files()) {
            cloner.add(host.resolve(file.source()), path(folder, file), file.size());
        }
        List<String> share =
                GraphicsFiles.folders(files.graphics().stream().map(DataFile::inVolume).toList());
        for (String sub : share) {
            makeFolder(folder.resolve(sub));
        }
        Map<String, Long> rewritten = new HashMap<>();
        for (DataFile file : files.graphics()) {
            Path source = host.resolve(file.source());
            Optional<String> text = rewritten(file.inVolume(), source);
            if (text.isPresent()) {
                Path made = Files.writeString(folder.resolve(file.inVolume()), text.get());
                Files.setPosixFilePermissions(made, ANYONE_READS);
                sync(made);
                rewritten.put(file.inVolume(), Files.size(made));
            } else {
                cloner.add(source, folder.resolve(file.inVolume()), file.size());
            }
        }
        cloner.copy(folder);
        for (DriverLink link : files.links()) {
            Path path = folder.resolve(link.folder().toString()).resolve(link.name());
            Files.createSymbolicLink(path, Path.of(link.target()));
        }
        for (Folder sub : Folder.values()) {
            sync(folder.resolve(sub.toString()));
        }
        for (String sub : share) {
            sync(folder.resolve(sub));
        }
        Manifest.of(files, entries(files, folder), graphics(files, folder, rewritten))
                .write(folder);
        Files.setPosixFilePermissions(folder.resolve(Manifest.NAME), ANYONE_READS);
        sync(folder);
    }

    /** Waits until the names in a directory are on disk. */
    static void sync(Path folder) throws IOException {
        try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private List<Manifest.Entry> entries(DriverFiles files, Path folder) {
        return files.files().stream()
                .map(file ->
                        new Manifest.Entry(
                                file.folder(),
                                file.name(),
                                file.size(),
                                cloner.way(path(folder, file)),
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
            DriverFiles files, Path folder, Map<String, Long> rewritten) {
        return files.graphics().stream()
                .map(file ->
                        new Manifest.DataEntry(
                                file.inVolume(),
                                rewritten.getOrDefault(file.inVolume(), file.size()),
                                rewritten.containsKey(file.inVolume())
                                        ? CopyMethod.COPY
                                        : cloner.way(folder.resolve(file.inVolume())),
                                file.source()))
                .toList();
    }

    /** Users in containers must get in, whatever the umask of this process. */
    private static void makeFolder(Path folder) throws IOException {
        Files.createDirectory(folder);
        Files.setPosixFilePermissions(folder, ANYONE_ENTERS);
    }

    private static Path path(Path folder, DriverFile file) {
        return folder.resolve(file.folder().toString()).resolve(file.name());
    }
}
