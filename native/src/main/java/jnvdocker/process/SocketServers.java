package jnvdocker.process;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Determines whether a process serves a Unix socket, without connecting to it: where systemd
 * listens for a stopped service, a connection would start the service.
 */
public final class SocketServers {
    private static final String SYSTEMD = "1";

    /**
     * The flag {@code __SO_ACCEPTCON} in the kernel's table of sockets, set for those that listen.
     */
    private static final int LISTENING = 0x10000;

    private static final int FLAGS = 3;
    private static final int INODE = 6;
    private static final int PATH = 7;
    private static final String[] NONE = {};

    private final Path proc;

    /** The last process found to serve: checking it first saves a scan of all processes. */
    private volatile String lastServer = "";

    SocketServers(Path proc) {
        this.proc = proc;
    }

    public static SocketServers ofThisMachine() {
        return new SocketServers(Path.of("/proc"));
    }

    /**
     * Returns false when only systemd has the socket; an unknown state counts as served. Takes
     * about a millisecond, and longer when another process served it the last time, or none.
     */
    public boolean isServed(Path socket) {
        try {
            List<String> links = links(socket);
            return links.isEmpty() || !has(SYSTEMD, links) || anotherHas(links);
        } catch (IOException e) {
            return true;
        }
    }

    /**
     * Returns the names by which directories of open files show the sockets that listen at that
     * path.
     */
    private List<String> links(Path socket) throws IOException {
        Path wanted = socket.toRealPath();
        String name = "/" + wanted.getFileName();
        List<String> links = new ArrayList<>();
        for (String line : Files.readString(proc.resolve("net/unix")).split("\n")) {
            // A host has thousands of sockets; most lines are not worth parsing.
            String[] fields = line.endsWith(name) ? line.split(" +", PATH + 1) : NONE;
            if (fields.length > PATH
                    && fields[FLAGS].matches("[0-9A-Fa-f]{8}")
                    && (Integer.parseUnsignedInt(fields[FLAGS], 16) & LISTENING) != 0
                    && isSame(fields[PATH], wanted)) {
                links.add("socket:[" + fields[INODE] + "]");
            }
        }
        return links;
    }

    private static boolean isSame(String path, Path wanted) {
        try {
            return Path.of(path).toRealPath().equals(wanted);
        } catch (IOException | InvalidPathException e) {
            return false;
        }
    }

    private boolean anotherHas(List<String> links) throws IOException {
        if (!lastServer.isEmpty() && has(lastServer, links)) {
            return true;
        }
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[1-9]*")) {
            for (Path process : processes) {
                String pid = process.getFileName().toString();
                if (!pid.equals(SYSTEMD) && has(pid, links)) {
                    lastServer = pid;
                    return true;
                }
            }
            return false;
        }
    }

    /** Whether a process has one of them open; a process that has gone has none. */
    private boolean has(String pid, List<String> links) {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(proc.resolve(pid + "/fd"))) {
            for (Path file : files) {
                if (Files.isSymbolicLink(file)
                        && links.contains(Files.readSymbolicLink(file).toString())) {
                    return true;
                }
            }
            return false;
        } catch (IOException | DirectoryIteratorException e) {
            return false;
        }
    }
}
