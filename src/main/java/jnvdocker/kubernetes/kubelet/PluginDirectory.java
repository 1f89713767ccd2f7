package jnvdocker.kubernetes.kubelet;

import jnvdocker.kubernetes.KubeletDirectory;
import jnvdocker.posix.FileErrors;
import jnvdocker.words.Refusal;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The directory in which a kubelet and its device plugins have their sockets. */
final class PluginDirectory {
    private static final String KUBELET = "kubelet.sock";
    private static final int FILE_TYPE = 0170000;
    private static final int SOCKET = 0140000;

    /** A node has a handful of plugins. */
    private static final int MOST_SOCKETS = 64;

    private static final int MOST_FILES = 1024;

    private final Path path;

    PluginDirectory(Path path) {
        this.path = path;
    }

    /**
     * @param kubeletDir such as {@code /var/lib/kubelet}
     */
    static PluginDirectory in(Path kubeletDir) {
        return new PluginDirectory(kubeletDir.resolve("device-plugins"));
    }

    Path path() {
        return path;
    }

    Path kubelet() {
        return path.resolve(KUBELET);
    }

    /** Why no file in it can be trusted; empty if all can. */
    Optional<Refusal> fault() {
        try {
            return KubeletDirectory.fault(path);
        } catch (IOException e) {
            return Optional.of(FileErrors.refusal(e));
        }
    }

    /** Whether a process listens there. One that hangs is not waited for. */
    static boolean isServed(Path socket) {
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.configureBlocking(false);
            return channel.connect(UnixDomainSocketAddress.of(socket));
        } catch (IOException e) {
            return false;
        }
    }

    /** The kubelet's socket as one that no later socket equals; empty when there is none. */
    Optional<Object> kubeletNow() {
        return now(kubelet());
    }

    /**
     * Identifies a socket by its inode number and its time of change, since a number may be used
     * again at once; empty when there is no socket.
     */
    private static Optional<Object> now(Path socket) {
        try {
            Map<String, Object> status =
                    Files.readAttributes(socket, "unix:mode,ino,ctime", LinkOption.NOFOLLOW_LINKS);
            return ((int) status.get("mode") & FILE_TYPE) == SOCKET
                    ? Optional.of(status)
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The sockets of plugins by their names, some of many, each as in {@link #kubeletNow}. */
    Map<Path, Object> plugins() {
        Map<Path, Object> plugins = new TreeMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
            int count = 0;
            for (Path file : files) {
                if (++count > MOST_FILES || plugins.size() >= MOST_SOCKETS) {
                    break;
                }
                if (!file.equals(kubelet())) {
                    now(file).ifPresent(it -> plugins.put(file, it));
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // As if it were empty: the kubelet's socket is not there either.
        }
        return plugins;
    }
}
