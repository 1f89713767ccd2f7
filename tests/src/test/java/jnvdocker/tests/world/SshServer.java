package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A real sshd on the loopback address, and clients that forward a port to a Unix socket. */
public final class SshServer implements AutoCloseable {
    private final Path folder = Folders.make("sshd");
    private final int port = LoopbackPort.free().getPort();
    private final List<Process> processes = new ArrayList<>();

    /** Starts one that knows every user of this host by one key. */
    public SshServer() {
        try {
            Command.of("chmod", "755", folder).run().ok();
            Files.createDirectories(Path.of("/run/sshd"));
            for (String key : List.of("host", "user")) {
                Command.of("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder.resolve(key))
                        .run()
                        .ok();
            }
            Files.writeString(
                    folder.resolve("config"),
                    """
                    Port %d
                    ListenAddress 127.0.0.1
                    HostKey %s/host
                    AuthorizedKeysFile %s/user.pub
                    StrictModes no
                    UsePAM no
                    PidFile none
                    """
                            .formatted(port, folder, folder));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(
                Command.of("/usr/sbin/sshd", "-D", "-f", folder.resolve("config")),
                new InetSocketAddress("127.0.0.1", port));
    }

    /** Has a user's ssh forward a port, as 'jnvdocker gpu page' says, and returns the URL. */
    public String forward(String user, Path socket) {
        InetSocketAddress local = LoopbackPort.free();
        start(
                Command.of(
                        "ssh",
                        "-N",
                        "-L",
                        local.getPort() + ":" + socket,
                        "-i",
                        folder.resolve("user"),
                        "-p",
                        port,
                        "-o",
                        "StrictHostKeyChecking=no",
                        "-o",
                        "UserKnownHostsFile=/dev/null",
                        user + "@127.0.0.1"),
                local);
        return "http://localhost:" + local.getPort() + "/";
    }

    private void start(Command command, InetSocketAddress address) {
        processes.add(command.log(folder.resolve("log")).start());
        Lab.await(() -> listens(address) ? List.of() : List.of(address + " is not open"));
    }

    private static boolean listens(InetSocketAddress address) {
        try (Socket _ = new Socket(address.getAddress(), address.getPort())) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        for (Process each : processes.reversed()) {
            each.descendants().forEach(ProcessHandle::destroy);
            each.destroy();
        }
        Folders.remove(folder);
    }
}
