package jnvdocker.command.start;

import jnvdocker.command.caller.UserEngine;
import jnvdocker.docker.cli.RunCommand;
import jnvdocker.docker.engine.DockerEngine;
import jnvdocker.labels.BadImageException;
import jnvdocker.labels.ImageConfig;
import jnvdocker.protocol.CallResult;
import jnvdocker.protocol.ClientConnection;
import jnvdocker.protocol.ClientRequest;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * Finds the configuration of an image. The user's own docker pulls a missing image, with the user's
 * credentials, and shows its progress as docker run does.
 */
final class ImageFinder {
    /** Docker's grammar of names; it never requests a name outside of it from a registry. */
    private static final Pattern REFERENCE =
            Pattern.compile(
                    "([A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/)?"
                            + "[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
                            + "(:\\w[\\w.-]{0,127})?(@[A-Za-z0-9+._-]+:[0-9a-fA-F]{32,128})?");

    /**
     * Docker's grammar of platforms, {@code linux/arm/v7}: it refuses others before any request.
     */
    private static final Pattern PLATFORM = Pattern.compile("[\\w.()-]*(/[\\w.-]+){0,2}");

    private final DockerEngine engine;
    private final ClientRequest request;
    private final ClientConnection client;

    /** The result of a search. */
    sealed interface Answer {}

    /**
     * @param run the rest of the command: without {@code --pull} if the pull has been done
     */
    record Found(ImageConfig config, RunCommand run) implements Answer {}

    /** No such image; docker itself gives the best message when it is run. */
    record Absent() implements Answer {}

    /** No such image, and docker could not pull it. */
    record NotPulled() implements Answer {}

    ImageFinder(DockerEngine engine, ClientRequest request, ClientConnection client) {
        this.engine = engine;
        this.request = request;
        this.client = client;
    }

    Answer find(RunCommand run, UserEngine where) throws IOException, BadImageException {
        if (run.platform().filter(ImageFinder::isNoPlatform).isPresent()) {
            return new Absent();
        }
        String policy = run.pull().orElse("missing");
        if (policy.equals("always")) {
            return pull(run, where);
        }
        Optional<ImageConfig> found = inspect(run, where);
        if (found.isPresent()) {
            return new Found(found.get(), run);
        }
        if (!policy.equals("missing") || isId(run.image()) || !isMerelyMissing(run, where)) {
            return new Absent();
        }
        if (!run.quiet()) {
            client.err("Unable to find image '" + tagged(run.image()) + "' locally");
        }
        return pull(run, where);
    }

    private Optional<ImageConfig> inspect(RunCommand run, UserEngine where)
            throws IOException, BadImageException {
        if (where instanceof UserEngine.Ours) {
            return engine.image(run.image());
        }
        CallResult result = client.captureQuietly(inspectCommand(run));
        return result.succeeded()
                ? Optional.of(ImageConfig.parse(result.output()))
                : Optional.empty();
    }

    /** Returns false if the engine does not answer, or the name is invalid. */
    private boolean isMerelyMissing(RunCommand run, UserEngine where) throws IOException {
        if (where instanceof UserEngine.Ours) {
            return REFERENCE.matcher(run.image()).matches();
        }
        String reason = client.captureAll(inspectCommand(run)).output();
        return reason.toLowerCase(Locale.ROOT).contains("no such image");
    }

    private List<String> inspectCommand(RunCommand run) {
        return docker(run, "image", "inspect", "--format", "{{json .Config}}", "--", run.image());
    }

    private Answer pull(RunCommand run, UserEngine where) throws IOException, BadImageException {
        List<String> pull = new ArrayList<>(docker(run, "pull"));
        run.platform().ifPresent(platform -> pull.add("--platform=" + platform));
        if (run.quiet()) {
            pull.add("--quiet");
        }
        pull.add("--");
        pull.add(tagged(run.image()));
        // The last line that docker pull prints, and the only one of a quiet pull, is the image's
        // name, which docker run does not print.
        CallResult pulled =
                run.quiet() ? client.captureQuietly(pull) : client.showWithoutLastLine(pull);
        if (!pulled.succeeded()) {
            return new NotPulled();
        }
        Optional<ImageConfig> found = inspect(run, where);
        return found.isPresent() ? new Found(found.get(), run.pulled()) : new Absent();
    }

    private List<String> docker(RunCommand run, String... words) {
        List<String> command = new ArrayList<>(run.globals());
        command.addAll(List.of(words));
        return request.dockerWith(command);
    }

    private static boolean isNoPlatform(String platform) {
        return !PLATFORM.matcher(platform).matches();
    }

    private static boolean isId(String image) {
        return image.startsWith("sha256:");
    }

    /**
     * Completes a name as docker does: {@code localhost:5000/cuda} becomes {@code …/cuda:latest}.
     */
    private static String tagged(String image) {
        boolean complete =
                image.indexOf('@') >= 0 || image.indexOf(':', image.lastIndexOf('/') + 1) >= 0;
        return complete ? image : image + ":latest";
    }
}
