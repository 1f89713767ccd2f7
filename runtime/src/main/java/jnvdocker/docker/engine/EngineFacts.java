package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.Info;

import java.util.Objects;

/**
 * The facts that an engine reports about itself.
 *
 * @param version its own, {@code 28.5.2}
 * @param cgroupDriver the maker of its containers' cgroups: {@code systemd} or {@code cgroupfs}
 * @param dataRoot its data directory
 */
public record EngineFacts(
        EngineProduct product,
        String version,
        String cgroupDriver,
        String dataRoot,
        EngineRuntimes runtimes) {
    static EngineFacts query(DockerClient docker) {
        Info info = docker.infoCmd().exec();
        return new EngineFacts(
                EngineProduct.of(docker.versionCmd().exec(), info),
                Objects.requireNonNullElse(info.getServerVersion(), ""),
                Objects.requireNonNullElse(info.getCGroupDriver(), ""),
                Objects.requireNonNullElse(info.getDockerRootDir(), ""),
                EngineRuntimes.of(info));
    }
}
