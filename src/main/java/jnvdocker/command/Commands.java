package jnvdocker.command;

import jnvdocker.labels.RefusedException;
import jnvdocker.posix.FileErrors;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ExitCode;
import jnvdocker.protocol.Request;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Runs what a client asks for. Every refusal and failure becomes a message here. */
public final class Commands {
    private static final Logger LOG = LoggerFactory.getLogger(Commands.class);

    private final StartContainer startContainer;
    private final GpuCommand gpu;
    private final String version;

    /**
     * @param version our own
     */
    public Commands(StartContainer startContainer, GpuCommand gpu, String version) {
        this.startContainer = startContainer;
        this.gpu = gpu;
        this.version = version;
    }

    /**
     * @throws IOException when the client is gone
     */
    public void run(Request request, ClientConnection client) throws IOException {
        try {
            dispatch(request, client);
        } catch (RefusedException e) {
            refuse(client, e.getMessage());
        } catch (IOException e) {
            LOG.debug("{} failed", request.arguments(), e);
            refuse(client, FileErrors.describe(e));
        }
    }

    private void dispatch(Request request, ClientConnection client)
            throws IOException, RefusedException {
        List<String> arguments = request.arguments();
        switch (arguments.isEmpty() ? "" : arguments.getFirst()) {
            case "gpu" -> gpu.run(arguments.subList(1, arguments.size()), request, client);
            case "version" -> version(request, client);
            case "mesos" -> {
                client.message("'mesos' is not part of this version yet");
                client.exit(ExitCode.USAGE);
            }
            default -> startContainer.run(request, client);
        }
    }

    /** As nvidia-docker did: its own version, a blank line, then docker's. */
    private void version(Request request, ClientConnection client) throws IOException {
        client.out("jnvdocker: " + version);
        client.out("");
        List<String> docker = new ArrayList<>(request.docker());
        docker.addAll(request.arguments());
        client.exec(docker);
    }

    private static void refuse(ClientConnection client, String message) throws IOException {
        client.message(message);
        client.exit(ExitCode.REFUSED);
    }
}
