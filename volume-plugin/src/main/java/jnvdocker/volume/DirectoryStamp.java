package jnvdocker.volume;

import jnvdocker.volume.files.Directory;
import jnvdocker.volume.files.GraphicsFiles;

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
