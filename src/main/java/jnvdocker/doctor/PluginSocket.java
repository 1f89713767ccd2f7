package jnvdocker.doctor;

import jnvdocker.posix.Posix;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/** The socket by which dockerd finds our volume plugin. Once it is gone, it is never made again. */
final class PluginSocket {
    private static final int SYSTEMD = 1;

    private final DaemonFacts daemon;

    PluginSocket(DaemonFacts daemon) {
        this.daemon = daemon;
    }

    /** Returns the fault of the socket; empty if it leads to us. */
    Optional<Finding> fault() {
        Path socket = daemon.pluginSocket();
        if (!Files.exists(socket, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.of(
                    Finding.wrong("the plugin's socket " + socket + " is gone", daemon.restart()));
        }
        try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
            int pid = Posix.peer(channel).pid();
            return isOurs(pid)
                    ? Optional.empty()
                    : Optional.of(
                            Finding.wrong(
                                    "the plugin's socket "
                                            + socket
                                            + " is another program's (pid "
                                            + pid
                                            + ")",
                                    "stop that one, and " + daemon.restart()));
        } catch (IOException e) {
            return Optional.of(
                    Finding.wrong(
                            "nobody answers at the plugin's socket "
                                    + socket
                                    + " ("
                                    + Finding.failure(e)
                                    + ")",
                            daemon.restart()));
        }
    }

    /** The listener is systemd if it has handed the socket to us. */
    private boolean isOurs(int pid) {
        return pid == ProcessHandle.current().pid() || daemon.service() && pid == SYSTEMD;
    }
}
