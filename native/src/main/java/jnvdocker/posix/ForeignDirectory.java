package jnvdocker.posix;

import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * An open directory of a {@link ForeignRoot}. Names are those of its own entries, without a slash;
 * no link among them is followed. What is made here belongs to the directory's owner, which is the
 * container's root also where user ids are mapped.
 */
public final class ForeignDirectory implements AutoCloseable {
    private static final Set<PosixFilePermission> READABLE =
            PosixFilePermissions.fromString("rw-r--r--");

    private static final Set<PosixFilePermission> ENTERABLE =
            PosixFilePermissions.fromString("rwxr-xr-x");

    private static final int S_IFMT = 0xf000;
    private static final int S_IFLNK = 0xa000;
    private static final int S_IFREG = 0x8000;

    private final int descriptor;
    private final Path place;

    /** The directory's owner; empty as long as nothing is made in it. */
    private Map<String, Object> owner = Map.of();

    ForeignDirectory(int descriptor) {
        this.descriptor = descriptor;
        this.place = ForeignRoot.place(descriptor);
    }

    /** The kinds of an entry that make a difference to us. */
    public enum Kind {
        NOTHING,
        LINK,
        EMPTY_FILE,
        FILE,
        OTHER
    }

    public Kind kind(String name) throws IOException {
        try {
            Map<String, Object> status =
                    Files.readAttributes(entry(name), "unix:mode,size", LinkOption.NOFOLLOW_LINKS);
            int type = (int) status.get("mode") & S_IFMT;
            if (type == S_IFREG) {
                return (long) status.get("size") == 0 ? Kind.EMPTY_FILE : Kind.FILE;
            }
            return type == S_IFLNK ? Kind.LINK : Kind.OTHER;
        } catch (NoSuchFileException e) {
            return Kind.NOTHING;
        }
    }

    /** Returns where a link leads, as it is written there. */
    public String target(String name) throws IOException {
        return Files.readSymbolicLink(entry(name)).toString();
    }

    /**
     * Reads a regular file; empty if there is none of that name. Nothing else is opened.
     *
     * @throws IOException when it is something else, or longer than the limit
     */
    public Optional<byte[]> read(String name, int limit) throws IOException {
        try (FileChannel file = channel(name)) {
            if (file.size() > limit) {
                throw new IOException("longer than " + (limit >> 20) + " MiB");
            }
            return Optional.of(Channels.newInputStream(file).readNBytes(limit));
        } catch (NoSuchFileException e) {
            return Optional.empty();
        }
    }

    /**
     * Opens a regular file for reading. Nothing else is opened.
     *
     * @throws NoSuchFileException when there is none of that name
     */
    public FileChannel channel(String name) throws IOException {
        int file;
        try {
            file = ForeignRoot.find(descriptor, checked(name));
        } catch (PosixException e) {
            if (e.errno() == Errno.ENOENT) {
                throw new NoSuchFileException(name);
            }
            throw e.errno() == Errno.ELOOP ? new IOException("a link") : e;
        }
        try {
            Path found = ForeignRoot.place(file);
            if (!Files.isRegularFile(found)) {
                throw new IOException("not a regular file");
            }
            return FileChannel.open(found);
        } finally {
            Posix.close(file);
        }
    }

    /** Makes a link; returns false if the name is taken. */
    public boolean link(String name, String target) throws IOException {
        try {
            give(Files.createSymbolicLink(entry(name), Path.of(target)), LinkOption.NOFOLLOW_LINKS);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        }
    }

    /** Makes a directory that all users may enter, unless the name is taken. */
    public void makeDirectory(String name) throws IOException {
        if (kind(name) == Kind.NOTHING) {
            Files.createDirectory(entry(name));
            int made = ForeignRoot.find(descriptor, name);
            try {
                Files.setPosixFilePermissions(ForeignRoot.place(made), ENTERABLE);
                give(ForeignRoot.place(made));
            } finally {
                Posix.close(made);
            }
        }
    }

    public void delete(String name) throws IOException {
        Files.deleteIfExists(entry(name));
    }

    /** Atomically replaces a file by one that all users may read. */
    public void write(String name, byte[] content) throws IOException {
        String beside = "." + checked(name) + ".jnvdocker";
        delete(beside);
        int file = ForeignRoot.create(descriptor, beside);
        try {
            Path made = ForeignRoot.place(file);
            Files.write(made, content, StandardOpenOption.WRITE);
            Files.setPosixFilePermissions(made, READABLE);
            give(made);
            Files.move(entry(beside), entry(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            delete(beside);
            throw e;
        } finally {
            Posix.close(file);
        }
    }

    /** Returns the names of its entries, up to a limit. */
    public List<String> names(int limit) throws IOException {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(place)) {
            for (Path entry : entries) {
                if (names.size() == limit) {
                    break;
                }
                names.add(entry.getFileName().toString());
            }
        }
        return names;
    }

    @Override
    public void close() {
        Posix.close(descriptor);
    }

    private Path entry(String name) {
        return place.resolve(checked(name));
    }

    private static String checked(String name) {
        if (name.isEmpty() || name.contains("/") || name.equals(".") || name.equals("..")) {
            throw new IllegalArgumentException("not the name of an entry: " + name);
        }
        return name;
    }

    private void give(Path made, LinkOption... options) throws IOException {
        if (owner.isEmpty()) {
            owner = Files.readAttributes(place, "unix:uid,gid");
        }
        if (!owner.get("uid").equals(Posix.effectiveUser())) {
            Files.setAttribute(made, "unix:uid", owner.get("uid"), options);
            Files.setAttribute(made, "unix:gid", owner.get("gid"), options);
        }
    }
}
