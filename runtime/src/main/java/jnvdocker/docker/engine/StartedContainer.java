package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.CreateContainerResponse;
import com.github.dockerjava.api.model.HostConfig;

import jnvdocker.archive.FolderArchive;
import jnvdocker.lease.ClaimNames;

import java.io.ByteArrayInputStream;
import java.util.Map;

/**
 * A container that an engine starts with our runtime and one GPU, of an image that is made for it
 * and holds one program, which ends at once: our runtime gives it a GPU, or fails its start.
 */
final class StartedContainer {
    private static final String NAME = "jnvdocker-check";
    private static final String PROGRAM = "check";

    private StartedContainer() {}

    /** Starts and removes it. */
    static void start(DockerClient docker, String runtime, byte[] program) {
        byte[] image = FolderArchive.of(PROGRAM, program);
        String id = docker.createImageCmd(NAME, new ByteArrayInputStream(image)).exec().getId();
        try {
            CreateContainerResponse container =
                    docker.createContainerCmd(id)
                            .withCmd("/" + PROGRAM)
                            .withNetworkDisabled(true)
                            .withLabels(Map.of(ClaimNames.GPUS_LABEL, "1"))
                            .withHostConfig(HostConfig.newHostConfig().withRuntime(runtime))
                            .exec();
            try {
                docker.startContainerCmd(container.getId()).exec();
            } finally {
                docker.removeContainerCmd(container.getId()).withForce(true).exec();
            }
        } finally {
            docker.removeImageCmd(id).withForce(true).exec();
        }
    }
}
