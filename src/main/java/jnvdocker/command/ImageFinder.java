package jnvdocker.command;

import jnvdocker.docker.DockerEngine;
import jnvdocker.docker.RunCommand;
import jnvdocker.labels.BadImageException;
import jnvdocker.labels.ImageConfig;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.Request;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Finds out what an image says of itself. One that is missing is pulled by the user's own docker,
 * with the user's credentials, and its progress is shown as docker run shows it.
 */
final class ImageFinder {
    private final DockerEngine engine;
    private final Request request;
    private final ClientConnection client;

    ImageFinder(DockerEngine engine, Request request, ClientConnection client) {
        this.engine = engine;
        this.request = request;
        this.client = client;
    }

    /** Empty when docker has no such image and may not, or could not, get it. */
    Optional<ImageConfig> find(RunCommand run, UserEngine where)
            throws IOException, BadImageException {
        String policy = run.pull().orElse("missing");
        if (policy.equals("always")) {
            return pull(run) ? inspect(run, where) : Optional.empty();
        }
        Optional<ImageConfig> found = inspect(run, where);
        if (found.isPresent() || !policy.equals("missing")) {
            return found;
        }
        if (!run.quiet()) {
            client.err("Unable to find image '" + run.image() + "' locally");
        }
        return pull(run) ? inspect(run, where) : Optional.empty();
    }

    private Optional<ImageConfig> inspect(RunCommand run, UserEngine where)
            throws IOException, BadImageException {
        if (where instanceof UserEngine.Ours) {
            return engine.image(run.image());
        }
        CallResult result =
                client.capture(
                        docker(
                                run,
                                "image",
                                "inspect",
                                "--format",
                                "{{json .Config}}",
                                "--",
                                run.image()));
        return result.succeeded()
                ? Optional.of(ImageConfig.parse(result.output()))
                : Optional.empty();
    }

    private boolean pull(RunCommand run) throws IOException {
        List<String> pull = new ArrayList<>(docker(run, "pull"));
        run.platform().ifPresent(platform -> pull.add("--platform=" + platform));
        if (run.quiet()) {
            pull.add("--quiet");
        }
        pull.add("--");
        pull.add(run.image());
        return client.show(pull).succeeded();
    }

    private List<String> docker(RunCommand run, String... words) {
        List<String> command = new ArrayList<>(request.docker());
        command.addAll(run.globals());
        command.addAll(List.of(words));
        return command;
    }
}
