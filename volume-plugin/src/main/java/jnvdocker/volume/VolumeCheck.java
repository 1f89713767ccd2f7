package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.labels.DriverVersion;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.DriverFiles;
import jnvdocker.volume.files.DriverFiles.DriverLink;
import jnvdocker.volume.files.DriverVolumeException;
import jnvdocker.volume.files.GraphicsFiles;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Compares the directory of a volume with its manifest. */
final class VolumeCheck {
    private final Path volume;
    private final Manifest manifest;

    VolumeCheck(Path volume, Manifest manifest) {
        this.volume = volume;
        this.manifest = manifest;
    }

    /**
     * Lists files that are missing or of another size. Reads the attributes of every file, opens
     * none.
     */
    List<String> damage() throws IOException {
        List<String> problems = new ArrayList<>();
        for (Manifest.Content entry : manifest.contents()) {
            checkSize(entry, problems);
        }
        for (DriverLink link : manifest.links()) {
            checkLink(link, problems);
        }
        return problems;
    }

    /**
     * As {@link #damage}, and files that are superfluous. As long as the host has the files of this
     * driver, also those that differ from the host's, or are new there.
     */
    List<String> verify(Host host) throws IOException {
        List<String> problems = damage();
        checkExtras(problems);
        DriverFiles now;
        try {
            now = DriverFiles.find(host, DriverVersion.parse(manifest.version()));
        } catch (DriverVolumeException e) {
            // Between an upgrade and the reboot, the host's files are those of another driver.
            return problems;
        }
        for (Manifest.Content entry : manifest.contents()) {
            checkContent(entry, host, problems);
        }
        checkComplete(now, problems);
        return problems;
    }

    /** Whether the host has all files that are in the volume, and more. */
    boolean isOutdated(Host host) throws IOException {
        DriverFiles now;
        try {
            now = DriverFiles.find(host, DriverVersion.parse(manifest.version()));
        } catch (DriverVolumeException e) {
            // An installer at work, or another driver than the loaded one.
            return false;
        }
        Set<Path> there = new HashSet<>();
        now.files().forEach(file -> there.add(path(file.directory(), file.name())));
        now.graphics().forEach(file -> there.add(volume.resolve(file.inVolume())));
        Set<Path> known = new HashSet<>();
        manifest.contents().forEach(entry -> known.add(volume.resolve(entry.path())));
        return there.size() > known.size() && there.containsAll(known);
    }

    private void checkSize(Manifest.Content entry, List<String> problems) throws IOException {
        Path file = volume.resolve(entry.path());
        try {
            BasicFileAttributes attributes =
                    Files.readAttributes(
                            file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            if (!attributes.isRegularFile()) {
                problems.add(file + " is not a regular file");
            } else if (attributes.size() != entry.size()) {
                problems.add(
                        file + " has " + attributes.size() + " bytes instead of " + entry.size());
            }
        } catch (NoSuchFileException e) {
            problems.add(file + " is missing");
        }
    }

    private void checkLink(DriverLink link, List<String> problems) throws IOException {
        Path file = path(link.directory(), link.name());
        if (!Files.isSymbolicLink(file)) {
            problems.add(file + " is missing");
        } else if (!Files.readSymbolicLink(file).toString().equals(link.target())) {
            problems.add(file + " leads elsewhere than to " + link.target());
        } else if (!Files.exists(
                path(link.directory(), link.target()), LinkOption.NOFOLLOW_LINKS)) {
            problems.add(file + " leads to " + link.target() + ", which is missing");
        }
    }

    private void checkExtras(List<String> problems) throws IOException {
        Set<Path> known = new HashSet<>();
        known.add(volume.resolve(Manifest.NAME));
        List<Path> directories = directories();
        known.addAll(directories);
        manifest.contents().forEach(entry -> known.add(volume.resolve(entry.path())));
        manifest.links().forEach(link -> known.add(path(link.directory(), link.name())));
        checkExtras(volume, known, problems);
        for (Path directory : directories) {
            checkExtras(directory, known, problems);
        }
    }

    private List<Path> directories() {
        List<String> graphics = manifest.graphics().stream().map(Manifest.DataEntry::path).toList();
        return Stream.concat(
                        Stream.of(Directory.values()).map(Directory::toString),
                        GraphicsFiles.directories(graphics).stream())
                .map(volume::resolve)
                .toList();
    }

    private static void checkExtras(Path directory, Set<Path> known, List<String> problems)
            throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
            for (Path file : files) {
                if (!known.contains(file)) {
                    problems.add(file + " does not belong there");
                }
            }
        } catch (NoSuchFileException e) {
            problems.add(directory + " is missing");
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
    }

    /** A file that the host no longer has is no fault of the volume. */
    private void checkContent(Manifest.Content entry, Host host, List<String> problems)
            throws IOException {
        Path file = volume.resolve(entry.path());
        Path source;
        try {
            source = host.resolve(entry.source());
        } catch (FileSystemLoopException e) {
            return;
        }
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) || !Files.isRegularFile(source)) {
            return;
        }
        Optional<String> rewritten = VolumeBuilder.rewritten(entry.path(), source);
        boolean differs =
                rewritten.isPresent()
                        ? !rewritten.get().equals(Files.readString(file))
                        : !Files.isSameFile(file, source) && Files.mismatch(file, source) >= 0;
        if (differs) {
            problems.add(file + " differs from the host's " + source);
        }
    }

    /** A volume that was made amid an installation, or before its repair, lacks what came then. */
    private void checkComplete(DriverFiles now, List<String> problems) {
        Set<Path> known = new HashSet<>();
        manifest.contents().forEach(entry -> known.add(volume.resolve(entry.path())));
        for (DriverFiles.DriverFile file : now.files()) {
            Path there = path(file.directory(), file.name());
            if (!known.contains(there)) {
                problems.add(newer(there, file.source()));
            }
        }
        for (DriverFiles.DataFile file : now.graphics()) {
            Path there = volume.resolve(file.inVolume());
            if (!known.contains(there)) {
                problems.add(newer(there, file.source()));
            }
        }
    }

    private static String newer(Path there, String source) {
        return there + " is missing: the host has got " + source + " since";
    }

    private Path path(Directory directory, String name) {
        return volume.resolve(directory.toString()).resolve(name);
    }
}
