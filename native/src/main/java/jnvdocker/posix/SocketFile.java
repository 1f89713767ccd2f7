package jnvdocker.posix;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;

/** The name of a Unix socket in the file system, which outlives the process that listens on it. */
public final class SocketFile {
    /**
     * How many connections may wait to be accepted: net.core.somaxconn's default, since Java's own
     * are 50. A full queue turns away a client that does not block, such as dockerd: at its start
     * it requests all volumes of all containers at once.
     */
    private static final int BACKLOG = 4096;

    private static final int FILE_TYPE = 0170000;
    private static final int SOCKET = 0140000;

    private final Path path;
    private final Object identity;

    private SocketFile(Path path, Object identity) {
        this.path = path;
        this.identity = identity;
    }

    /**
     * Makes a socket of that name, and its directory, and listens on it. A socket that was left
     * over goes.
     *
     * @param group the gid whose members may connect besides the owner
     * @throws IOException when something else has the name, or a process still serves the socket
     */
    public static ServerSocketChannel listen(Path path, Optional<Integer> group)
            throws IOException {
        Files.createDirectories(path.getParent());
        makeRoom(path);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            // Under the umask, which lets only the owner connect.
            server.bind(UnixDomainSocketAddress.of(path), BACKLOG);
            admit(path, group);
            return server;
        } catch (IOException e) {
            server.close();
            throw e;
        }
    }

    /**
     * From now on the owner of the socket and members of the group may connect, and nobody else.
     */
    public static void admit(Path path, Optional<Integer> group) throws IOException {
        if (group.isPresent()) {
            Posix.chown(path, -1, group.get());
        }
        Posix.chmod(path, group.isPresent() ? 0660 : 0600);
    }

    /**
     * Removes a left-over socket.
     *
     * @throws IOException when something else has the name, or a process still serves the socket
     */
    public static void makeRoom(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        if ((mode & FILE_TYPE) != SOCKET) {
            throw new FileSystemException(path.toString(), null, "there is something else");
        }
        if (answers(path)) {
            throw new FileSystemException(path.toString(), null, "another program serves it");
        }
        Files.deleteIfExists(path);
    }

    /** Returns the socket that has just been bound to that name. */
    public static SocketFile of(Path path) throws IOException {
        return new SocketFile(path, identity(path));
    }

    /** Removes the name, unless it belongs to another socket by now. */
    public void delete() throws IOException {
        try {
            if (identity(path).equals(identity)) {
                Files.delete(path);
            }
        } catch (NoSuchFileException e) {
            // Gone already.
        }
    }

    /** Whether the name is still this socket's. */
    public boolean isThere() {
        try {
            return identity(path).equals(identity);
        } catch (IOException e) {
            return false;
        }
    }

    private static Object identity(Path path) throws IOException {
        return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey();
    }

    /** Whether a process serves a socket; waits while its queue of connections is full. */
    public static boolean answers(Path socket) {
        try (SocketChannel _ = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
