package jnvdocker.docker.engine;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.Info;
import com.github.dockerjava.api.model.Version;

import java.util.Objects;
import java.util.Optional;

/**
 * The facts that an engine reports about itself.
 *
 * @param id empty when it reports none
 * @param version its own, {@code 28.5.2}
 * @param cgroupDriver the maker of its containers' cgroups: {@code systemd} or {@code cgroupfs}
 * @param dataRoot its data directory
 */
public record EngineFacts(
        Optional<String> id,
        EngineProduct product,
        String version,
        String cgroupDriver,
        String dataRoot,
        EngineRuntimes runtimes) {
    static EngineFacts query(DockerClient docker) {
        Version version = docker.versionCmd().exec();
        Info info = docker.infoCmd().exec();
        return new EngineFacts(
                Optional.ofNullable(info.getId()),
                EngineProduct.of(version, info),
                Objects.requireNonNullElse(info.getServerVersion(), ""),
                Objects.requireNonNullElse(info.getCGroupDriver(), ""),
                Objects.requireNonNullElse(info.getDockerRootDir(), ""),
                EngineRuntimes.of(info));
    }
}
