package jnvdocker.daemon;

import jnvdocker.command.Commands;
import jnvdocker.command.caller.UnforeseenFailure;
import jnvdocker.config.StartException;
import jnvdocker.posix.FileErrors;
import jnvdocker.posix.HostNames;
import jnvdocker.posix.NoAnswerException;
import jnvdocker.posix.SocketFile;
import jnvdocker.process.PeerProcess;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;
import jnvdocker.protocol.Deadlines;
import jnvdocker.protocol.FrameMemory;
import jnvdocker.protocol.LateException;
import jnvdocker.protocol.Opening;
import jnvdocker.protocol.ProtocolVersionException;
import jnvdocker.protocol.SocketServer;
import jnvdocker.web.WebServer;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** The socket that clients connect to. */
final class ClientServer implements SocketServer.Clients, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ClientServer.class);

    /** How long a command waits for memory that others have. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final ServerSocketChannel server;
    private final Path socket;
    private final SocketFile file;
    private final Deadlines deadlines = new Deadlines();
    private final Commands commands;
    private final WebServer web;
    private final SocketServer connections;

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
        connections =
                new SocketServer(
                        server, new FrameMemory(FrameMemory.Limits.STANDARD, PATIENCE), this);
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
        ServerSocketChannel server;
        try {
            server = SocketFile.listen(socket, gid);
        } catch (IOException e) {
            throw new StartException(
                    "cannot listen on " + socket + " (" + FileErrors.reason(e) + ")",
                    "fix that, or set JNVDOCKER_SOCKET to another path",
                    e);
        }
        ClientServer clients =
                new ClientServer(server, socket, SocketFile.of(socket), commands, web);
        clients.connections.start();
        LOG.info("serving clients on {}", socket);
        return clients;
    }

    /**
     * From now on this group's members may connect, and those of the group of before no more.
     *
     * @throws StartException when this host has no such group
     */
    void admit(String group) throws IOException {
        SocketFile.admit(socket, groupOf(group));
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

    @Override
    public Runnable receive(SocketChannel channel, FrameMemory.Account account) throws IOException {
        var client = new ClientConnection(channel, account, deadlines, PeerProcess.of(channel));
        return () -> serve(client);
    }

    @Override
    public void refuse(SocketChannel channel, FrameMemory.FullException why) throws IOException {
        ClientConnection.refuse(channel, why.getMessage());
    }

    private void serve(ClientConnection connection) {
        try (ClientConnection client = connection) {
            try {
                switch (client.opening()) {
                    case Opening.Question(ClientRequest request) -> commands.run(request, client);
                    case Opening.Http(ByteBuffer begun) ->
                            client.handOver((channel, memory) -> web.take(channel, begun, memory));
                }
            } catch (ProtocolVersionException | FrameMemory.FullException | LateException e) {
                client.refuse(e.getMessage());
            } catch (RuntimeException e) {
                client.refuse(UnforeseenFailure.message(e));
            }
        } catch (IOException e) {
            LOG.debug("a client's connection ended: {}", e.getMessage());
        }
    }

    @Override
    public void close() throws IOException {
        // Deletes the name first: while the socket is open, no other can be mistaken for it.
        file.delete();
        server.close();
        deadlines.close();
        connections.endConnections();
    }
}
