package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.core.DockerClientImpl;
import com.github.dockerjava.transport.DockerHttpClient;

import jnvdocker.archive.FolderArchive;
import jnvdocker.lease.ClaimNames;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * A container that an engine starts with our runtime and one GPU, of an image that is made for it
 * and holds one program, which ends at once: our runtime gives it a GPU, or fails its start.
 */
final class StartedContainer {
    /** Of the container and of its image. */
    private static final String NAME = "jnvdocker-check";

    private static final String PROGRAM = "check";
    private static final int OK = 200;

    private StartedContainer() {}

    /** Starts and removes it, and before that what a daemon has left that was killed meanwhile. */
    static void start(DockerClient docker, String runtime, byte[] program) {
        remove(docker);
        try {
            makeImage(docker, FolderArchive.of(PROGRAM, program));
            docker.createContainerCmd(NAME)
                    .withName(NAME)
                    .withCmd("/" + PROGRAM)
                    .withNetworkDisabled(true)
                    .withLabels(Map.of(ClaimNames.GPUS_LABEL, "1"))
                    .withHostConfig(HostConfig.newHostConfig().withRuntime(runtime))
                    .exec();
            docker.startContainerCmd(NAME).exec();
        } finally {
            remove(docker);
        }
    }

    /** docker-java's own command for it sends JSON in the place of the archive. */
    private static void makeImage(DockerClient docker, byte[] archive) {
        DockerHttpClient http = ((DockerClientImpl) docker).getHttpClient();
        DockerHttpClient.Request request =
                DockerHttpClient.Request.builder()
                        .method(DockerHttpClient.Request.Method.POST)
                        .path("/images/create?fromSrc=-&repo=" + NAME)
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

    private static void remove(DockerClient docker) {
        unlessAbsent(() -> docker.removeContainerCmd(NAME).withForce(true).exec());
        unlessAbsent(() -> docker.removeImageCmd(NAME).withForce(true).exec());
    }

    private static void unlessAbsent(Runnable removal) {
        try {
            removal.run();
        } catch (NotFoundException e) {
            // Nothing was left.
        }
    }
}
