package jnvdocker.volume.plugin;

import jnvdocker.words.FailedException;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The listening socket that this process has as its standard input: {@code bin/jnvdockerd} puts the
 * one there that systemd hands over. Its creator is responsible for its name, mode and removal.
 */
final class InheritedSocket {
    private InheritedSocket() {}

    /**
     * Gives the socket that was handed down, or empty when standard input is anything else.
     *
     * @param socket where the socket must listen, since dockerd searches for it there
     * @throws IOException when it listens somewhere else
     */
    static Optional<ServerSocketChannel> at(Path socket) throws IOException {
        if (!(System.inheritedChannel() instanceof ServerSocketChannel inherited)) {
            return Optional.empty();
        }
        var address = inherited.getLocalAddress();
        if (!UnixDomainSocketAddress.of(socket).equals(address)) {
            throw new FailedException(
                    "the socket on standard input listens on %s and the plugin's socket is %s"
                            .formatted(address, socket),
                    "let ListenStream in jnvdocker.socket and JNVDOCKER_PLUGIN_DIR and"
                            + " JNVDOCKER_PLUGIN_NAME in jnvdocker.service name one and the same");
        }
        return Optional.of(inherited);
    }
}
