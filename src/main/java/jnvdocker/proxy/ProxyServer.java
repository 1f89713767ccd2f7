package jnvdocker.proxy;

import jnvdocker.posix.FileErrors;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.posix.SocketFile;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.protocol.SocketServer;
import jnvdocker.words.FailedException;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Listens for clients of Docker's API. */
public final class ProxyServer implements SocketServer.Clients, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ProxyServer.class);
    private static final long MIB = 1 << 20;

    /** 1,024 connections of users other than root, 256 of them of one; well below the heap. */
    private static final FrameMemory.Limits LIMITS =
            new FrameMemory.Limits(32 * MIB, 40 * MIB, 24 * MIB, 40 << 10, 256);

    /** How long a request waits for memory that others have. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final ServerSocketChannel server;
    private final Optional<SocketFile> file;
    private final Ends ends;
    private final Deadlines deadlines = new Deadlines();
    private final SocketServer connections;

    /**
     * The ends that requests are passed to.
     *
     * @param engine its socket
     * @param client the program {@code jnvdocker}, by which a start waits for GPUs
     */
    public record Ends(Path engine, Path client) {}

    private ProxyServer(ServerSocketChannel server, Optional<SocketFile> file, Ends ends) {
        this.server = server;
        this.file = file;
        this.ends = ends;
        connections = new SocketServer(server, new FrameMemory(LIMITS, PATIENCE), this);
    }

    /**
     * Serves the socket that this process has as its standard input, whose creator has decided who
     * may connect; else a new one.
     *
     * @param socket the path of a new one
     * @param group the group that may connect to a new one besides root; empty for none
     * @throws IOException when there is no such group, or the socket cannot be made
     */
    public static ProxyServer listen(Path socket, String group, Ends ends) throws IOException {
        // An upgrade replaces the jars: those that are needed are open from now on.
        OwnerLabel.set("{}".getBytes(StandardCharsets.UTF_8), OwnerLabel.Place.OF_CONTAINER, 0);
        if (System.inheritedChannel() instanceof ServerSocketChannel inherited) {
            if (!(inherited.getLocalAddress() instanceof UnixDomainSocketAddress address)) {
                throw new FailedException(
                        "the socket on standard input is no Unix socket, which alone names users",
                        "let ListenStream in jnvdocker-proxy.socket be a path");
            }
            return serve(new ProxyServer(inherited, Optional.empty(), ends), address.getPath());
        }
        Optional<Integer> gid = group.isEmpty() ? Optional.empty() : Optional.of(gid(group));
        ServerSocketChannel server;
        try {
            server = SocketFile.listen(socket, gid);
        } catch (IOException e) {
            throw new FailedException(
                    "cannot listen on " + socket + " (" + FileErrors.reason(e) + ")",
                    "fix that, or set JNVDOCKER_PROXY_SOCKET to another path",
                    e);
        }
        return serve(new ProxyServer(server, Optional.of(SocketFile.of(socket)), ends), socket);
    }

    private static int gid(String group) throws FailedException {
        try {
            return HostNames.ofThisHost()
                    .group(group)
                    .orElseThrow(() ->
                            new FailedException(
                                    "JNVDOCKER_PROXY_GROUP="
                                            + group
                                            + " is not a group of this host",
                                    "make it: groupadd " + group));
        } catch (NoAnswerException e) {
            throw new FailedException(
                    "the host does not report the number of JNVDOCKER_PROXY_GROUP=" + group,
                    "try again when 'getent group " + group + "' works",
                    e);
        }
    }

    private static ProxyServer serve(ProxyServer proxy, Path socket) {
        proxy.connections.start();
        LOG.info("serving Docker's API on {}, by the engine at {}", socket, proxy.ends.engine());
        return proxy;
    }

    @Override
    public Runnable receive(SocketChannel channel, FrameMemory.Account account) {
        return () -> serve(channel, account);
    }

    @Override
    public void refuse(SocketChannel channel, FrameMemory.FullException why) throws IOException {
        ProxyConnection.refuse(channel, why);
    }

    private void serve(SocketChannel client, FrameMemory.Account account) {
        try (account;
                client) {
            new ProxyConnection(client, account, deadlines).serve(ends, connections.threads());
        } catch (IOException e) {
            LOG.debug("a client's connection ended: {}", e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        // An inherited one is never closed: Java would turn standard error into /dev/null.
        if (file.isPresent()) {
            file.get().delete();
            server.close();
        }
        // Connections that end by this still set deadlines, whose thread keeps no JVM alive.
        connections.endConnections();
    }
}
