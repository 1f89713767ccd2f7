package jnvdocker.daemon;

import jnvdocker.command.Commands;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.Posix;
import jnvdocker.posix.SocketFile;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ProtocolVersionException;
import jnvdocker.protocol.Request;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The socket that clients connect to. Each connection has a virtual thread of its own, and what
 * goes wrong on one ends that one alone.
 */
final class ClientServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ClientServer.class);
    private static final int REQUEST_SECONDS = 10;
    private static final int FRAMES_KIB = 16 << 10;

    private final ServerSocketChannel server;
    private final SocketFile file;
    private final Semaphore memory = new Semaphore(FRAMES_KIB);
    private final Commands commands;
    private final ExecutorService connections = Executors.newVirtualThreadPerTaskExecutor();
    private final ScheduledExecutorService deadlines =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("deadlines").factory());

    private ClientServer(ServerSocketChannel server, SocketFile file, Commands commands) {
        this.server = server;
        this.file = file;
        this.commands = commands;
    }

    /**
     * Listens, for the group's members as well as for root.
     *
     * @throws IOException when the socket can't be made
     */
    static ClientServer listen(Path socket, String group, Commands commands) throws IOException {
        OptionalInt gid = groupOf(group);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            Files.createDirectories(socket.getParent());
            SocketFile.makeRoom(socket);
            // Made as the umask says, with which nobody but root may connect.
            server.bind(UnixDomainSocketAddress.of(socket), SocketFile.BACKLOG);
            Posix.chown(socket, 0, gid.orElse(0));
            Posix.chmod(socket, gid.isPresent() ? 0660 : 0600);
        } catch (IOException e) {
            server.close();
            throw new StartException(
                    "cannot listen on "
                            + socket
                            + " ("
                            + FileErrors.reason(e)
                            + "); mend that, or set JNVDOCKER_SOCKET to another path",
                    e);
        }
        ClientServer clients = new ClientServer(server, SocketFile.of(socket), commands);
        Thread.ofPlatform().name("clients").start(clients::accept);
        LOG.info("serving clients on {}", socket);
        return clients;
    }

    private static OptionalInt groupOf(String configured) throws StartException {
        if (!configured.isEmpty()) {
            OptionalInt gid = Posix.group(configured);
            if (gid.isEmpty()) {
                throw new StartException(
                        "socket_group = '"
                                + configured
                                + "' is no group of this host; make it: groupadd "
                                + configured);
            }
            return gid;
        }
        OptionalInt docker = Posix.group("docker");
        return docker.isPresent() ? docker : Posix.group("jnvdocker");
    }

    private void accept() {
        while (true) {
            try {
                SocketChannel channel = server.accept();
                connections.execute(() -> serve(channel));
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("cannot accept a client: {}", e.getMessage());
                pause();
            }
        }
    }

    /** Out of descriptors, most likely: no use in asking again at once. */
    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void serve(SocketChannel channel) {
        try (ClientConnection client = new ClientConnection(channel, memory)) {
            try {
                commands.run(request(channel, client), client);
            } catch (ProtocolVersionException e) {
                client.refuse(e.getMessage());
            } catch (RuntimeException e) {
                LOG.error("a client's request failed", e);
                client.refuse("internal error; jnvdockerd's log has the details");
            }
        } catch (IOException e) {
            LOG.debug("a client's connection ended: {}", e.getMessage());
        }
    }

    private Request request(SocketChannel channel, ClientConnection client) throws IOException {
        var deadline = deadlines.schedule(() -> close(channel), REQUEST_SECONDS, TimeUnit.SECONDS);
        try {
            return client.request();
        } finally {
            deadline.cancel(false);
        }
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("cannot close a client's connection: {}", e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        // The name goes first: while the socket is open, no other can be taken for it.
        file.delete();
        server.close();
        deadlines.shutdownNow();
        connections.shutdownNow();
    }
}
