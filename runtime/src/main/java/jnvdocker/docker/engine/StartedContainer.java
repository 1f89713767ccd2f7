package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.archive.DirectoryArchive;
import jnvdocker.lease.ClaimNames;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * A container that an engine starts with our runtime and one GPU, of an image that is made for it
 * and holds one program, which ends at once: our runtime gives it a GPU, or fails its start.
 */
final class StartedContainer {
    private static final String PROGRAM = "check";
    private static final int OK = 200;

    private StartedContainer() {}

    /**
     * Starts and removes it, and before that what a daemon has left that was killed meanwhile.
     *
     * @param underWay the ids of such containers, as long as they are there
     */
    static void start(DockerClient docker, String runtime, byte[] program, Set<String> underWay) {
        TrialContainer.removeLeft(docker);
        TrialContainer.removeLeftImages(docker);
        String tag = UUID.randomUUID().toString();
        String image = TrialContainer.REPOSITORY + ":" + tag;
        String container = TrialContainer.NAME + tag;
        Map<String, String> labels = new HashMap<>(TrialContainer.ownLabels());
        labels.put(ClaimNames.GPUS_LABEL, "1");
        Optional<String> id = Optional.empty();
        try {
            makeImage(docker, tag, DirectoryArchive.of(PROGRAM, program));
            id =
                    Optional.of(
                            docker.createContainerCmd(image)
                                    .withName(container)
                                    .withCmd("/" + PROGRAM)
                                    .withNetworkDisabled(true)
                                    .withLabels(labels)
                                    .withHostConfig(HostConfig.newHostConfig().withRuntime(runtime))
                                    .exec()
                                    .getId());
            underWay.add(id.get());
            docker.startContainerCmd(container).exec();
        } finally {
            id.ifPresent(underWay::remove);
            TrialContainer.removeIfPossible(
                    () -> docker.removeContainerCmd(container).withForce(true).exec());
            TrialContainer.removeIfPossible(() -> docker.removeImageCmd(image).exec());
        }
    }

    private static String labels() {
        return TrialContainer.ownLabels().entrySet().stream()
                .map(label -> "&changes=LABEL%20" + label.getKey() + "%3D" + label.getValue())
                .collect(Collectors.joining());
    }

    /** docker-java's own command for it sends JSON in the place of the archive. */
    private static void makeImage(DockerClient docker, String tag, byte[] archive) {
        DockerHttpClient http = ((DockerClientImpl) docker).getHttpClient();
        DockerHttpClient.Request request =
                DockerHttpClient.Request.builder()
                        .method(DockerHttpClient.Request.Method.POST)
                        .path(
                                "/images/create?fromSrc=-&repo=%s&tag=%s%s"
                                        .formatted(TrialContainer.REPOSITORY, tag, labels()))
                        .putHeader("Content-Type", "application/x-tar")
                        .bodyBytes(archive)
                        .build();
        try (DockerHttpClient.Response response = http.execute(request)) {
            String text = new String(response.getBody().readAllBytes(), StandardCharsets.UTF_8);
            if (response.getStatusCode() != OK) {
                throw new DockerException(text, response.getStatusCode());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
