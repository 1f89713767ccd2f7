package jnvdocker.tests.world;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A real sshd on the loopback address, which stands for several hosts by a port for each, and
 * clients of it.
 */
public final class SshServer implements AutoCloseable {
    private final Path directory = Directories.make("sshd");
    private final int port = LoopbackPort.free().getPort();
    private final List<Process> processes = new ArrayList<>();

    /** Starts one that knows every user of this host by one key. */
    public SshServer() {
        this(Map.of());
    }

    /**
     * Starts one that is other hosts, too.
     *
     * @param hosts the environment of a command on each, by its name
     */
    public SshServer(Map<String, Map<String, String>> hosts) {
        Map<String, Integer> ports = new LinkedHashMap<>();
        hosts.keySet().forEach(host -> ports.put(host, LoopbackPort.free().getPort()));
        try {
            Command.of("chmod", "755", directory).run().ok();
            Files.createDirectories(Path.of("/run/sshd"));
            for (String key : List.of("host", "user")) {
                Command.of(
                                "ssh-keygen",
                                "-q",
                                "-t",
                                "ed25519",
                                "-N",
                                "",
                                "-f",
                                directory.resolve(key))
                        .run()
                        .ok();
            }
            Files.writeString(
                    directory.resolve("config"),
                    """
                    Port %d
                    ListenAddress 127.0.0.1
                    HostKey %s/host
                    AuthorizedKeysFile %s/user.pub
                    StrictModes no
                    UsePAM no
                    PidFile none
                    """
                                    .formatted(port, directory, directory)
                            + ports.values().stream()
                                    .map("Port %d\n"::formatted)
                                    .collect(Collectors.joining())
                            + hosts.entrySet().stream()
                                    .map(it -> match(ports.get(it.getKey()), it.getValue()))
                                    .collect(Collectors.joining()));
            Files.writeString(
                    directory.resolve("ssh"),
                    "#!/bin/sh\nexec /usr/bin/ssh -F %s/clients \"$@\"\n".formatted(directory));
            Command.of("chmod", "755", directory.resolve("ssh")).run().ok();
            ports.forEach(this::know);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        start(
                Command.of("/usr/sbin/sshd", "-D", "-f", directory.resolve("config")),
                new InetSocketAddress("127.0.0.1", port));
    }

    private static String match(int port, Map<String, String> environment) {
        return environment.entrySet().stream()
                .map(it -> it.getKey() + "=" + it.getValue())
                .collect(Collectors.joining(" ", "Match LocalPort " + port + "\nSetEnv ", "\n"));
    }

    /** Lets clients know a name for a port of this host. */
    public void know(String host, int port) {
        try {
            Files.writeString(
                    directory.resolve("clients"),
                    """
                    Host %s
                    HostName 127.0.0.1
                    Port %d
                    User root
                    IdentityFile %s/user
                    StrictHostKeyChecking no
                    UserKnownHostsFile /dev/null
                    LogLevel ERROR
                    """
                            .formatted(host, port, directory),
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns a PATH on which ssh knows these hosts. */
    public String path() {
        return directory + ":" + System.getenv("PATH");
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
                        directory.resolve("user"),
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
        processes.add(command.log(directory.resolve("log")).start());
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
        Directories.remove(directory);
    }
}
