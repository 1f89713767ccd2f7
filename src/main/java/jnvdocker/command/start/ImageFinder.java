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
 * Finds out what an image says of itself. One that is missing is pulled by the user's own docker,
 * with the user's credentials, and its progress is shown as docker run shows it.
 */
final class ImageFinder {
    /** Docker's grammar of names; it asks no registry for another one. */
    private static final Pattern REFERENCE =
            Pattern.compile(
                    "([A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?/)?"
                            + "[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
                            + "(:\\w[\\w.-]{0,127})?(@[A-Za-z0-9+._-]+:[0-9a-fA-F]{32,128})?");

    /** Its grammar of platforms, {@code linux/arm/v7}: it refuses another before it asks. */
    private static final Pattern PLATFORM = Pattern.compile("[\\w.()-]*(/[\\w.-]+){0,2}");

    private final DockerEngine engine;
    private final ClientRequest request;
    private final ClientConnection client;

    /** What came of it. */
    sealed interface Answer {}

    /**
     * @param run what is left to do: without {@code --pull} when that has been done
     */
    record Found(ImageConfig config, RunCommand run) implements Answer {}

    /** No such image; docker says so best when it is run. */
    record Absent() implements Answer {}

    /** No such image, and docker has told the user that it could not be pulled. */
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

    /** Or else the engine does not answer, or the name is none. */
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
        // All that a quiet docker pull says is the image's name, which a quiet docker run does not.
        CallResult pulled = run.quiet() ? client.capture(pull) : client.show(pull);
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

    /** As docker completes a name: {@code localhost:5000/cuda} becomes {@code …/cuda:latest}. */
    private static String tagged(String image) {
        boolean complete =
                image.indexOf('@') >= 0 || image.indexOf(':', image.lastIndexOf('/') + 1) >= 0;
        return complete ? image : image + ":latest";
    }
}
