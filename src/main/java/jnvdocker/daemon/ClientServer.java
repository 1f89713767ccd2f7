package jnvdocker.daemon;

import jnvdocker.command.Commands;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.posix.PermanentThread;
import jnvdocker.posix.Posix;
import jnvdocker.posix.SocketFile;
import jnvdocker.process.PeerProcess;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.protocol.Opening;
import jnvdocker.protocol.ProtocolVersionException;
import jnvdocker.web.WebServer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The socket that clients connect to. Each connection has a virtual thread of its own, and an error
 * on one connection ends only that one.
 */
final class ClientServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ClientServer.class);

    /** How long a command waits for memory that others have. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final ServerSocketChannel server;
    private final Path socket;
    private final SocketFile file;
    private final FrameMemory memory = new FrameMemory(FrameMemory.Limits.STANDARD, PATIENCE);
    private final Deadlines deadlines = new Deadlines();
    private final Commands commands;
    private final WebServer web;
    private final ExecutorService connections = Executors.newVirtualThreadPerTaskExecutor();

    private ClientServer(
            ServerSocketChannel server,
            Path socket,
            SocketFile file,
            Commands commands,
            WebServer web) {
        this.server = server;
        this.socket = socket;
        this.file = file;
        this.commands = commands;
        this.web = web;
    }

    /**
     * Listens, for the group's members as well as for root.
     *
     * @param web gets the connections of clients that speak HTTP
     * @throws IOException when the socket cannot be made
     */
    static ClientServer listen(Path socket, String group, Commands commands, WebServer web)
            throws IOException {
        Optional<Integer> gid = groupOf(group);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        try {
            Files.createDirectories(socket.getParent());
            SocketFile.makeRoom(socket);
            // Made under the umask, which lets only root connect.
            server.bind(UnixDomainSocketAddress.of(socket), SocketFile.BACKLOG);
            admit(socket, gid);
        } catch (IOException e) {
            server.close();
            throw new StartException(
                    "cannot listen on " + socket + " (" + FileErrors.reason(e) + ")",
                    "fix that, or set JNVDOCKER_SOCKET to another path",
                    e);
        }
        ClientServer clients =
                new ClientServer(server, socket, SocketFile.of(socket), commands, web);
        Thread thread = PermanentThread.platform("clients", clients::accept);
        thread.setDaemon(false);
        thread.start();
        LOG.info("serving clients on {}", socket);
        return clients;
    }

    /**
     * From now on this group's members may connect, and those of the group of before no more.
     *
     * @throws StartException when this host has no such group
     */
    void admit(String group) throws IOException {
        admit(socket, groupOf(group));
    }

    private static void admit(Path socket, Optional<Integer> gid) throws IOException {
        Posix.chown(socket, 0, gid.orElse(0));
        Posix.chmod(socket, gid.isPresent() ? 0660 : 0600);
    }

    private static Optional<Integer> groupOf(String configured) throws StartException {
        try {
            if (!configured.isEmpty()) {
                Optional<Integer> gid = HostNames.ofThisHost().group(configured);
                if (gid.isEmpty()) {
                    throw new StartException(
                            "socket_group = '" + configured + "' is not a group of this host",
                            "make it: groupadd " + configured);
                }
                return gid;
            }
            Optional<Integer> docker = HostNames.ofThisHost().group("docker");
            return docker.isPresent() ? docker : HostNames.ofThisHost().group("jnvdocker");
        } catch (NoAnswerException e) {
            LOG.error(
                    "cannot look up groups: only root may connect to jnvdockerd; restart it"
                            + " when 'getent group {}' works",
                    configured.isEmpty() ? "docker" : configured);
            return Optional.empty();
        }
    }

    private void accept() {
        while (true) {
            try {
                receive(server.accept());
            } catch (ClosedChannelException e) {
                return;
            } catch (IOException e) {
                LOG.warn("cannot accept a client: {}", e.getMessage());
                pause();
            }
        }
    }

    /** Most likely we are out of descriptors: an immediate retry would not help. */
    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Called before anything is read from it, so that excess clients take next to nothing. */
    private void receive(SocketChannel channel) {
        try {
            FrameMemory.Account account = memory.open(Posix.peer(channel));
            var client = new ClientConnection(channel, account, deadlines, PeerProcess.of(channel));
            connections.execute(() -> serve(client));
        } catch (FrameMemory.FullException e) {
            turnAway(channel, e.getMessage());
        } catch (IOException e) {
            LOG.debug("a client went away: {}", e.getMessage());
            close(channel);
        }
    }

    /** The socket has room for that, so this does not block. */
    private static void turnAway(SocketChannel channel, String why) {
        try {
            ClientConnection.refuse(channel, why);
        } catch (IOException e) {
            LOG.debug("a client was not notified that {}: {}", why, e.getMessage());
        } finally {
            close(channel);
        }
    }

    private void serve(ClientConnection connection) {
        try (ClientConnection client = connection) {
            try {
                switch (client.opening()) {
                    case Opening.Question(ClientRequest request) -> commands.run(request, client);
                    case Opening.Http(ByteBuffer begun) ->
                            client.handOver((channel, memory) -> web.take(channel, begun, memory));
                }
            } catch (ProtocolVersionException
                    | FrameMemory.FullException
                    | ClientConnection.LateException e) {
                client.refuse(e.getMessage());
            } catch (RuntimeException e) {
                LOG.error("a client's request failed", e);
                client.refuse("internal error; jnvdockerd's log has the details");
            }
        } catch (IOException e) {
            LOG.debug("a client's connection ended: {}", e.getMessage());
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
        // Deletes the name first: while the socket is open, no other can be mistaken for it.
        file.delete();
        server.close();
        deadlines.close();
        connections.shutdownNow();
    }
}
