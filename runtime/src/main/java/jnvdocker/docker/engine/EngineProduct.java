package jnvdocker.docker.engine;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.model.VersionComponent;

import java.util.List;
import java.util.Objects;

/**
 * The kind of engine that answers Docker's API: others do, too, and ignore what they do not know.
 *
 * @param name of its main component: {@code Engine} is Docker's, {@code Podman Engine} podman's;
 *     empty when it does not report one
 */
public record EngineProduct(String name) {
    /** What reports no component. */
    public static final EngineProduct UNKNOWN = new EngineProduct("");

    static EngineProduct ask(DockerClient docker) {
        List<VersionComponent> components =
                Objects.requireNonNullElse(docker.versionCmd().exec().getComponents(), List.of());
        String name = components.isEmpty() ? null : components.getFirst().getName();
        return new EngineProduct(Objects.requireNonNullElse(name, ""));
    }

    /**
     * Reads what {@code docker version --format '{{json .Server}}'} prints. The first component is
     * the main one: behind those of another engine, docker's own client adds an {@code Engine}.
     */
    public static EngineProduct parse(String json) {
        try {
            return new EngineProduct(
                    new JsonMapper().readTree(json).at("/Components/0/Name").asText(""));
        } catch (JsonProcessingException e) {
            return UNKNOWN;
        }
    }

    public boolean isDocker() {
        return name.equals("Engine");
    }

    public boolean isPodman() {
        return name.startsWith("Podman");
    }
}
