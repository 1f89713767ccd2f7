package jnvdocker.volume;

import jnvdocker.host.Host;
import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.GraphicsFiles;
import jnvdocker.volume.files.LdCache;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * A few numbers that change when names in a volume come or go, or its manifest does: cheap enough
 * to compare at the start of every container.
 */
record DirectoryStamp(List<Part> parts) {
    /** Two changes within one tick of the kernel's clock, at most 10 ms, get the same time. */
    private static final Duration TICKS = Duration.ofMillis(100);

    private record Part(Object inode, FileTime changed, long size) {}

    /**
     * @throws IOException when one of the directories or the manifest is not there
     */
    static DirectoryStamp of(Path volume) throws IOException {
        List<Part> parts = new ArrayList<>();
        parts.add(part(volume));
        parts.add(part(volume.resolve(Manifest.NAME)));
        for (Directory directory : Directory.values()) {
            parts.add(part(volume.resolve(directory.toString())));
        }
        for (String directory :
                GraphicsFiles.directories(List.copyOf(GraphicsFiles.targets().keySet()))) {
            try {
                parts.add(part(volume.resolve(directory)));
            } catch (NoSuchFileException e) {
                // Not every driver has such files.
            }
        }
        return new DirectoryStamp(parts);
    }

    /**
     * The same for the places on the host that a volume's files are from: these change when a
     * library of the driver is installed there, as does the loader's cache.
     */
    static DirectoryStamp ofSources(Host host, Manifest manifest) throws IOException {
        Set<String> places = new TreeSet<>(Set.of(LdCache.PATH));
        for (Manifest.Content file : manifest.contents()) {
            places.add(file.source().replaceFirst("/[^/]*$", ""));
        }
        List<Part> parts = new ArrayList<>();
        for (String place : places) {
            try {
                parts.add(part(host.resolve(place)));
            } catch (NoSuchFileException e) {
                // What has gone from the host is no fault of the volume.
            }
        }
        return new DirectoryStamp(parts);
    }

    /** Whether a change after that instant shows in the stamp. */
    boolean isReliableAt(Instant taken) {
        Instant settled = taken.minus(TICKS);
        return parts.stream().allMatch(part -> part.changed().toInstant().isBefore(settled));
    }

    private static Part part(Path path) throws IOException {
        BasicFileAttributes attributes =
                Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
        return new Part(attributes.fileKey(), attributes.lastModifiedTime(), attributes.size());
    }
}
