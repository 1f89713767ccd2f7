package jnvdocker.protocol;

import jnvdocker.posix.PermanentThread;
import jnvdocker.posix.Posix;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Accepts the clients of a Unix socket, as many as there is memory for. Each has a virtual thread
 * of its own, and an error on one connection ends only that one.
 */
public final class SocketServer {
    private static final Logger LOG = LoggerFactory.getLogger(SocketServer.class);

    private final ServerSocketChannel server;
    private final FrameMemory memory;
    private final Clients clients;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    /** What is done with clients. */
    public interface Clients {
        /**
         * Prepares to serve a client. Nothing is read from it yet, so that excess clients take next
         * to nothing; the next one is accepted only after this.
         *
         * @param account of the client's memory, for the server to close
         * @return serves the client and closes the channel, on a thread of its own
         */
        Runnable receive(SocketChannel channel, FrameMemory.Account account) throws IOException;

        /**
         * Reports to a client why it is not served. The socket has room for that: nothing blocks.
         */
        void refuse(SocketChannel channel, FrameMemory.FullException why) throws IOException;
    }

    /**
     * @param server is closed by its owner, which ends the thread that accepts
     */
    public SocketServer(ServerSocketChannel server, FrameMemory memory, Clients clients) {
        this.server = server;
        this.memory = memory;
        this.clients = clients;
    }

    /** Accepts clients from now on, on a thread that keeps the JVM alive. */
    public void start() {
        Thread thread = PermanentThread.platform("clients", this::accept);
        thread.setDaemon(false);
        thread.start();
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

    private void receive(SocketChannel channel) {
        try {
            FrameMemory.Account account = memory.open(Posix.peer(channel));
            try {
                threads.execute(clients.receive(channel, account));
            } catch (IOException | RuntimeException e) {
                account.close();
                throw e;
            }
        } catch (FrameMemory.FullException e) {
            turnAway(channel, e);
        } catch (IOException e) {
            LOG.debug("a client went away: {}", e.getMessage());
            close(channel);
        }
    }

    private void turnAway(SocketChannel channel, FrameMemory.FullException why) {
        try {
            clients.refuse(channel, why);
        } catch (IOException e) {
            LOG.debug("a client was not notified that {}: {}", why.getMessage(), e.getMessage());
        } finally {
            close(channel);
        }
    }

    private static void close(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException e) {
            LOG.debug("cannot close a client's connection: {}", e.getMessage());
        }
    }

    /** The threads of the clients, for others that these need. */
    public ExecutorService threads() {
        return threads;
    }

    /** Ends all connections. */
    public void endConnections() {
        threads.shutdownNow();
    }
}
