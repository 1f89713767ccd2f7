package jnvdocker.process;

import jnvdocker.posix.Errno;
import jnvdocker.posix.Peer;
import jnvdocker.posix.Posix;
import jnvdocker.posix.PosixException;
import jnvdocker.posix.ProcessId;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The process that connected a Unix socket. It may end while a child of it keeps the connection
 * open, and its pid may then be another process's: of another user, even.
 */
public final class PeerProcess {
    private static final Logger LOG = LoggerFactory.getLogger(PeerProcess.class);
    private static final ProcDirectory PROC = new ProcDirectory(Path.of("/proc"));

    private PeerProcess() {}

    /**
     * Returns that process. Where the kernel has no handle for it, call this when the connection is
     * accepted: a pid that has been reused by then is recognized by its user alone.
     *
     * @return empty when it has ended, is in another PID namespace, or cannot be examined
     */
    public static Optional<ProcessId> of(SocketChannel socket) {
        try {
            Peer peer = Posix.peer(socket);
            Optional<ProcessId> process = PROC.find(peer.pid());
            // After the start time was read: the pid was still its own then.
            return isItself(socket, peer) ? process : Optional.empty();
        } catch (IOException e) {
            LOG.debug("unknown peer: {}", e.getMessage());
            return Optional.empty();
        } catch (UncheckedIOException e) {
            LOG.debug("unknown peer: {}", e.getCause().getMessage());
            return Optional.empty();
        }
    }

    private static boolean isItself(SocketChannel socket, Peer peer) throws IOException {
        try {
            return Posix.livePeer(socket) == peer.pid();
        } catch (PosixException e) {
            if (e.errno() != Errno.ENOPROTOOPT) {
                throw e;
            }
            return PROC.effectiveUser(peer.pid()).equals(Optional.of(peer.uid()));
        }
    }
}
